"""The tables of the time series, as the list of steps that make them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables up to date; to be called within a transaction."""
    done: int = connection.execute("PRAGMA user_version").fetchone()[0]
    for number, step in enumerate(MIGRATIONS[done:], done + 1):
        step(connection)
        connection.execute(f"PRAGMA user_version = {number}")


def m001_initial(connection: sqlite3.Connection) -> None:
    """Events, and per spool file how far it was read: both are written in one transaction."""
    connection.execute(
        """
        CREATE TABLE spool (
            id INTEGER PRIMARY KEY,
            session TEXT NOT NULL,
            file TEXT NOT NULL,
            offset INTEGER NOT NULL DEFAULT 0,
            damaged INTEGER NOT NULL DEFAULT 0,
            drained_at REAL NOT NULL DEFAULT 0,
            UNIQUE (session, file)
        )
        """
    )
    connection.execute(
        """
        CREATE TABLE event (
            id INTEGER PRIMARY KEY,
            spool INTEGER NOT NULL REFERENCES spool (id) ON DELETE CASCADE,
            offset INTEGER NOT NULL,
            session TEXT NOT NULL,
            at REAL NOT NULL,
            event TEXT NOT NULL,
            occupancy INTEGER,
            tail INTEGER,
            window INTEGER,
            window_source TEXT,
            compaction INTEGER,
            tier INTEGER,
            transcript_offset INTEGER,
            "trigger" TEXT,
            spoke INTEGER,
            blocked INTEGER,
            tool TEXT,
            summary_characters INTEGER,
            source TEXT,
            model TEXT,
            cwd TEXT,
            transcript TEXT,
            extra TEXT,
            UNIQUE (spool, offset)
        )
        """
    )
    connection.execute("CREATE INDEX event_by_session ON event (session, at)")
    connection.execute("CREATE INDEX event_by_name ON event (event, at)")


def m002_transcripts(connection: sqlite3.Connection) -> None:
    """Compactions found in transcripts, which need not be read again while they are unchanged."""
    connection.execute(
        """
        CREATE TABLE transcript (
            path TEXT PRIMARY KEY,
            session TEXT NOT NULL,
            size INTEGER NOT NULL,
            modified_ns INTEGER NOT NULL
        )
        """
    )
    connection.execute(
        """
        CREATE TABLE recorded (
            path TEXT NOT NULL REFERENCES transcript (path) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            uuid TEXT,
            at REAL,
            "trigger" TEXT,
            pre_tokens INTEGER,
            post_tokens INTEGER,
            summary_characters INTEGER,
            PRIMARY KEY (path, number)
        )
        """
    )
    connection.execute("CREATE INDEX transcript_by_session ON transcript (session)")


MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [m001_initial, m002_transcripts]
