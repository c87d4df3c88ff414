"""The database behind full-text search: which outputs it knows, and their words.

It holds no text, only words and where they occur. It is a copy of what is stored and can be made
anew at any time, so what is damaged is dropped, not mended.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from typing import TYPE_CHECKING, NamedTuple

from brimline import fastio
from brimline.store import layout, searchfile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FORMAT = 1
# What is known of an output: not indexed yet, indexed whole or in its beginning, or why it is not.
PENDING, WHOLE, HEAD, BINARY, LARGE, DAMAGED = range(6)
# Beyond this nothing is added: the index must not become a second store.
LARGEST_BYTES = 200_000_000
_BUSY_S = 1.0
_OPCODES = 20_000
# Paths may hold anything; the database takes bytes as they are.
_ANY_TEXT = ("utf-8", "surrogatepass")
_SCHEMA = f"""
    CREATE TABLE outputs (
        id INTEGER PRIMARY KEY,
        digest TEXT UNIQUE NOT NULL,
        cwd BLOB NOT NULL,
        state INTEGER NOT NULL DEFAULT {PENDING}
    );
    CREATE VIRTUAL TABLE words USING fts5(
        source, text, content='', tokenize='unicode61 remove_diacritics 2'
    );
    PRAGMA user_version = {FORMAT}
"""


class Output(NamedTuple):
    """A stored output that the index knows."""

    id: int
    digest: str
    cwd: str
    state: int


class Entry(NamedTuple):
    """What an output becomes in the index."""

    output: Output
    state: int
    source: str
    text: str


class StaleError(Exception):
    """The index covers something that has left the store, or was dropped while in use."""


class UnusableError(Exception):
    """There can be no index here: no FTS5, a disk that is full or read-only, a newer format, …"""


class Index:
    """The open index."""

    def __init__(self, home_dir: str, connection: sqlite3.Connection) -> None:
        self.home_dir = home_dir
        self._connection = connection
        self._run = connection.execute

    def digests(self) -> set[str]:
        """The outputs that it knows."""
        return {row[0] for row in self._run("SELECT digest FROM outputs").fetchall()}

    def outputs(self) -> list[Output]:
        """All that it knows of them."""
        rows = self._run("SELECT id, digest, cwd, state FROM outputs").fetchall()
        return [Output(row[0], row[1], row[2].decode(*_ANY_TEXT), row[3]) for row in rows]

    def has_room(self) -> bool:
        """Whether more outputs may be indexed."""
        return os.path.getsize(searchfile.path(self.home_dir)) < LARGEST_BYTES

    def note(self, cwds: dict[str, str]) -> None:
        """Get to know outputs, by digest, with the folder in which each was made.

        Raises:
            StaleError: one of them is gone meanwhile.
        """
        rows = [(digest, cwd.encode(*_ANY_TEXT)) for digest, cwd in cwds.items()]
        with _transaction(self._connection):
            insert = "INSERT OR IGNORE INTO outputs (digest, cwd) VALUES (?, ?)"
            self._connection.executemany(insert, rows)
        self.require_stored(cwds)

    def write(self, entries: list[Entry]) -> None:
        """Index outputs, unless another process was faster.

        Raises:
            StaleError: one of them is gone meanwhile.
        """
        with _transaction(self._connection):
            for output, state, source, text in entries:
                change = "UPDATE outputs SET state = ? WHERE id = ? AND digest = ? AND state = ?"
                if self._run(change, (state, output.id, output.digest, PENDING)).rowcount:
                    row = (output.id, _encodable(source), _encodable(text))
                    self._run("INSERT INTO words (rowid, source, text) VALUES (?, ?, ?)", row)
        self.require_stored(entry.output.digest for entry in entries)

    def ask(self, ids: Iterable[int], expression: str) -> list[str]:
        """The digests among some outputs that an expression of FTS5 fits, the best first."""
        if not expression:
            return []
        self._run("CREATE TEMP TABLE IF NOT EXISTS mine (id INTEGER PRIMARY KEY)")
        rows = [(number,) for number in ids]
        self._connection.executemany("INSERT OR IGNORE INTO mine VALUES (?)", rows)
        found = self._run(
            "SELECT outputs.digest FROM words JOIN mine ON mine.id = words.rowid "
            "JOIN outputs ON outputs.id = words.rowid WHERE words MATCH ? ORDER BY words.rank",
            (expression,),
        )
        return [row[0] for row in found.fetchall()]

    def require_stored(self, digests: Iterable[str]) -> None:
        """See that outputs are still there; asked after they were written.

        Whoever removes an output drops the index after that. So either we see that it is gone, or
        the words that we wrote are dropped.

        Raises:
            StaleError: one is not.
        """
        if not all(os.path.lexists(layout.blob(self.home_dir, digest)) for digest in digests):
            raise StaleError


@contextlib.contextmanager
def opened(home_dir: str, deadline: float) -> Iterator[Index]:
    """The index, made where it is missing; a damaged one is dropped.

    Args:
        home_dir: the data folder.
        deadline: on the monotonic clock, when to give up whatever is being done.

    Raises:
        StaleError: it has to be opened anew.
        UnusableError: it cannot be used.
    """
    try:
        # Created first: SQLite itself would not keep it private.
        fastio.create_exclusively(searchfile.path(home_dir), b"")
        connection = sqlite3.connect(
            searchfile.path(home_dir), timeout=_BUSY_S, isolation_level=None
        )
        with contextlib.closing(connection):
            connection.set_progress_handler(lambda: time.monotonic() > deadline, _OPCODES)
            _prepare(connection)
            yield Index(home_dir, connection)
    except StaleError:
        searchfile.drop(home_dir)
        raise
    except sqlite3.Error as error:
        raise _sorted_out(home_dir, error) from error
    except OSError as error:
        raise UnusableError(str(error)) from error


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA synchronous = NORMAL")
    if _version(connection) == 0:
        with _transaction(connection):
            if _version(connection) == 0:  # still, now that nobody else can make them
                for statement in _SCHEMA.split(";"):
                    connection.execute(statement)
    if _version(connection) != FORMAT:
        raise UnusableError("the index was written by a newer brimline")


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _sorted_out(home_dir: str, error: sqlite3.Error) -> Exception:
    """What an error of the database means for the caller."""
    code = getattr(error, "sqlite_errorcode", 0)
    if code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        with contextlib.suppress(OSError):
            searchfile.drop(home_dir)
        return StaleError("it was damaged")
    if code == sqlite3.SQLITE_READONLY_DBMOVED:
        return StaleError("it was dropped")
    return UnusableError(str(error))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
