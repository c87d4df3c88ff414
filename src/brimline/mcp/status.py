"""The tool `context_status`: how full the session is, by the figures that hooks recorded last."""

from __future__ import annotations

from typing import Any

from brimline import clock
from brimline.errors import SessionError
from brimline.fast import io
from brimline.gauge.window import outlook_of
from brimline.state.session import SessionState
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
    told = SessionState(home_dir, session).telemetry()
    head = f"[brimline context_status] Session {session[:60]} ({which})"
    if not told:
        return (
            f"{head}: unknown, no hook has recorded a reading yet. "
            "`brimline doctor` tells whether the hooks are installed."
        )
    age_s = max(0, round(clock.now() - told["at"]))
    return "\n".join([f"{head}, read {age_s:,} s ago:", *_figures(told)])


def _figures(told: dict[str, Any]) -> list[str]:
    used, window = told["occupancy_tokens"], told["window_tokens"]
    mark = "~" if told["measured_by"] == "estimate" else ""
    ahead, margin = outlook_of(told["ending"], told["compaction_tokens"]), told["margin_tokens"]
    left = f"{margin:,} tokens left" if margin >= 0 else f"{-margin:,} tokens past it"
    return [
        f"In use: {mark}{used:,} of {window:,} tokens ({used / window:.0%}).",
        f"Window from: {told['window_source']}.",
        f"Next request: about {told['projected_tokens']:,} tokens.",
        f"Ahead: {ahead} (from: {told['compaction_source']}), {left}.",
        f"Tier: L{told['level']} {told['tier_name']}.",
        _growth(told),
    ]


def _growth(told: dict[str, Any]) -> str:
    velocity = told["velocity_tokens_per_op"]
    if velocity is None:
        return "Growth: unknown yet."
    line = f"Growth: about {velocity:,.0f} tokens per request"
    ops, low, high = (told[f"predicted_exhaustion_ops{end}"] for end in ("", "_low", "_high"))
    return f"{line}; about {ops:,.0f} requests left ({low:,.0f} to {high:,.0f})."
