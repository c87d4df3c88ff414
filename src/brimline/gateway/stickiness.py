"""What stands in for which block, on disk: a restart, a fork and a second gateway say the same.

One SQLite file for all conversations, because a stand-in belongs to its block. It is committed
before the request that holds it is sent; no more than that is needed against a killed process.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from typing import TYPE_CHECKING

from brimline.compaction.stand_ins import StandIn
from brimline.fast import io, paths

if TYPE_CHECKING:
    from collections.abc import Mapping

_FORMAT = 1
_KEPT_S = 30 * 86_400
_AT_ONCE = 500
_WAIT_S = 5.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS stand_ins (
    block TEXT PRIMARY KEY, layer INTEGER, fields TEXT, key TEXT, tokens REAL, session TEXT, at REAL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS conversations (
    name TEXT PRIMARY KEY, at REAL, lifetime_s INTEGER
) WITHOUT ROWID;
"""


class Stickiness:
    """The file, opened once; used from several threads, one at a time."""

    def __init__(self, home_dir: str, now: float) -> None:
        """Open it, and drop what nobody can ask for any more.

        Raises:
            OSError, sqlite3.Error: it cannot be read or written.
        """
        path = paths.gateway_file(home_dir)
        io.make_folders(os.path.dirname(path))
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self._lock = threading.Lock()
        self._database = sqlite3.connect(
            path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False
        )
        run = self._database.execute
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        if run("PRAGMA user_version").fetchone()[0] > _FORMAT:
            raise OSError(f"a newer brimline wrote {path}")
        self._database.executescript(f"{_SCHEMA}PRAGMA user_version = {_FORMAT};")
        for table in ("stand_ins", "conversations"):
            run(f"DELETE FROM {table} WHERE at < ?", (now - _KEPT_S,))  # noqa: S608 - ours

    def find(self, names: list[str]) -> dict[str, StandIn]:
        """What stands in for blocks."""
        found: dict[str, StandIn] = {}
        with self._lock:
            for start in range(0, len(names), _AT_ONCE):
                some = names[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = self._database.execute(
                    f"SELECT block, layer, fields, key, tokens FROM stand_ins"  # noqa: S608
                    f" WHERE block IN ({marks})",
                    some,
                )
                for block, layer, fields, key, tokens in rows:
                    found[block] = StandIn(layer, json.loads(fields), key, tokens)
        return found

    def keep(self, fresh: Mapping[str, StandIn], session: str, now: float) -> None:
        """From now on these stand in: all of them, or an error and none."""
        rows = [
            (block, one.layer, json.dumps(one.fields), one.key, one.tokens, session, now)
            for block, one in fresh.items()
        ]
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany(
                "INSERT OR REPLACE INTO stand_ins VALUES (?, ?, ?, ?, ?, ?, ?)", rows
            )

    def conversation(self, name: str) -> tuple[float, int] | None:
        """When a conversation was last sent, and how long the cache keeps it."""
        with self._lock:
            row = self._database.execute(
                "SELECT at, lifetime_s FROM conversations WHERE name = ?", (name,)
            ).fetchone()
        return (row[0], row[1]) if row else None

    def note(self, name: str, at: float, lifetime_s: int) -> None:
        """A conversation was sent."""
        with self._lock:
            self._database.execute(
                "INSERT OR REPLACE INTO conversations VALUES (?, ?, ?)", (name, at, lifetime_s)
            )

    def close(self) -> None:
        """Leave one file behind."""
        with self._lock:
            self._database.close()
