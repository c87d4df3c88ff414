"""Rate limits as the status line delivers them: one line when a band is entered.

Nothing here reads credentials or calls anyone; without a status line there is nothing to say.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from brimline.decision import Decision
from brimline.fast import io

if TYPE_CHECKING:
    from brimline.hooks.turn import Turn
    from brimline.state.session import SessionState

WARN_PERCENT = 70
CRITICAL_PERCENT = 90
_LIMITS = (("five_hour", "5h"), ("seven_day", "7d"))
# In a session's folder: the bands that were told.
_MARK = "quota-"


def at_prompt(turn: Turn, rate_limits: dict[str, Any]) -> Decision | None:
    """Tell the limits once when any of them enters a higher band."""
    now = time.time()
    entered = [_enters(turn.state, *found) for found in bands(rate_limits, now).items()]
    return Decision(model_notes=(line(rate_limits, now),)) if any(entered) else None


def bands(rate_limits: Any, now: float) -> dict[str, int]:
    """The band of each limit that is known: 0 calm, also once it was reset, then 1 and 2."""
    found = {}
    for key, name in _LIMITS:
        limit = rate_limits.get(key) if isinstance(rate_limits, dict) else None
        percent = _percent(limit)
        if percent is not None:
            reached = (percent >= WARN_PERCENT) + (percent >= CRITICAL_PERCENT)
            found[name] = 0 if _is_over(limit, now) else reached
    return found


def line(rate_limits: dict[str, Any], now: float) -> str:
    """All known limits in one line."""
    parts = []
    for key, name in _LIMITS:
        limit = rate_limits.get(key)
        percent = _percent(limit)
        if percent is None or _is_over(limit, now):
            continue
        band = (percent >= WARN_PERCENT) + (percent >= CRITICAL_PERCENT)
        mark = ("", " [WARNING]", " [CRITICAL]")[band]
        parts.append(f"{name}: {percent:.0f}%{mark}{_resets(limit, now)}")
    return "## Usage Limits - " + " | ".join(parts)


def _percent(limit: Any) -> float | None:
    value = limit.get("used_percentage") if isinstance(limit, dict) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _is_over(limit: Any, now: float) -> bool:
    resets = _reset_time(limit)
    return resets is not None and resets <= now


def _resets(limit: Any, now: float) -> str:
    resets = _reset_time(limit)
    if resets is None:
        return ""
    minutes = int((resets - now) // 60)
    days, hours = divmod(minutes // 60, 24)
    text = f"{days}d {hours}h" if days else f"{hours}h {minutes % 60}m"
    return f" | resets in {text}"


def _reset_time(limit: Any) -> float | None:
    """The client gives seconds since 1970; a text form is read as well."""
    from brimline import clock

    value = limit.get("resets_at") if isinstance(limit, dict) else None
    if isinstance(value, str):
        return clock.parse(value)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _enters(state: SessionState, limit: str, band: int) -> bool:
    """Whether a band of a limit is entered just now; leaving it lets it be told again."""
    for higher in (1, 2):
        name = f"{_MARK}{limit}.{higher}"
        if higher > band and name in state.names:
            io.remove(f"{state.folder}/{name}")
    claims = [
        io.create_exclusively(f"{state.folder}/{_MARK}{limit}.{reached}", b"")
        for reached in range(1, band + 1)
    ]
    return bool(claims) and claims[-1]
