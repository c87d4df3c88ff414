"""Rate limits as the status line delivers them: one line when a band is entered.

Nothing here reads credentials or calls anyone; without a status line there is nothing to say.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from brimline.decision import Decision
from brimline.fast import io

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.hooks.turn import Turn
    from brimline.state.session import SessionState

WARN_PERCENT = 70
CRITICAL_PERCENT = 90
_LIMITS = (("five_hour", "5h"), ("seven_day", "7d"))
# In a session's folder: the bands that were told.
_MARK = "quota-"
_MARKS = ("", " [WARNING]", " [CRITICAL]")


def at_prompt(turn: Turn, rate_limits: dict[str, Any]) -> Decision | None:
    """Tell the limits once when any of them enters a higher band."""
    now = time.time()
    entered = [_enters(turn.state, *found) for found in bands(rate_limits, now).items()]
    return Decision(model_notes=(line(rate_limits, now),)) if any(entered) else None


def bands(rate_limits: Any, now: float) -> dict[str, int]:
    """The band of each limit that is known: 0 calm, also once it was reset, then 1 and 2."""
    return {name: band for name, band, *_ in _known(rate_limits, now)}


def line(rate_limits: Any, now: float) -> str:
    """All known limits that were not reset since, in one line."""
    parts = [
        f"{name}: {percent:.0f}%{_MARKS[band]}{_resets(resets, now)}"
        for name, band, percent, resets in _known(rate_limits, now)
        if resets is None or resets > now
    ]
    return "## Usage Limits - " + " | ".join(parts)


def _known(rate_limits: Any, now: float) -> Iterator[tuple[str, int, float, float | None]]:
    """Name, band, share in use and time of the reset of every limit that tells its share."""
    for key, name in _LIMITS:
        limit = rate_limits.get(key) if isinstance(rate_limits, dict) else None
        percent = limit.get("used_percentage") if isinstance(limit, dict) else None
        if isinstance(percent, int | float) and not isinstance(percent, bool):
            resets = _reset_time(limit)
            reached = (percent >= WARN_PERCENT) + (percent >= CRITICAL_PERCENT)
            yield name, reached if resets is None or resets > now else 0, percent, resets


def _resets(resets: float | None, now: float) -> str:
    if resets is None:
        return ""
    minutes = int((resets - now) // 60)
    days, hours = divmod(minutes // 60, 24)
    text = f"{days}d {hours}h" if days else f"{hours}h {minutes % 60}m"
    return f" | resets in {text}"


def _reset_time(limit: Any) -> float | None:
    """The client gives seconds since 1970; a text form is read as well."""
    from brimline import clock

    value = limit.get("resets_at")
    if isinstance(value, str):
        return clock.parse(value)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _enters(state: SessionState, limit: str, band: int) -> bool:
    """Whether a band of a limit is entered just now; leaving it lets it be told again."""
    for higher in range(band + 1, len(_MARKS)):
        io.remove(f"{state.folder}/{_MARK}{limit}.{higher}")
    claims = [
        io.create_exclusively(f"{state.folder}/{_MARK}{limit}.{reached}", b"")
        for reached in range(1, band + 1)
    ]
    return bool(claims) and claims[-1]
