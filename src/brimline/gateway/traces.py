"""What the gateway keeps: what it sends in the place of which block, and clients' settings."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING

from brimline.errors import StateError, StoreError
from brimline.fast import io, paths

if TYPE_CHECKING:
    from brimline.state.forgotten import Asked

FILES = {
    "gateway": r"stand-ins\.sqlite3(-wal|-shm|-journal)?|run-\w+",
    "sessions/*": r"gateway-saved|spool\.gateway\.jsonl",
}
# So long something is sent in the place of content after that was decided.
SENT_FOR_S = 30 * 86_400


def promised_keys(home: str, but: str) -> set[str]:
    """The keys that are sent in the place of content, in all sessions but one.

    A damaged file stands in the way of housekeeping, but not of a session that is to be forgotten.

    Raises:
        StoreError: the file cannot be read.
    """
    path = Path(paths.stand_ins_database(home)).absolute()
    if not path.exists():
        return set()
    asked = "SELECT key FROM stand_ins WHERE at > ? AND key <> '' AND instr(conversation, ?) <> 1"
    since = time.time() - SENT_FOR_S
    # Where no gateway runs, nothing but the file is read, and none is left beside it.
    how = "mode=ro" if os.path.exists(f"{path}-wal") else "immutable=1"
    try:
        connected = sqlite3.connect(f"{path.as_uri()}?{how}", uri=True)
        with contextlib.closing(connected) as database:
            return {key for (key,) in database.execute(asked, (since, f"{but}/"))}
    except sqlite3.Error as error:
        if but and means_damage(error):
            return set()
        remedy = "; delete it, and the next gateway begins anew" if means_damage(error) else ""
        raise StoreError(f"nothing was removed: {path} cannot be read: {error}{remedy}") from error


def forget(home: str, asked: Asked, *, dry_run: bool) -> dict[str, int]:
    """Delete what is sent for sessions' blocks; their next request makes it anew.

    A damaged file goes as a whole, since nobody can tell what it still holds.

    Raises:
        StateError: the file cannot be written.
    """
    path = paths.stand_ins_database(home)
    if dry_run or not os.path.isfile(path):
        return {}
    try:
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA secure_delete = ON").fetchall()
            with database:
                for table in ("stand_ins", "requests"):
                    statement = f"DELETE FROM {table} WHERE instr(conversation, ?) = 1"  # noqa: S608
                    database.executemany(statement, [(f"{name}/",) for name in asked.sessions])
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.Error as error:
        if not means_damage(error):
            raise StateError(f"{path} could not be cleared: {error}") from error
        remove_database(path)
    return {}


def means_damage(error: sqlite3.Error) -> bool:
    """Tell whether a failure says that the file is damaged; else it may be whole, and in use."""
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(
        error, sqlite3.OperationalError
    )


def remove_database(path: str) -> None:
    """Remove the file with what SQLite keeps beside it."""
    for ending in ("", "-wal", "-shm"):
        io.remove(path + ending)
