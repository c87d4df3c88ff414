"""What the search keeps of memory and of stored outputs; whether a team's server answers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from brimline.bulk import layout, removal
from brimline.recall import hits, stored, together, turns

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from brimline.state.forgotten import Asked

FILES = {
    "memory": r"[0-9a-f]{24}\.lock|home|confirmed",
    "search": r"\d+-\d+\.sqlite3(-wal|-shm|-journal)?",
}
MENTIONS = ("memory",)
_SESSIONS = "SELECT session, max(project), max(at) FROM entries GROUP BY session"


def sessions(home: str) -> Iterator[tuple[str, str, float]]:
    """Those that entries are from."""
    rows = hits.run_if_memory(home, lambda base: base.execute(_SESSIONS).fetchall(), [])
    for group, project, at in rows:
        if not group.startswith("/"):  # a topic
            yield group.partition("/")[0], project, at


def forget(home: str, asked: Asked, *, dry_run: bool) -> dict[str, int]:
    """Delete entries of the search, and the words of outputs: the store still has them then."""
    if not dry_run and os.path.isdir(layout.store_folder(home)):
        for name in asked.sessions:
            outputs = removal.own_and_shared_keys(home, name)
            stored.forget(home, [*outputs.keys, *outputs.shared])
    work = _count_entries if dry_run else _delete_entries
    return {"entries": hits.run_if_memory(home, lambda base: work(base, asked), 0)}


def check(home: str, project: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A team's server, where one is named, for `doctor`."""
    status = together.status(home, project)
    if status:
        yield "team-away" if status["problem"] else "team", {"told": together.status_text(status)}


def _count_entries(connection: sqlite3.Connection, asked: Asked) -> int:
    ids: set[int] = set()
    for condition, values in _sql_clauses(asked):
        question = f"SELECT id FROM entries WHERE {condition}"  # noqa: S608 - conditions are ours
        ids |= {row[0] for row in connection.execute(question, values)}
    return len(ids)


def _delete_entries(connection: sqlite3.Connection, asked: Asked) -> int:
    for name in asked.sessions:
        cursors = "DELETE FROM facts WHERE name GLOB 'file:*' AND instr(name, ?)"
        connection.execute(cursors, (name,))
    return sum(turns.remove_where(connection, how, values) for how, values in _sql_clauses(asked))


def _sql_clauses(asked: Asked) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield which entries are meant; topic files are the user's own."""
    for name in asked.sessions:
        yield "session = ? OR session GLOB ? || '/*'", (name, name)
    if asked.project:
        yield "project = ? AND source <> 'topic'", (asked.project,)
    if asked.before:
        yield "at < ? AND source <> 'topic'", (asked.before,)
