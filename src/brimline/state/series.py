"""The time series: every event that hooks spooled, in one SQLite file, each exactly once.

Rows and the place up to which a spool file was read are written in one transaction, and a row is
unique by file and place. So a drain may be killed anywhere, and any number of them may run at once.
"""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from brimline import clock, fastio, paths
from brimline.state import database, eventrow, spool

if TYPE_CHECKING:
    import sqlite3

BUDGET_S = 10.0
_UPSERT = """
    INSERT INTO spool (session, file, offset, damaged, drained_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (session, file) DO UPDATE SET
        offset = excluded.offset,
        damaged = damaged + excluded.damaged,
        drained_at = excluded.drained_at
"""


@dataclass(slots=True)
class Drained:
    """What a drain did."""

    lines: int = 0
    """Events that are new in the series."""
    damaged: int = 0
    """Stretches of spool files that hold no event, met for the first time."""
    finished: bool = True
    """False where the time was up first; the next drain goes on."""
    unreadable: list[str] = field(default_factory=list)
    """Spool files that could not be read, with the reason."""


def drain(
    home_dir: str,
    *,
    budget_s: float = BUDGET_S,
    rotate_at_bytes: int = spool.ROTATE_AT_BYTES,
    now: float | None = None,
) -> Drained:
    """Take what the spools of all sessions hold into the series, and keep the spools small.

    Args:
        home_dir: the data folder.
        budget_s: about how long it may take; at least one step is always done.
        rotate_at_bytes: spools larger than this are put away.
        now: the present, for tests.

    Raises:
        StateError: the series cannot be opened or written.
    """
    timeout_s = min(database.BUSY_TIMEOUT_S, max(budget_s, 0.1))
    deadline = time.monotonic() + budget_s
    moment = clock.now() if now is None else now

    def work(connection: sqlite3.Connection) -> Drained:
        run = _Run(connection, home_dir, deadline, moment)
        run.all_sessions(rotate_at_bytes)
        return run.done

    return database.use(home_dir, work, timeout_s)


def forget(home_dir: str, session_id: str) -> None:
    """Delete what the series holds of one session; its folder must be gone, or it comes back."""

    def work(connection: sqlite3.Connection) -> None:
        with database.transaction(connection):
            connection.execute("DELETE FROM spool WHERE session = ?", (session_id,))
            connection.execute("DELETE FROM transcript WHERE session = ?", (session_id,))

    database.use(home_dir, work)


class _Spool(NamedTuple):
    """One spool file as it was found; a closed one will not change any more."""

    session: str
    path: str
    size: int
    modified: float
    closed: bool


class _Run:
    """One pass over all sessions."""

    def __init__(
        self, connection: sqlite3.Connection, home_dir: str, deadline: float, now: float
    ) -> None:
        self.connection = connection
        self.home_dir = home_dir
        self.deadline = deadline
        self.now = now
        self.done = Drained()
        self.drained: list[_Spool] = []

    def all_sessions(self, rotate_at_bytes: int) -> None:
        for session in self._sessions():
            if not self.done.finished:
                break
            folder = paths.session_dir(self.home_dir, session)
            for path in spool.files_in(folder):
                self._file(session, path)
                if not self._has_time():
                    break
            spool.rotate(folder, rotate_at_bytes)
        self._delete_drained()

    def _sessions(self) -> list[str]:
        """The most recently active first: a short drain is not spent on sessions without news."""
        names = fastio.names_in(paths.sessions_dir(self.home_dir))
        known = [name for name in names if name == paths.safe_session_id(name)]
        return sorted(known, key=self._last_active, reverse=True)

    def _last_active(self, session: str) -> float:
        folder = paths.session_dir(self.home_dir, session)
        for path in (f"{folder}/{spool.LIVE}", folder):
            try:
                return os.stat(path).st_mtime
            except OSError:
                continue
        return 0.0

    def _has_time(self) -> bool:
        if time.monotonic() > self.deadline:
            self.done.finished = False
        return self.done.finished

    def _file(self, session: str, path: str) -> None:
        try:
            found = self._inspect(session, path)
            if found is not None and self._drain_file(found) and found.closed:
                self.drained.append(found)
        except FileNotFoundError:
            return  # rotated or deleted meanwhile; a later drain finds it under its other name
        except OSError as error:
            self.done.unreadable.append(f"{path}: {error.strerror or error}")

    def _inspect(self, session: str, path: str) -> _Spool | None:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return None
        closed = spool.is_closed(path, status.st_mtime, self.now)
        return _Spool(session, path, status.st_size, status.st_mtime, closed)

    def _drain_file(self, found: _Spool) -> bool:
        """Read on from where the last drain stopped; whether all there was is in the series."""
        if found.size == 0:
            return True
        with open(found.path, "rb") as file:
            identity = spool.identity(file, final=found.closed)
            if identity is None:
                return False
            key = (found.session, identity)
            while self._offset(key) < found.size:
                with database.transaction(self.connection):
                    offset = self._offset(key)
                    batch = spool.read(file, offset, final=found.closed)
                    if batch.offset == offset:
                        return False
                    self._take(key, batch)
                if not self._has_time():
                    return False
        return True

    def _offset(self, key: tuple[str, str]) -> int:
        query = "SELECT offset FROM spool WHERE session = ? AND file = ?"
        row = self.connection.execute(query, key).fetchone()
        return row[0] if row else 0

    def _take(self, key: tuple[str, str], batch: spool.Batch) -> None:
        """Within one transaction: the rows, and the place up to which they were read."""
        self.connection.execute(_UPSERT, (*key, batch.offset, batch.damaged, self.now))
        query = "SELECT id FROM spool WHERE session = ? AND file = ?"
        number = self.connection.execute(query, key).fetchone()[0]
        rows = [[number, at, key[0], *eventrow.values(fields)] for at, fields in batch.lines]
        self.connection.executemany(eventrow.INSERT, rows)
        self.done.lines += len(rows)
        self.done.damaged += batch.damaged

    def _delete_drained(self) -> None:
        """Delete files that are in the series to the last byte and that nobody will write to."""
        if not self.drained:
            return
        # A commit reaches the disk with the next checkpoint; until then the file is the only copy.
        busy = self.connection.execute("PRAGMA wal_checkpoint(FULL)").fetchone()[0]
        for found in self.drained if not busy else []:
            try:
                status = os.stat(found.path)
                if (status.st_size, status.st_mtime) == (found.size, found.modified):
                    os.unlink(found.path)
            except OSError:
                continue
