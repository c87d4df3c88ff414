"""What stands in for which block, on disk: a restart, a fork and a second gateway say the same.

One SQLite file for all conversations; those of one session and agent have names that begin alike.
A conversation that first sends a block adopts the stand-in that others use; later it keeps its own.
All of a request is committed before it is sent, so that a killed process loses nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.compaction.stand_ins import StandIn
from brimline.fast import io, paths
from brimline.gateway.traces import SENT_FOR_S, means_damage, remove_database

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FORMAT = 2
_AT_ONCE = 500
# Of each conversation: the one that may have been stopped before it was sent, and the one before.
_REQUESTS = 2
# So many of all conversations whose names begin alike are looked at.
_MOST_REQUESTS = 64
_SCHEMA = """
CREATE TABLE IF NOT EXISTS stand_ins (
    block TEXT, conversation TEXT, request INTEGER,
    layer INTEGER, fields TEXT, key TEXT, tokens REAL, at REAL,
    PRIMARY KEY (block, conversation, request)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS requests (
    number INTEGER PRIMARY KEY AUTOINCREMENT, conversation TEXT, hash TEXT, blocks INTEGER,
    prefix TEXT, marked INTEGER, at REAL
);
CREATE INDEX IF NOT EXISTS requests_of ON requests (conversation);
"""
_ROWS = """
SELECT block, conversation, layer, fields, key, tokens, at FROM stand_ins WHERE block IN (?)
AND conversation = coalesce(?, conversation) AND request <= coalesce(?, request) ORDER BY request
"""
_KEEP_STAND_INS = "INSERT OR REPLACE INTO stand_ins VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


class Sent(NamedTuple):
    """A request of a conversation, as it was sent or was about to be."""

    hash: str
    """Of its bytes as the client gave them."""
    blocks: int
    prefix: str
    """A hash of all its blocks."""
    marked: int | None
    """The block before which our marker for the cache stands."""
    at: float
    number: int | None = None
    """The later, the larger; None before it is kept."""


class Stickiness:
    """The file, opened once; used from several threads, one at a time."""

    def __init__(self, home_dir: str, now: float) -> None:
        """Open it, and drop what nobody can ask for any more.

        Raises:
            OSError, sqlite3.Error: it cannot be read or written.
        """
        path = paths.stand_ins_database(home_dir)
        io.make_folder_and_parents(os.path.dirname(path))
        self._lock = threading.Lock()
        try:
            self._database = _open_database(path, now)
        except sqlite3.Error as error:
            if not means_damage(error):
                raise
            # What stands in is lost, which costs a cache once, and not for ever.
            remove_database(path)
            self._database = _open_database(path, now)

    def adopt_others_stand_ins(
        self, names: list[str], conversation: str, *, is_sent: bool = True
    ) -> dict[str, StandIn]:
        """What stands in for blocks that a conversation has not sent before; once sent, its own."""
        own: dict[str, StandIn] = {}
        others: dict[str, tuple[object, ...]] = {}
        for block, whose, *what, at in self._read_stand_in_rows(names):
            if whose == conversation:
                own[block] = _parse_stand_in(what)
            else:
                others[block] = (block, conversation, 0, *what, at)
        taken = [row for block, row in others.items() if block not in own]
        if taken and is_sent:
            # Where it cannot be written the others' rows say the same again.
            with contextlib.suppress(sqlite3.Error), self._lock, self._database:
                self._database.execute("BEGIN IMMEDIATE")
                self._database.executemany(_KEEP_STAND_INS, taken)
        return {str(row[0]): _parse_stand_in(row[3:7]) for row in taken} | own

    def sent_stand_ins(
        self, names: list[str], conversation: str, number: int | None = None
    ) -> dict[str, StandIn]:
        """What stood in for a conversation's own blocks in a request of it; else in its last."""
        rows = self._read_stand_in_rows(names, conversation, number)
        return {block: _parse_stand_in(what) for block, _, *what, _ in rows}

    def _read_stand_in_rows(
        self, names: list[str], conversation: str | None = None, number: int | None = None
    ) -> list[tuple[Any, ...]]:
        """In the order in which they were decided."""
        found: list[tuple[Any, ...]] = []
        with self._lock:
            for start in range(0, len(names), _AT_ONCE):
                some = names[start : start + _AT_ONCE]
                query = _ROWS.replace("?", ",".join("?" * len(some)), 1)
                found += self._database.execute(query, (*some, conversation, number))
        return found

    def last_requests(self, base: str) -> list[tuple[str, Sent]]:
        """What conversations with this name, or with `#` behind it, sent last; the last first."""
        with self._lock:
            rows = self._database.execute(
                "SELECT conversation, hash, blocks, prefix, marked, at, number"
                " FROM requests WHERE conversation >= ? AND conversation < ? || '$'"
                " ORDER BY number DESC LIMIT ?",
                (base, base, _MOST_REQUESTS),
            ).fetchall()
        return [(name, Sent(*row)) for name, *row in rows]

    def record_request(self, conversation: str, sent: Sent, fresh: Mapping[str, StandIn]) -> int:
        """A request is about to be sent with these stand-ins: all is kept, or an error and none.

        Args:
            conversation: the one that it goes on with.
            sent: the request.
            fresh: what stands in from now on.

        Returns:
            Its number.
        """
        with self._lock, self._database:
            run = self._database.execute
            run("BEGIN IMMEDIATE")
            number = run(
                "INSERT OR REPLACE INTO requests (conversation, hash, blocks, prefix, marked,"
                " at, number) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (conversation, *sent),
            ).lastrowid
            run(
                "DELETE FROM requests WHERE conversation = ? AND number NOT IN (SELECT number FROM"
                " requests WHERE conversation = ? ORDER BY number DESC LIMIT ?)",
                (conversation, conversation, _REQUESTS),
            )
            rows = [
                (block, conversation, number, one.layer, json.dumps(one.fields), one.key,
                 one.tokens, sent.at)
                for block, one in fresh.items()
            ]  # fmt: skip
            self._database.executemany(_KEEP_STAND_INS, rows)
        return number or 0

    def close(self) -> None:
        """Leave one file behind."""
        with self._lock:
            self._database.close()


def _open_database(path: str, now: float) -> sqlite3.Connection:
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        _make_tables_and_drop_old_rows(database, path, now)
    except BaseException:
        database.close()
        raise
    return database


def _make_tables_and_drop_old_rows(database: sqlite3.Connection, path: str, now: float) -> None:
    """Make the tables where they are missing, and drop what is too old to be asked for."""
    run = database.execute
    run("PRAGMA journal_mode = WAL")
    run("PRAGMA synchronous = NORMAL")
    (written,) = run("PRAGMA user_version").fetchone()
    if written > _FORMAT:
        raise OSError(f"a newer brimline wrote {path}")
    database.executescript(f"{_SCHEMA}PRAGMA user_version = {_FORMAT};")
    for table in ("stand_ins", "requests"):
        run(f"DELETE FROM {table} WHERE at < ?", (now - SENT_FOR_S,))  # noqa: S608 - ours


def _parse_stand_in(row: Sequence[Any]) -> StandIn:
    layer, fields, key, tokens = row
    return StandIn(layer, json.loads(fields), key, tokens)
