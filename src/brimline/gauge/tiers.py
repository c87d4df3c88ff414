"""The ladder of tiers: which one a reading is in, in any unit. Pure.

Fast path: imports nothing. A threshold belongs to the tier it opens.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.gauge.reading import Reading

NAMES = ("Calm", "Warning", "Advisory", "Yellow Alert", "Critical")
# Units in which less means fuller; in the others more does.
_FALLING_UNITS = ("to_compaction", "remaining")


def name_of(level: int, count: int = 4) -> str:
    """The name of a tier in a ladder of `count`; the last of several is always the critical one."""
    if count > 1 and level == count:
        return NAMES[-1]
    return NAMES[level] if level < len(NAMES) - 1 else f"Level {level}"


def position(reading: Reading, unit: str) -> float | None:
    """Where a reading stands in a unit.

    `used` and `remaining` are shares of the window as the client's own percentage shows them;
    `to_compaction` and `tokens` look at what the next request will hold.
    """
    if reading.occupancy_tokens is None or reading.projected_tokens is None:
        return None
    if unit == "tokens":
        return reading.projected_tokens
    if unit == "to_compaction":
        return 100 * (reading.margin_tokens or 0) / reading.compaction.effective_window_tokens
    used = 100 * reading.occupancy_tokens / reading.window.tokens
    return used if unit == "used" else 100 - used


def tier_of(at: float | None, thresholds: list[float], unit: str = "to_compaction") -> int | None:
    """The tier of a position; None where it is unknown."""
    if at is None:
        return None
    if unit in _FALLING_UNITS:
        return sum([at <= threshold for threshold in thresholds])
    return sum([at >= threshold for threshold in thresholds])


def raised(tier: int | None, growth_points: float | None, limit: float, count: int) -> int | None:
    """The tier after the velocity rule: steep growth raises all but calm and the last by one."""
    if tier is None or growth_points is None or not limit or not 1 <= tier < count:
        return tier
    return tier + 1 if growth_points >= limit else tier


def has_left(
    at: float, level: int, thresholds: list[float], unit: str, slack_points: float, window: int
) -> bool:
    """Whether a position is clearly on the calm side of a tier, by some points."""
    if level > len(thresholds):
        return True
    if unit in _FALLING_UNITS:
        return at > sorted(thresholds, reverse=True)[level - 1] + slack_points
    slack = slack_points * window / 100 if unit == "tokens" else slack_points
    return at < sorted(thresholds)[level - 1] - slack
