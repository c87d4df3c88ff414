"""Takes over what the last version kept in a database: every session becomes a line of the history.

Where a session's spool is still there, it is read as ever, and wins for the time that it covers.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time

from brimline.errors import StateError
from brimline.fast import io
from brimline.state import figures, history, logs
from brimline.transcript.compactions import Recorded

_NAME = "series.sqlite3"
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SESSIONS = """
    SELECT session, MAX(at) FROM
        (SELECT session, at FROM event UNION ALL SELECT session, 0 FROM transcript)
    GROUP BY session ORDER BY 2, 1
"""
_EVENTS = "SELECT * FROM event WHERE session = ? ORDER BY at, id"
_RECORDED = """
    SELECT uuid, at, "trigger", pre_tokens, post_tokens, summary_characters
    FROM recorded JOIN transcript USING (path) WHERE session = ? ORDER BY at, path, number
"""
_DAMAGED = "SELECT COALESCE(SUM(damaged), 0) FROM spool WHERE session = ?"


def fold_database(home_dir: str, until: float) -> bool:
    """Read the database once, as far as there is time, and remove it when all of it is in.

    Raises:
        StateError: it cannot be read now, or the history cannot be written.
    """
    path = f"{home_dir}/{_NAME}"
    if not os.path.exists(path):
        return True
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=1.0)) as connection:
            finished = _fold(connection, home_dir, until)
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGE:
            raise StateError(f"{path} cannot be read: {error}") from error
        finished = True
        kept = f"{path}.damaged-{time.time_ns()}"
        os.replace(path, kept)
        told = f"the series of an earlier version was damaged ({error}): kept as {kept}"
        logs.record_failure(home_dir, "series", StateError(told))
    if finished:
        for name in (f"{_NAME}-wal", f"{_NAME}-shm", "series.lock", _NAME):
            io.remove(f"{home_dir}/{name}")
    return finished


def _fold(connection: sqlite3.Connection, home_dir: str, until: float) -> bool:
    connection.row_factory = sqlite3.Row
    known, made = {one.session_id for one in history.sessions(home_dir)}, []
    names = [name for name, _ in connection.execute(_SESSIONS) if name not in known]
    for name in names:
        if time.monotonic() > until:
            break
        made.append(_session(connection, name))
    return history.write(home_dir, made, until) and len(made) == len(names)


def _session(connection: sqlite3.Connection, name: str) -> history.Session:
    rows = [
        dict(row) | {"offset": row["transcript_offset"], "transcript_path": row["transcript"]}
        for row in connection.execute(_EVENTS, (name,))
    ]
    events = [figures.sound(row) for row in rows]
    recorded = [Recorded(*row) for row in connection.execute(_RECORDED, (name,))]
    return history.Session(
        name,
        damaged=connection.execute(_DAMAGED, (name,)).fetchone()[0],
        events=figures.worth_keeping(events),
        requests=figures.readings(events),
        recorded=recorded,
    )
