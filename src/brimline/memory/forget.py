"""Forgetting: whatever is kept of a session, of a project's sessions, or of old ones, everywhere.

That is its outputs in the store, what the gateway sends for its blocks, its folder and its line in
the history, its ledger, notes and checkpoint, its entries in the search and what waits for that,
backups that a purge or repair made of it, and its name in the logs. The session itself is the
client's, and topic files are the user's: they stay. A line says what was forgotten, so that it is
not taken in again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import clock
from brimline.carry import fold, ledger, links
from brimline.errors import SessionError, StateError
from brimline.fast import io, paths
from brimline.memory import deep
from brimline.search import stored, turns
from brimline.session import restore
from brimline.state import forgotten, history
from brimline.store import layout, removal
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Iterable

_LOGS = ("audit.jsonl", "audit.jsonl.old", "errors.jsonl", "errors.jsonl.old", "learned.jsonl")
_PROJECT_LOGS = ("offload-learned.jsonl", "offload-learned.jsonl.old")


class Known(NamedTuple):
    """A session that something is kept of."""

    project: str
    last_at: float


def sessions(home_dir: str) -> dict[str, Known]:
    """Every session that something is kept of, with its project and when it was last active."""
    found: dict[str, Known] = {}
    names = set(io.names_in(paths.sessions_dir(home_dir)))
    names |= set(io.names_in(paths.carry_dir(home_dir))) - {links.CLIENTS, links.PROJECTS}
    names |= removal.sessions(home_dir)
    for name in names | set(restore.noted_sessions(home_dir)):
        folders = (paths.session_dir(home_dir, name), paths.carry_session_dir(home_dir, name))
        files = [f"{folder}/{file}" for folder in folders for file in io.names_in(folder)]
        project = ledger.load(home_dir, name).folder
        found[name] = Known(stored.place(project), max(map(find.modified, files), default=0.0))
    for one in history.sessions(home_dir):
        told = [event.get("cwd") for event in one.events if event.get("cwd")]
        at = max((event.get("at", 0) for event in one.events), default=0.0)
        _merge(found, one.session_id, stored.place(told[0] if told else ""), at)

    def add_entries(connection: sqlite3.Connection) -> None:
        asked = "SELECT session, max(project), max(at) FROM entries GROUP BY session"
        for group, project, at in connection.execute(asked):
            if not group.startswith("/"):  # a topic
                _merge(found, group.partition("/")[0], project, at)

    if os.path.isdir(stored.folder(home_dir)):
        deep.opened(home_dir).use(add_entries)
    for path in find.beginning_with():
        session = find.session_id_of(path)
        if session in found:
            at = find.modified(path)
            _merge(found, session, stored.place(find.project_of(path)), at)
    return found


def forget(home_dir: str, names: Iterable[str], about: dict[str, Any]) -> dict[str, int]:
    """Delete all that is kept of some sessions; what that was, as counts.

    Args:
        home_dir: the data folder.
        names: the sessions.
        about: what was asked for: `session`, `project` or `before`.

    Raises:
        StateError: a link is in the place of a folder, or the gateway's file cannot be written.
        OSError: something cannot be deleted.
    """
    # First: from here on nothing of it is taken in again.
    if "session" not in about:
        forgotten.note(home_dir, clock.now(), about)
    counts = {"sessions": 0, "outputs": 0, "entries": 0, "files": 0, "backups": 0}
    for name in names:
        counts["sessions"] += 1
        for what, number in _forget_session(home_dir, name).items():
            counts[what] += number
    counts["entries"] += _forget_entries(home_dir, about)
    for end in ("", "-journal"):
        io.remove(f"{home_dir}/{paths.DASHBOARD_INDEX}{end}")  # it is made again without them
    if about.get("project"):
        io.remove(paths.policy_file(home_dir, about["project"]))
        for log in _PROJECT_LOGS:
            removal.redact(f"{home_dir}/{log}", about["project"], "project")
    return counts


def _forget_session(home_dir: str, name: str) -> dict[str, int]:
    transcript, backups = _transcript(name)
    cursor = fold.end_of(transcript)
    forgotten.note(home_dir, clock.now(), {"session": name, "cursor": cursor})
    files = 0
    for folder in _folders(home_dir, name):
        if os.path.islink(folder):
            raise StateError(f"{folder} is a link; delete what it leads to yourself")
        files += len(io.names_in(folder))
        shutil.rmtree(folder, ignore_errors=not os.path.isdir(folder))
    history.forget(home_dir, name)
    links.forget(home_dir, name)
    for path in backups:
        io.remove(path)
    queue = f"{home_dir}/memory/{deep.QUEUE}"
    for waiting in io.names_in(queue):
        if waiting.startswith(f"{name}."):
            io.remove(f"{queue}/{waiting}")
    for log in _LOGS:
        removal.redact(f"{home_dir}/{log}", name)
    _forget_stand_ins(home_dir, name)
    outputs = 0
    if os.path.isdir(layout.root(home_dir)):
        found = removal.forget_session(home_dir, name)
        stored.forget(home_dir, [*found.keys, *found.shared])
        outputs = len(found.keys)
    counts = {"outputs": outputs, "files": files, "backups": len(backups)}
    return counts | {"entries": _forget_entries(home_dir, {"session": name})}


def would_forget(home_dir: str, names: Iterable[str], about: dict[str, Any]) -> dict[str, int]:
    """What `forget` would delete, as the same counts; changes nothing."""
    counts = {"sessions": 0, "outputs": 0, "entries": 0, "files": 0, "backups": 0}
    entries = _entries(home_dir, about)
    for name in names:
        counts["sessions"] += 1
        folders = _folders(home_dir, name)
        counts["files"] += sum(len(io.names_in(folder)) for folder in folders)
        counts["backups"] += len(_transcript(name)[1])
        if os.path.isdir(layout.root(home_dir)):
            counts["outputs"] += len(removal.of_session(home_dir, name).keys)
        entries |= _entries(home_dir, {"session": name})
    return counts | {"entries": len(entries)}


def _transcript(name: str) -> tuple[str | None, list[str]]:
    """A session's file, and its backups."""
    try:
        transcript = find.by_id(name)
    except SessionError:
        return None, []
    return transcript, [backup.path for backup in restore.of_session(transcript)]


def _folders(home_dir: str, name: str) -> tuple[str, ...]:
    return (
        paths.session_dir(home_dir, name),
        paths.carry_session_dir(home_dir, name),
        f"{home_dir}/backups/purges/{paths.safe_session_id(name)}",
    )


def _forget_stand_ins(home_dir: str, name: str) -> None:
    """What the gateway sends in the place of a session's blocks; its next request makes it anew."""
    path = paths.gateway_file(home_dir)
    if not os.path.isfile(path):
        return
    try:
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA secure_delete = ON").fetchall()
            with database:
                for table in ("stand_ins", "requests"):
                    asked = f"DELETE FROM {table} WHERE instr(conversation, ?) = 1"  # noqa: S608
                    database.execute(asked, (f"{name}/",))
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.Error as error:
        raise StateError(f"{path} could not be cleared of session {name}: {error}") from error


def _forget_entries(home_dir: str, about: dict[str, Any]) -> int:
    """Take entries out of the search, and where a session's file was read to."""
    if not os.path.isdir(stored.folder(home_dir)):
        return 0

    def work(connection: sqlite3.Connection) -> int:
        if about.get("session"):
            asked = "DELETE FROM facts WHERE name GLOB 'file:*' AND instr(name, ?)"
            connection.execute(asked, (about["session"],))
        return turns.remove(connection, *_condition(about))

    return deep.opened(home_dir).use(work)


def _entries(home_dir: str, about: dict[str, Any]) -> set[int]:
    """The numbers of the entries that are meant."""
    if not os.path.isdir(stored.folder(home_dir)):
        return set()
    condition, values = _condition(about)
    asked = f"SELECT id FROM entries WHERE {condition}"  # noqa: S608 - conditions are ours
    memory = deep.opened(home_dir)
    return memory.use(lambda base: {row[0] for row in base.execute(asked, values)})


def _condition(about: dict[str, Any]) -> tuple[str, tuple[Any]]:
    """Which entries are meant; topic files are the user's own."""
    conditions = {
        "session": ("session = ?1 OR session GLOB ?1 || '/*'", about.get("session")),
        "project": ("project = ?1 AND source <> 'topic'", about.get("project")),
        "before": ("at < ?1 AND source <> 'topic'", about.get("before")),
    }
    condition, value = next(conditions[name] for name in conditions if about.get(name))
    return condition, (value,)


def _merge(found: dict[str, Known], name: str, project: str, at: float) -> None:
    known = found.get(name, Known("", 0.0))
    found[name] = Known(known.project or project, max(known.last_at, at))
