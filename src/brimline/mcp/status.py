"""The tool `context_status`: how full the session is now, by the figures of `brimline status`."""

from __future__ import annotations

from brimline.errors import SessionError
from brimline.fast import io, policy
from brimline.gauge import context, reading, wording
from brimline.state.session import SessionState
from brimline.transcript import find


def answer(home_dir: str, project_dir: str) -> str:
    """Return the text for the model; what is unknown is said to be.

    Raises:
        OSError: the session's file cannot be read.
    """
    first = io.env("CLAUDE_CODE_SESSION_ID")
    if first:
        session, which = find.session_id_after_clears(first), "this session"
        path = next(iter(find.files_beginning_with(f"{session}.jsonl")), None)
    else:
        try:
            path = find.newest_in_project(project_dir)
        except SessionError:
            return "[brimline context_status] Unknown: this project has no session yet."
        session, which = find.session_id_of(path), "the newest session of this project"
    settings, state = policy.load(home_dir, project_dir), SessionState(home_dir, session)
    now = reading.measure_session(path, state, settings, requests=reading.HISTORY_REQUESTS)
    if now.occupancy_tokens is None and path:
        now.estimated_tokens = context.estimate_after_compaction(path)
    head = f"[brimline context_status] Session {session[:60]} ({which}):"
    rows = wording.status_rows(now.document())
    return "\n".join([head, *[f"{heading}: {text}" for heading, text in rows]])
