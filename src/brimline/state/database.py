"""The SQLite file of the time series: opened privately, upgraded in place, replaced when damaged.

Whoever has it open holds a shared lock on a file beside it, and only a holder of the exclusive lock
moves a damaged database away: nobody's rows can go to a file that is no longer the series.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from typing import TYPE_CHECKING, TypeVar

from brimline import fastio
from brimline.errors import StateError
from brimline.state import failures

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows, where an open file cannot be moved anyway
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Result = TypeVar("Result")
BUSY_TIMEOUT_S = 5.0
_POLL_S = 0.01
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_SENTENCES = {
    sqlite3.SQLITE_FULL: "cannot grow because the disk is full: free some space and try again",
    sqlite3.SQLITE_IOERR: "could not be read or written: check the disk and its free space",
    sqlite3.SQLITE_BUSY: "was in use by another process for too long: try again",
    sqlite3.SQLITE_LOCKED: "was in use by another process for too long: try again",
    sqlite3.SQLITE_READONLY: "cannot be written: check the permissions of the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: check the permissions of the file and its folder",
    sqlite3.SQLITE_PERM: "cannot be opened: check the permissions of the file and its folder",
}


class _DamagedError(Exception):
    """The database that was opened is damaged; `inode` tells which file that was."""

    def __init__(self, inode: tuple[int, int], cause: sqlite3.Error) -> None:
        super().__init__(str(cause))
        self.inode = inode


def use(
    home_dir: str, work: Callable[[sqlite3.Connection], Result], timeout_s: float = BUSY_TIMEOUT_S
) -> Result:
    """Do something with the open database; a damaged one is put aside and the work done again.

    `work` may therefore run twice, the second time on an empty database.

    Raises:
        StateError: it cannot be opened, read or written.
    """
    for _ in range(3):
        try:
            return _attempt(home_dir, work, timeout_s)
        except _DamagedError as damage:
            _set_aside(home_dir, damage, timeout_s)
    raise StateError(f"{path(home_dir)} is damaged again and again: check the disk")


def path(home_dir: str) -> str:
    """Where the series is kept."""
    return home_dir + "/series.sqlite3"


def set_aside(home_dir: str) -> list[str]:
    """The damaged databases that were replaced, oldest first."""
    start = os.path.basename(path(home_dir)) + ".damaged-"
    numbers = [name[len(start) :] for name in fastio.names_in(home_dir) if name.startswith(start)]
    ordered = sorted(int(number) for number in numbers if number.isdecimal())
    return [f"{home_dir}/{start}{number}" for number in ordered]


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, with the write lock taken at the start."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _attempt(
    home_dir: str, work: Callable[[sqlite3.Connection], Result], timeout_s: float
) -> Result:
    file = path(home_dir)
    inode = (0, 0)
    with _locked(home_dir, timeout_s, exclusive=False):
        try:
            _create(file)
            inode = _inode(file)
            opened = sqlite3.connect(file, timeout=timeout_s, isolation_level=None)
            with contextlib.closing(opened) as connection:
                _prepare(connection, file)
                return work(connection)
        except sqlite3.DatabaseError as error:
            code = _primary_code(error)
            if code in _DAMAGE:
                raise _DamagedError(inode, error) from error
            sentence = _SENTENCES.get(code, f"cannot be used: {error}")
            raise StateError(f"{file} {sentence}") from error


def _create(file: str) -> None:
    """Create it empty where it is missing: SQLite itself would not keep it private."""
    try:
        fastio.create_exclusively(file, b"")
    except OSError as error:
        raise StateError(f"{file} cannot be created: {error.strerror or error}") from error


def _prepare(connection: sqlite3.Connection, file: str) -> None:
    from brimline.state.migrations import MIGRATIONS, migrate

    found = _version(connection)
    if found > len(MIGRATIONS):
        raise StateError(f"{file} was written by a newer brimline: upgrade this one")
    if found < len(MIGRATIONS):
        connection.execute("PRAGMA journal_mode = WAL")
        with transaction(connection):
            migrate(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _set_aside(home_dir: str, damage: _DamagedError, timeout_s: float) -> None:
    """Move the damaged file away, unless another process did so already."""
    file = path(home_dir)
    try:
        with _locked(home_dir, timeout_s, exclusive=True):
            if _inode(file) != damage.inode:
                return
            number = 1
            while any(os.path.exists(f"{file}.damaged-{number}{end}") for end in ("", "-wal")):
                number += 1
            # The log goes first: beside a new database it would be taken for that one's.
            for ending in ("-wal", "-shm", ""):
                if os.path.exists(file + ending):
                    os.replace(file + ending, f"{file}.damaged-{number}{ending}")
    except OSError as error:
        raise StateError(f"{file} is damaged ({damage}) and cannot be moved: {error}") from error
    kept = f"{os.path.basename(file)}.damaged-{number}"
    told = StateError(f"the time series was damaged ({damage}): kept as {kept}, made anew")
    with contextlib.suppress(OSError):
        failures.record(home_dir, "series", told)


@contextlib.contextmanager
def _locked(home_dir: str, timeout_s: float, *, exclusive: bool) -> Iterator[None]:
    """Hold the lock beside the database; the system drops it with the process, however it ends."""
    file = f"{home_dir}/series.lock"
    try:
        fastio.make_folders(home_dir)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as error:
        raise StateError(f"{file} cannot be opened: {error.strerror or error}") from error
    try:
        _wait_for(descriptor, time.monotonic() + timeout_s, exclusive=exclusive)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, deadline: float, *, exclusive: bool) -> None:
    if fcntl is None:  # pragma: no cover - Windows
        return
    kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise StateError(
                    "the time series is damaged and another process still uses it: try again"
                ) from None
            time.sleep(_POLL_S)
        except OSError:  # a file system without locks: then there is nothing to wait for
            return
        else:
            return


def _inode(file: str) -> tuple[int, int]:
    try:
        found = os.stat(file)
    except FileNotFoundError:
        return (0, 0)
    return found.st_dev, found.st_ino


def _primary_code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
