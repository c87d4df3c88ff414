"""Which session goes on from which, and which session of a project was left unfinished."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from brimline import clock, fastio, fastjson, paths
from brimline.carry import items

if TYPE_CHECKING:
    from typing import TypeGuard

    from brimline.carry.items import Ledger

FORMAT = 1
CLIENTS, PROJECTS = "clients", "projects"
_GOAL_CHARACTERS = 160
_LONGEST_PID = 20
# The number of a process is given out again; a client that ran longer than this is not known.
_OLDEST_CLIENT_S = 14 * 86_400


def note_client(home_dir: str, pid: str | None, session_id: str) -> None:
    """Remember which session a client runs; `/clear` gives it another one."""
    if _is_pid(pid):
        _drop_old_clients(home_dir)
        fastio.replace_file(_client(home_dir, pid), paths.safe_session_id(session_id).encode())


def session_of_client(home_dir: str, pid: str | None) -> str | None:
    """The session that a client ran before this one; None where that is not known."""
    if not _is_pid(pid) or not _is_recent(_client(home_dir, pid)):
        return None
    try:
        found = fastio.read_file(_client(home_dir, pid), 256).decode("ascii", "replace").strip()
    except OSError:
        return None
    return found if found and paths.safe_session_id(found) == found else None


def note_unfinished(home_dir: str, project_dir: str, ledger: Ledger) -> None:
    """Keep what the next session of a project is told about this one, or that it is finished."""
    path = _project(home_dir, project_dir)
    tasks = len(list(ledger.of(items.TASK, status=items.OPEN)))
    errors = len(list(ledger.of(items.ERROR, status=items.OPEN)))
    if not tasks and not errors:
        known = unfinished(home_dir, project_dir)
        if known and known["session"] == ledger.session:
            fastio.remove(path)
        return
    goals = [item.text for item in ledger.of(items.GOAL)]
    goal = " ".join(goals[-1].split())[:_GOAL_CHARACTERS] if goals else ""
    document = {
        "v": FORMAT,
        "session": ledger.session,
        "goal": goal,
        "tasks": tasks,
        "errors": errors,
    }
    fastio.replace_file(path, fastjson.dumps(document).encode("utf-8", "replace"))


def unfinished(home_dir: str, project_dir: str) -> dict[str, Any] | None:
    """What was kept about the last session of a project that was left unfinished."""
    try:
        raw = fastio.read_file(_project(home_dir, project_dir)).decode("utf-8", "replace")
        found = fastjson.loads(raw)
    except (OSError, ValueError):
        return None
    sound = isinstance(found, dict) and found.get("v") == FORMAT
    return found if sound and isinstance(found.get("session"), str) else None


def pointer(found: dict[str, Any], *, cleared: bool = False) -> str:
    """Three lines that say what there is to go on from, without going on from it."""
    what = "The conversation before /clear" if cleared else "The last session in this project"
    goal = found.get("goal")
    left = [
        f"{found[name]} open {word if found[name] == 1 else word + 's'}"
        for name, word in (("tasks", "task"), ("errors", "error"))
        if found.get(name)
    ]
    about = f"It was about: {goal}" if goal else "Its goal is not known."
    return "\n".join(
        [
            f"[brimline] {what} was left with {' and '.join(left) or 'nothing open'}.",
            about,
            (
                "If the user wants to go on from there: /brim:card, or "
                f"`brimline carry card --session {found['session']}`."
            ),
        ]
    )


def forget(home_dir: str, session_id: str) -> None:
    """Remove every link that names a session.

    Raises:
        OSError: one cannot be removed.
    """
    for folder in (CLIENTS, PROJECTS):
        parent = f"{paths.carry_dir(home_dir)}/{folder}"
        for name in fastio.names_in(parent):
            if session_id.encode() in fastio.read_file(f"{parent}/{name}"):
                fastio.remove(f"{parent}/{name}")


def retire(home_dir: str, session_id: str, age_s: float, until: float) -> None:
    """Drop what is carried of sessions in which nothing was written for that long, as time allows.

    Raises:
        OSError: something of it cannot be deleted.
    """
    parent = paths.carry_dir(home_dir)
    oldest = clock.now() - age_s
    for name in fastio.names_in(parent):
        folder = f"{parent}/{name}"
        if time.monotonic() >= until:
            return
        if name in (session_id, CLIENTS, PROJECTS) or os.path.islink(folder):
            continue
        files = [f"{folder}/{file}" for file in fastio.names_in(folder)]
        if files and max(os.lstat(path).st_mtime for path in (folder, *files)) < oldest:
            forget(home_dir, name)
            for path in files:
                fastio.remove(path)
            os.rmdir(folder)


def _is_pid(pid: str | None) -> TypeGuard[str]:
    return pid is not None and pid.isascii() and pid.isdigit() and len(pid) <= _LONGEST_PID


def _drop_old_clients(home_dir: str) -> None:
    parent = f"{paths.carry_dir(home_dir)}/{CLIENTS}"
    for name in fastio.names_in(parent):
        if not _is_recent(f"{parent}/{name}"):
            fastio.remove(f"{parent}/{name}")


def _is_recent(path: str) -> bool:
    try:
        age_s = clock.now() - fastio.system.stat(fastio.to_bytes(path)).st_mtime
    except OSError:
        return False
    return age_s < _OLDEST_CLIENT_S


def _client(home_dir: str, pid: str) -> str:
    return f"{paths.carry_dir(home_dir)}/{CLIENTS}/{pid}"


def _project(home_dir: str, project_dir: str) -> str:
    return f"{paths.carry_dir(home_dir)}/{PROJECTS}/{paths.fingerprint(project_dir)}.json"
