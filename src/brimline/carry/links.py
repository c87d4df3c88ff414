"""Which session goes on from which, and which session of a project was left unfinished."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline import fastio, fastjson, paths
from brimline.carry import items

if TYPE_CHECKING:
    from brimline.carry.items import Ledger

FORMAT = 1
_GOAL_CHARACTERS = 160


def note_client(home_dir: str, pid: str | None, session_id: str) -> None:
    """Remember which session a client runs; `/clear` gives it another one."""
    if pid and pid.isdigit():
        fastio.replace_file(_client(home_dir, pid), session_id.encode())


def session_of_client(home_dir: str, pid: str | None) -> str | None:
    """The session that a client ran before this one."""
    if not pid or not pid.isdigit():
        return None
    try:
        found = fastio.read_file(_client(home_dir, pid), 256).decode("ascii", "replace")
    except OSError:
        return None
    return paths.safe_session_id(found)


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
        f"{found.get(name)} {word}"
        for name, word in (("tasks", "open tasks"), ("errors", "open errors"))
        if found.get(name)
    ]
    about = f"It was about: {goal}" if goal else "Its goal is not known."
    return "\n".join(
        [
            f"[brimline] {what} was left with {' and '.join(left) or 'nothing open'}.",
            about,
            ("If the user wants to go on from there: /brim:card, or "
            f"`brimline carry card --session {found['session']}`."),
        ]
    )


def _client(home_dir: str, pid: str) -> str:
    return f"{paths.carry_dir(home_dir)}/clients/{pid}"


def _project(home_dir: str, project_dir: str) -> str:
    return f"{paths.carry_dir(home_dir)}/projects/{paths.fingerprint(project_dir)}.json"
