"""The documents behind `memory list` and `memory status`, and the texts of memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from brimline import output
from brimline.recall import hits, hot

if TYPE_CHECKING:
    import sqlite3


def topics_document(folder: str) -> dict[str, Any]:
    """The topics of a project."""
    topics = [topic_head_document(topic) for topic in hot.read_topics(folder)]
    return {"folder": folder, "topics": topics}


def topic_head_document(topic: hot.Topic) -> dict[str, Any]:
    """A topic without its text."""
    return output.pick_attrs(topic, "path name description type problem")


def topics_text(document: dict[str, Any]) -> str:
    """The topics for a person."""
    rows = [
        (
            topic["name"] or os.path.basename(topic["path"]),
            topic["type"],
            topic["description"] or topic["problem"],
        )
        for topic in document["topics"]
    ]
    if not rows:
        return f"{document['folder']} has none."
    return output.table_text(("topic", "type", "description"), rows)


def status_document(home_dir: str, folder: str) -> dict[str, Any]:
    """Return how much there is: topics, entries of the search by their source, sessions.

    Raises:
        StoreError: the search cannot be used.
    """
    document: dict[str, Any] = {
        "folder": folder,
        "topics": len(hot.read_topics(folder)),
        "index_bytes": output.total_file_bytes([f"{folder}/{hot.INDEX}"]),
        "entries": {},
        "sessions": 0,
    }
    document |= hits.run_if_memory(home_dir, entry_and_session_counts, {})
    return document


def status_rows(document: dict[str, Any]) -> list[tuple[str, str]]:
    """The same for a person, by headings."""
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in document["entries"].items())
    return [
        ("folder", document["folder"]),
        ("topics", f"{document['topics']:,}; index {output.size_text(document['index_bytes'])}"),
        (
            "search",
            f"{kinds or 'nothing yet'}; {output.count_text(document['sessions'], 'session')}",
        ),
    ]


def entry_and_session_counts(connection: sqlite3.Connection) -> dict[str, Any]:
    """Entries by their source, and the sessions that they are of."""
    kinds = "SELECT source, count(*) FROM entries GROUP BY source ORDER BY 2 DESC"
    of_sessions = "SELECT count(DISTINCT session) FROM entries WHERE session NOT GLOB '*/*'"
    return {
        "entries": dict(connection.execute(kinds).fetchall()),
        "sessions": connection.execute(of_sessions).fetchone()[0],
    }
