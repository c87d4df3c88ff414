"""One SQLite file of records and their words, for any number of processes.

It is a copy of its sources and can be made anew at any time, so what is damaged is replaced, not
mended. The file is named by format and generation (`1-4.sqlite3`): versions with other formats have
files of their own, and nobody opens the remains of a generation that was replaced. WAL lets many
processes read while one writes.
`documents` are stored outputs, `entries` are for memory: texts that follow each other in a group,
each with the `hidden` words that it is found by beside its own; `shared` is what a team's server
has of them.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from typing import TYPE_CHECKING, Any, TypeVar

from brimline.errors import StoreError, reason
from brimline.fast import io
from brimline.recall.question import hidden_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Answer = TypeVar("Answer")

FORMAT = 1
# A version with another one adds its tables, and none is in the way.
_LAYOUT = 4
_BUSY_S = 5.0
_ATTEMPTS = 3
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SIGNS_OF_DAMAGE = ("Could not decode to UTF-8", "no such column", "no such table", "malformed")
_WORTH_ANOTHER_TRY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS documents (
        id INTEGER PRIMARY KEY, source TEXT NOT NULL, ref TEXT NOT NULL, project TEXT NOT NULL,
        session TEXT NOT NULL, at REAL NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL,
        state TEXT NOT NULL, UNIQUE (source, ref)
    )""",
    """CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
        title, text, content='documents', content_rowid='id',
        tokenize='porter unicode61 remove_diacritics 2'
    )""",
    """CREATE TRIGGER IF NOT EXISTS added AFTER INSERT ON documents BEGIN
        INSERT INTO words (rowid, title, text) VALUES (new.id, new.title, new.text);
    END""",
    """CREATE TRIGGER IF NOT EXISTS removed AFTER DELETE ON documents BEGIN
        INSERT INTO words (words, rowid, title, text)
        VALUES ('delete', old.id, old.title, old.text);
    END""",
    """CREATE TABLE IF NOT EXISTS entries (
        id INTEGER PRIMARY KEY, ref TEXT NOT NULL UNIQUE, source TEXT NOT NULL,
        project TEXT NOT NULL, session TEXT NOT NULL, at REAL NOT NULL,
        has_vector INTEGER NOT NULL DEFAULT 0, before_id INTEGER,
        text TEXT NOT NULL, before TEXT NOT NULL, hidden TEXT NOT NULL DEFAULT ''
    )""",
    "CREATE INDEX IF NOT EXISTS entries_of_session ON entries (session)",
    "CREATE INDEX IF NOT EXISTS entries_of_project ON entries (project)",
    "CREATE INDEX IF NOT EXISTS entries_before ON entries (before_id)",
    """CREATE VIRTUAL TABLE IF NOT EXISTS turns USING fts5(
        before, text, content='entries', content_rowid='id',
        tokenize='porter unicode61 remove_diacritics 2'
    )""",
    """CREATE TRIGGER IF NOT EXISTS entry_added AFTER INSERT ON entries BEGIN
        INSERT INTO turns (rowid, before, text)
        VALUES (new.id, new.before, new.text || ' ' || new.hidden);
    END""",
    """CREATE TRIGGER IF NOT EXISTS entry_removed AFTER DELETE ON entries BEGIN
        INSERT INTO turns (turns, rowid, before, text)
        VALUES ('delete', old.id, old.before, old.text || ' ' || old.hidden);
    END""",
    """CREATE TRIGGER IF NOT EXISTS entry_changed AFTER UPDATE OF before, hidden ON entries BEGIN
        INSERT INTO turns (turns, rowid, before, text)
        VALUES ('delete', old.id, old.before, old.text || ' ' || old.hidden);
        INSERT INTO turns (rowid, before, text)
        VALUES (new.id, new.before, new.text || ' ' || new.hidden);
    END""",
    """CREATE TABLE IF NOT EXISTS shared (
        server TEXT NOT NULL, point TEXT NOT NULL, state TEXT NOT NULL, PRIMARY KEY (server, point)
    ) WITHOUT ROWID""",
    "CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    f"PRAGMA user_version = {_LAYOUT}",
)
# What version 0.2.0 wrote has vectors, which nobody asks for, and no hidden words. To that version
# a file without `has_vector` is damaged.
_FROM_LAYOUT_3 = (
    "ALTER TABLE entries ADD COLUMN hidden TEXT NOT NULL DEFAULT ''",
    "DELETE FROM vectors",
    "DROP TRIGGER entry_added",
    "DROP TRIGGER entry_removed",
    "DROP TRIGGER entry_changed",
)
# The damaged files that this process began anew.
renewed: list[str] = []


def run_on_database(folder: str, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
    """Let some work have the database, made where it is missing and anew where it is damaged.

    The work may be begun again, and then finds nothing of what it wrote before.

    Raises:
        StoreError: there is no full-text search here, or the file cannot be used.
    """
    problem: Exception | None = None
    for _ in range(_ATTEMPTS):
        try:
            path = _path_of_newest_database(folder)
            with contextlib.closing(_connect(path)) as connection:
                return work(connection)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            problem = error
            code = _sqlite_error_code(error)
            if code in _DAMAGED:
                with contextlib.suppress(OSError):
                    _replace_damaged_database(folder, path)
            elif code not in _WORTH_ANOTHER_TRY:
                break
        except OSError as error:
            problem = error
            break
    why = f"{folder}: {reason(problem)}" if isinstance(problem, OSError) else problem
    raise StoreError(f"the search index cannot be used: {why}") from problem


@contextlib.contextmanager
def changing(connection: sqlite3.Connection) -> Iterator[None]:
    """Let what is written meanwhile be written whole or not at all."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


def erase_deleted_words(connection: sqlite3.Connection, words: str) -> None:
    """Leave no trace of the words that were deleted from one of the two tables of words."""
    connection.execute(f"INSERT INTO {words} ({words}) VALUES ('optimize')")  # noqa: S608 - ours
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def bytes_of_used_pages(connection: sqlite3.Connection) -> int:
    """Return how much of the file is in use."""
    names = ("page_count", "freelist_count", "page_size")
    pages, free, size = (connection.execute(f"PRAGMA {n}").fetchone()[0] for n in names)
    return int((pages - free) * size)


def _path_of_newest_database(folder: str) -> str:
    """The file of the newest generation, there at least as an empty one, private from the start."""
    found = [re.fullmatch(rf"{FORMAT}-(\d+)\.sqlite3", name) for name in io.list_names(folder)]
    number = max((int(match[1]) for match in found if match), default=1)
    path = f"{folder}/{FORMAT}-{number}.sqlite3"
    for place in (folder, path):
        if os.path.islink(place):
            raise OSError(f"{place} is a link, and what it leads to may be somebody else's")
    io.create_exclusively(path, b"")
    return path


def _replace_damaged_database(folder: str, damaged: str) -> None:
    """Begin another generation; the damaged one goes."""
    number = int(damaged.rpartition("-")[2].removesuffix(".sqlite3")) + 1
    io.create_exclusively(f"{folder}/{FORMAT}-{number}.sqlite3", b"")
    for ending in ("", "-wal", "-shm"):
        io.remove(damaged + ending)
    renewed.append(damaged)


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON").fetchall()
        if connection.execute("PRAGMA user_version").fetchone()[0] != _LAYOUT:
            _bring_up_to_layout(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _bring_up_to_layout(connection: sqlite3.Connection) -> None:
    with changing(connection):
        columns = [row[1] for row in connection.execute("PRAGMA table_info(entries)")]
        is_old = columns and "hidden" not in columns
        for statement in (*(_FROM_LAYOUT_3 if is_old else ()), *_SCHEMA):
            connection.execute(statement)
        if is_old:
            connection.create_function("hidden_words", 1, hidden_words, deterministic=True)
            connection.execute("UPDATE entries SET hidden = hidden_words(text)")


def is_damage_error(error: Exception) -> bool:
    """Tell whether a failure says that a file is damaged."""
    return _sqlite_error_code(error) in _DAMAGED


def _sqlite_error_code(error: Exception) -> int:
    """What SQLite calls a failure; a text that is none, or a table that is gone, is damage too."""
    if isinstance(error, UnicodeDecodeError) or str(error).startswith(_SIGNS_OF_DAMAGE):
        return sqlite3.SQLITE_CORRUPT
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def storable_values(fields: Iterable[Any]) -> list[Any]:
    """The fields of a row as they can be stored: what is no Unicode in a text becomes visible."""
    return [
        one.encode("utf-8", "backslashreplace").decode() if isinstance(one, str) else one
        for one in fields
    ]
