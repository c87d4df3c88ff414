"""The tool `context_status`: how full the session is, by the figures that hooks recorded last."""

from __future__ import annotations

from brimline import clock
from brimline.errors import SessionError
from brimline.fast import io
from brimline.gauge import wording
from brimline.state.session import TELEMETRY, SessionState
from brimline.transcript import find


def answer(home_dir: str, project_dir: str) -> str:
    """The text for the model; what is unknown is said to be."""
    first = io.env("CLAUDE_CODE_SESSION_ID")
    if first:
        session, which = find.current(first), "this session"
    else:
        try:
            path = find.newest(project_dir)
        except SessionError:
            return "[brimline context_status] Unknown: this project has no session yet."
        session, which = find.session_id_of(path), "the newest session of this project"
    told = SessionState(home_dir, session).read(TELEMETRY)
    head = f"[brimline context_status] Session {session[:60]} ({which})"
    if not told:
        return (
            f"{head}: unknown, no hook has recorded a reading yet. "
            "`brimline doctor` tells whether the hooks are installed."
        )
    age_s = max(0, round(clock.now() - told["at"]))
    return "\n".join([f"{head}, read {age_s:,} s ago:", *wording.for_model(told)])
