"""The tools `context_status` and `context_budget`: how full the session is, what it is to hold."""

from __future__ import annotations

from typing import Any

from brimline.budget import operations
from brimline.errors import SessionError
from brimline.fast import io, paths, policy
from brimline.gauge import context, reading, wording
from brimline.state.session import SessionState
from brimline.transcript import find

_MOST_CHARACTERS = 5_000


def status_text(home_dir: str, project_dir: str) -> str:
    """The figures of `brimline status`; what is unknown is said to be.

    Raises:
        OSError: the session's file cannot be read.
    """
    try:
        session, which = _session_and_which(project_dir)
    except SessionError:
        return "[brimline context_status] Unknown: this project has no session yet."
    path = paths.transcript_of_session(session) or None
    settings, state = policy.load(home_dir, project_dir), SessionState(home_dir, session)
    now = reading.measure_session(path, state, settings, requests=reading.HISTORY_REQUESTS)
    if now.occupancy_tokens is None and path:
        now.estimated_tokens = context.estimate_after_compaction(path)
    head = f"[brimline context_status] Session {session} ({which}):"
    rows = wording.status_rows(now.document())
    return "\n".join([head, *[f"{heading}: {text}" for heading, text in rows]])


def budget_text(home_dir: str, project_dir: str, arguments: dict[str, Any]) -> str:
    """Do one operation on the budget, and say what came of it.

    Raises:
        SessionError: there is no such session.
        StateError: the operation or one of its arguments is wrong.
        OSError: the budget cannot be read or written.
    """
    session, _ = _session_and_which(project_dir)
    operation = str(arguments.get("operation", "get"))
    given = {name: value for name, value in arguments.items() if name != "operation"}
    text = operations.text(operations.run_operation(home_dir, session, operation, given))
    if len(text) <= _MOST_CHARACTERS:
        return text
    shown = text[:_MOST_CHARACTERS].rpartition("\n")[0]
    left = text.count("\n") - shown.count("\n")
    return f"{shown}\n[{left} more lines: name a compartment, or remove what is not needed]"


def _session_and_which(project_dir: str) -> tuple[str, str]:
    """The session that the client is in, else the project's newest."""
    first = io.env("CLAUDE_CODE_SESSION_ID")
    if first:
        return find.session_id_after_clears(first), "this session"
    newest = find.session_id_of(find.newest_in_project(project_dir))
    return newest, "the newest session of this project"
