"""The tool `context_status`: how full the session is, by the figures that hooks recorded last."""

from __future__ import annotations

from typing import Any

from brimline import clock
from brimline.errors import SessionError
from brimline.fast import io
from brimline.gauge.window import outlook_of
from brimline.output import figure
from brimline.state.session import SessionState
from brimline.transcript import find

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400


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
    if _count(told, "occupancy_tokens") is None:
        return (
            f"{head}: unknown, no hook has recorded a reading yet. "
            "`brimline doctor` tells whether the hooks are installed."
        )
    return "\n".join([f"{head}, read {_age(told.get('at'), clock.now())}:", *_figures(told)])


def _figures(told: dict[str, Any]) -> list[str]:
    used, window = _count(told, "occupancy_tokens"), _count(told, "window_tokens")
    point, margin = _count(told, "compaction_tokens"), _count(told, "margin_tokens")
    source = told.get("compaction_source", "unknown")
    mark = "~" if told.get("measured_by") == "estimate" else ""
    share = f" ({used / window:.0%})" if used is not None and window else ""
    left = "distance unknown"
    if margin is not None:
        left = f"{margin:,} tokens left" if margin >= 0 else f"{-margin:,} tokens past it"
    lines = [
        f"In use: {mark}{figure(used)} of {figure(window)} tokens{share}.",
        f"Window from: {told.get('window_source', 'unknown')}.",
        f"Next request: about {figure(_count(told, 'projected_tokens'))} tokens.",
        f"Ahead: {outlook_of(told.get('ending'), point or 0)} (from: {source}), {left}.",
    ]
    level, name = told.get("level"), told.get("tier_name")
    if isinstance(level, int):
        lines.append(f"Tier: L{level}{f' {name}' if isinstance(name, str) else ''}.")
    return [*lines, _growth(told)]


def _growth(told: dict[str, Any]) -> str:
    velocity = told.get("velocity_tokens_per_op")
    if not isinstance(velocity, int | float):
        return "Growth: unknown yet."
    line = f"Growth: about {velocity:,.0f} tokens per request"
    ops, low, high = (told.get(f"predicted_exhaustion_ops{end}") for end in ("", "_low", "_high"))
    if not isinstance(ops, int | float):
        return f"{line}."
    bounds = isinstance(low, int | float) and isinstance(high, int | float)
    between = f" ({low:,.0f} to {high:,.0f})" if bounds else ""
    return f"{line}; about {ops:,.0f} requests left{between}."


def _age(at: Any, now: float) -> str:
    if not isinstance(at, int | float) or at > now + _MINUTE_S:
        return "at an unknown time"
    seconds = max(0, int(now - at))
    for size, unit in ((_DAY_S, "d"), (_HOUR_S, "h"), (_MINUTE_S, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"


def _count(told: dict[str, Any], name: str) -> int | None:
    value = told.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
