"""Remembers the compactions found in transcripts, so that an unchanged file is read once only.

They stay when the client deletes the transcript, which it does after a month.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from brimline import paths
from brimline.state import database
from brimline.transcript import compactions, find

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable

_COLUMNS = 'uuid, at, "trigger", pre_tokens, post_tokens, summary_characters'


class Transcript(NamedTuple):
    """A file that must be read, as it was when it was looked at."""

    path: str
    size: int
    modified_ns: int


def unread(home_dir: str, files: Iterable[str]) -> list[Transcript]:
    """Those of the files that are new or have changed.

    Raises:
        StateError: the series cannot be opened.
    """

    def work(connection: sqlite3.Connection) -> list[Transcript]:
        known = set(connection.execute("SELECT path, size, modified_ns FROM transcript"))
        found = [_inspect(file) for file in files]
        return [file for file in found if file and file not in known]

    return database.use(home_dir, work)


def remember(
    home_dir: str, files: Iterable[Transcript], progress: Callable[[int], None] | None = None
) -> list[str]:
    """Read transcripts and keep their compactions; returns the files that could not be read.

    Raises:
        StateError: the series cannot be written.
    """
    unreadable: list[str] = []

    def work(connection: sqlite3.Connection) -> list[str]:
        unreadable.clear()
        for file in files:
            try:
                found = compactions.scan(file.path, progress).compactions
            except OSError as error:
                unreadable.append(f"{file.path}: {error.strerror or error}")
                continue
            _keep(connection, file, found)
        return unreadable

    return database.use(home_dir, work)


def by_session(
    connection: sqlite3.Connection, session: str | None = None
) -> dict[str, list[compactions.Recorded]]:
    """What transcripts record, of one session or of all."""
    rows = connection.execute(
        f"""
        SELECT session, {_COLUMNS} FROM recorded JOIN transcript USING (path)
        WHERE ?1 IS NULL OR session = ?1 ORDER BY session, at, path, number
        """,  # noqa: S608 - names of ours
        (session,),
    )
    found: dict[str, list[compactions.Recorded]] = {}
    for name, *values in rows:
        found.setdefault(name, []).append(compactions.Recorded(*values))
    return found


def _inspect(file: str) -> Transcript | None:
    try:
        file.encode("utf-8")
        found = os.stat(file)
    except (OSError, UnicodeEncodeError):
        return None
    regular = stat.S_ISREG(found.st_mode)
    return Transcript(file, found.st_size, found.st_mtime_ns) if regular else None


def _keep(
    connection: sqlite3.Connection, file: Transcript, found: list[compactions.Recorded]
) -> None:
    session = paths.safe_session_id(find.session_id_of(file.path))
    with database.transaction(connection):
        connection.execute("DELETE FROM transcript WHERE path = ?", (file.path,))
        connection.execute(
            "INSERT INTO transcript (path, size, modified_ns, session) VALUES (?, ?, ?, ?)",
            (*file, session),
        )
        connection.executemany(
            f"INSERT INTO recorded (path, number, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
            [(file.path, number, *row) for number, row in enumerate(found)],
        )
