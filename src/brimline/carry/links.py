"""Which session goes on from which: after `/clear`, after a fork, and in the same project later.

Every session's start asks here, and mostly there is nothing: records are loaded where one is.
"""

from __future__ import annotations

import os
import time

from brimline.errors import do_all
from brimline.fast import clock, io, json, paths
from brimline.foreign import flatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeGuard

    from brimline.carry import ledger


FORMAT = 1
CLIENTS, PROJECTS = "clients", "projects"
CHECKPOINT = "checkpoint.md"
_MESSAGE_CHARACTERS = 160
_LONGEST_PID = 20
# The number of a process is given out again; a client that ran longer than this is not known.
_OLDEST_CLIENT_S = 14 * 86_400
_ORIGIN_BYTES = 8 << 20
# What a session that goes on from another takes over of it.
_INHERITED = ("tasks", "plan", "changed", "read", "commits", "pulls", "checks", "notes")


def note_session_of_client(home_dir: str, pid: str | None, session_id: str) -> None:
    """Remember which session a client runs; `/clear` gives it another one."""
    if not _is_pid(pid):
        return
    parent = f"{paths.carry_dir(home_dir)}/{CLIENTS}"
    for name in io.list_names(parent):
        if not _is_recent_file(f"{parent}/{name}"):
            io.remove(f"{parent}/{name}")
    io.replace_file(f"{parent}/{pid}", paths.safe_session_id(session_id).encode())


def last_session_of_client(home_dir: str, pid: str | None) -> str | None:
    """The session that a client ran before this one; None where that is not known."""
    path = f"{paths.carry_dir(home_dir)}/{CLIENTS}/{pid}"
    if not _is_pid(pid) or not _is_recent_file(path):
        return None
    try:
        session = io.read_file(path, 256).decode("ascii", "replace").strip()
    except OSError:
        return None
    return session if paths.safe_session_id(session) == session else None


def note_or_drop_unfinished_session(
    home_dir: str, project_dir: str, record: ledger.Ledger, *, asked: bool = False
) -> None:
    """Keep what the next session of a project is told about this one, or that it is finished.

    A checkpoint is something open: one that was asked for until more is done, another unless the
    work came to its end.
    """
    path = _unfinished_session_file(home_dir, project_dir)
    earlier = last_unfinished_session(home_dir, project_dir) or {}
    left = _last_message_and_counts(record)
    file = f"{paths.carry_session_dir(home_dir, record.session)}/{CHECKPOINT}"
    left["checkpoint"] = file if os.path.exists(file) else ""
    progress = [len(record.commits), len(record.tasks) - left["tasks"]]
    is_own = earlier.get("session") == record.session
    left["asked_at"] = progress if asked else earlier.get("asked_at") if is_own else None
    is_open = left["asked_at"] == progress or not _is_done(record, project_dir)
    if left["tasks"] or left["checks"] or (left["checkpoint"] and is_open):
        io.replace_file(path, json.dumps({"v": FORMAT} | left).encode())
    elif earlier.get("session") in (record.session, record.previous or record.session):
        io.remove(path)


def _is_done(record: ledger.Ledger, project_dir: str) -> bool:
    """Tell whether work came to its end: all tasks are done, or all that was changed is in git."""
    from brimline import programs

    if record.tasks:
        return not record.open_task_count()
    known = programs.branch_commit_and_changed_files(project_dir) if record.commits else {}
    return bool(known) and not known["dirty"]


def last_unfinished_session(home_dir: str, project_dir: str) -> dict[str, Any] | None:
    """Return what was kept about the last session of a project that was left unfinished."""
    try:
        left = json.parse_object(io.read_file(_unfinished_session_file(home_dir, project_dir)))
    except (OSError, ValueError):
        return None
    return left if left.get("v") == FORMAT and isinstance(left.get("session"), str) else None


def link_and_describe_cleared_session(
    home_dir: str, session_id: str, previous: str | None
) -> tuple[str, ...]:
    """Return what is told after `/clear`: the old session's record is linked, and named."""
    if previous is None or previous == session_id:
        return ()
    from brimline.carry import ledger

    old = ledger.load(home_dir, previous)
    if not (old.messages or old.notes):
        return ()
    record = ledger.load(home_dir, session_id)
    record.previous = previous
    ledger.save(home_dir, record)
    return past_session_texts("before /clear", _last_message_and_counts(old))


def merge_origins_ledger_into(record: ledger.Ledger, origin: ledger.Ledger) -> None:
    """Make what a session knows part of another that goes on from it."""
    ids = {message["id"] for message in record.messages}
    earlier = [message for message in origin.messages if message["id"] not in ids]
    record.messages = [*earlier, *record.messages]
    for name in _INHERITED:
        old, new = getattr(origin, name), getattr(record, name)
        if isinstance(old, dict):
            setattr(record, name, old | new)
        elif isinstance(old, list):
            setattr(record, name, [*[entry for entry in old if entry not in new], *new])
        else:
            setattr(record, name, new or old)
    record.previous = record.adopted = origin.session


def merge_origin_into_fork(home_dir: str, record: ledger.Ledger, transcript: str | None) -> bool:
    """Give a fork of a compacted session what its origin knew; looked for once.

    Its transcript begins at the last compaction.
    """
    if not transcript or record.adopted or not (record.compactions or record.forked_from):
        return False
    from brimline.carry import fold, ledger, notes
    from brimline.transcript import find

    beside = f"{os.path.dirname(transcript)}/{record.forked_from}.jsonl"
    path = beside if record.forked_from else find.transcript_it_went_on_from(transcript)
    record.adopted = "-"
    if path and find.session_id_of(path) != record.session:
        source = ledger.load(home_dir, find.session_id_of(path))
        fold.fold_new_rows(source, path, most_bytes=_ORIGIN_BYTES)
        merge_origins_ledger_into(record, notes.merge_notes_into_ledger(home_dir, source))
    return True


def remove_links_to_session(home_dir: str, session_id: str) -> None:
    """Remove every link that names a session.

    Raises:
        StateError: one cannot be read or removed; the others are.
    """
    from functools import partial

    parents = [f"{paths.carry_dir(home_dir)}/{folder}" for folder in (CLIENTS, PROJECTS)]
    links = [f"{parent}/{name}" for parent in parents for name in io.list_names(parent)]
    do_all(partial(_remove_link_to_session, link, session_id) for link in links)


def _remove_link_to_session(path: str, session_id: str) -> None:
    if session_id.encode() in io.read_file(path):
        io.remove(path)


def delete_old_session_folders(home_dir: str, session_id: str, age_s: float, until: float) -> None:
    """Drop what is carried of sessions in which nothing was written for that long.

    Args:
        home_dir: the data folder.
        session_id: the session that runs, which stays.
        age_s: how long.
        until: the moment (of `time.monotonic`) at which to stop; the next session goes on.

    Raises:
        OSError: something of it cannot be deleted.
    """
    from brimline.state import forgotten

    parent = paths.carry_dir(home_dir)
    oldest = clock.now_s() - age_s
    for name in io.list_names(parent):
        if time.monotonic() > until:
            return
        folder = f"{parent}/{name}"
        if name in (session_id, CLIENTS, PROJECTS) or os.path.islink(folder):
            continue
        files = [f"{folder}/{file}" for file in io.list_names(folder)]
        if files and max(os.lstat(path).st_mtime for path in (folder, *files)) < oldest:
            remove_links_to_session(home_dir, name)
            forgotten.delete_folder(folder, dry_run=False)


def _last_message_and_counts(record: ledger.Ledger) -> dict[str, Any]:
    from brimline.carry.commands import FAILED

    last = record.messages[-1]["text"] if record.messages else ""
    return {
        "session": record.session,
        "message": flatten(last, _MESSAGE_CHARACTERS),
        "tasks": record.open_task_count(),
        "checks": sum(check["result"] == FAILED for check in record.checks.values()),
    }


def past_session_texts(where: str, left: dict[str, Any]) -> tuple[str, str]:
    """Return what the model and the person are told of an earlier session, in a line each."""
    counts = [
        f"{left[name]} {word if left[name] == 1 else word + 's'}"
        for name, word in (("tasks", "open task"), ("checks", "failed check"))
        if left.get(name)
    ]
    file = flatten(str(left.get("checkpoint") or ""), keep_end=True)
    what = [*(["a checkpoint"] if file else []), *counts] or ["no open tasks"]
    many = len(what) > 1 or what[0][:2] not in ("1 ", "a ")
    recorded = f"{' and '.join(what)} {'were' if many else 'was'} recorded {where}."
    said = flatten(str(left.get("message") or ""), _MESSAGE_CHARACTERS + 1)
    session = paths.safe_session_id(left["session"])
    model = f"[brimline] {recorded[0].upper()}{recorded[1:]} " + (
        f"The user's last message there: “{said}” " if said else ""
    )
    ways = [f"read {file}"] if file else []
    if paths.is_plugin():  # which brings neither the command for a shell nor that for the card
        way = "Ask Claude to go on from there." if file else ""
    else:
        ways.append(f"run `brimline carry card --session {session}`")
        way = "/brim:card goes on from there."
    model += f"If the user wants to go on from there: {', or '.join(ways)}." if ways else ""
    return model.rstrip(), f"brimline: {recorded} {way}".rstrip()


def _is_pid(pid: str | None) -> TypeGuard[str]:
    return pid is not None and pid.isascii() and pid.isdigit() and len(pid) <= _LONGEST_PID


def _is_recent_file(path: str) -> bool:
    try:
        return clock.now_s() - os.stat(path).st_mtime < _OLDEST_CLIENT_S
    except OSError:
        return False


def _unfinished_session_file(home_dir: str, project_dir: str) -> str:
    return f"{paths.carry_dir(home_dir)}/{PROJECTS}/{paths.path_fingerprint(project_dir)}.json"
