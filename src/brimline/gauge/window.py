"""How large the window is, where a context ends, and the ladder of tiers towards that. Pure.

Fast path: imports only `models` and `fast.io`. The client's figures are those of
`docs/developers/client.md`.
"""

from __future__ import annotations

from brimline import models
from brimline.fast import io

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.fast.policy import Policy
    from brimline.gauge.reading import Reading
    from brimline.models import Model

DEFAULT_WINDOW_TOKENS = 200_000
LARGE_WINDOW_TOKENS = 1_000_000
# With automatic compaction off, the client ends a session this close to the window.
STOP_RESERVE_TOKENS = 23_000
VERIFIED_SOURCES = frozenset({"config", "statusline", "settings", "observed"})

_LARGE_MARK = "[1m]"
# Recorded sessions of these clients and older ones all compacted at the threshold by themselves.
_LAST_ALWAYS_ENFORCING = (2, 1, 42)
# The first to compact a large context before its cache of an hour expires, and from where on.
_FIRST_IDLING = (2, 1, 299)
_IDLE_TOKENS, _LEAST_IDLE_TOKENS = 200_000, 100_000
# A pace that leaves this many requests is no longer calm; one step alone is no pace.
NEAR_REQUESTS = 5
_PACE_READINGS = 3
# Units in which less means fuller; in the others more does.
FALLING_UNITS = ("to_compaction", "remaining")


class Window:
    """Tokens of the window and how we know."""

    def __init__(self, tokens: int, source: str) -> None:
        self.tokens = tokens
        self.source = source

    @property
    def is_verified(self) -> bool:
        """Whether the size is known for certain, not guessed from a name."""
        return self.source in VERIFIED_SOURCES


# How a context ends, and what is said about it.
_ENDINGS = {
    "compaction": ("compaction", "compaction expected at {:,}"),
    "refusal": ("refusal", "the API refuses at about {:,}"),
    "stop": ("the end", "the client ends the session at about {:,}"),
}


class CompactionPoint(io.Record):
    """Where a context ends and how we know; `enforced`: whether the client compacts there."""

    tokens: int
    source: str
    effective_window_tokens: int
    enforced: bool | None
    ending: str
    # What the client's settings and the window alone would lead to expect.
    expected_tokens: int


def word_for_ending(ending: object) -> str:
    """Return what a distance leads to; an ending from another version is a compaction."""
    return _ENDINGS.get(str(ending), _ENDINGS["compaction"])[0]


def ending_at_text(ending: object, tokens: int) -> str:
    """Return what happens at which figure, in words."""
    return _ENDINGS.get(str(ending), _ENDINGS["compaction"])[1].format(tokens)


def resolve_window(
    policy: Policy,
    model: Model,
    *,
    statusline: int | None,
    observed: int | None,
    occupancy_tokens: int | None,
    requested_model: str | None = None,
) -> Window:
    """The first source that knows: config, status line, settings, observation, model name."""
    configured, client = policy.values["context_window"], policy.client
    if configured:
        return Window(configured, "config")
    if statusline:
        return Window(statusline, "statusline")
    by_settings = _window_by_client_settings(client, model, requested_model or client.get("model"))
    if by_settings:
        return Window(by_settings, "settings")
    proved = max(observed or 0, window_proved_by_occupancy(occupancy_tokens) or 0)
    if proved:
        return Window(proved, "observed")
    if client.get("large_window_off") and model.window_tokens > DEFAULT_WINDOW_TOKENS:
        return Window(DEFAULT_WINDOW_TOKENS, "settings")
    return Window(model.window_tokens, "model" if model.is_known else "default")


def _window_by_client_settings(client: dict[str, Any], model: Model, wanted: Any) -> int | None:
    """Return what the client's settings ask for: so many tokens, or a model with a large window."""
    stated: int | None = client.get("most_tokens")
    if stated and (not model.is_known or client.get("autocompact_enabled") is False):
        return stated
    name = wanted.lower() if isinstance(wanted, str) else ""
    if client.get("large_window_off") or not name.endswith(_LARGE_MARK):
        return None
    # A setting counts where it is about the model that is running.
    is_running = model.name is None or name.removesuffix(_LARGE_MARK) in model.name
    return LARGE_WINDOW_TOKENS if is_running else None


def idle_compaction_tokens(client: dict[str, Any], version: str | None) -> int | None:
    """From how many tokens on the client compacts while nobody is there; None where it does not."""
    off = False in (client.get("idle_enabled"), client.get("autocompact_enabled"))
    if off or parse_client_version(version) < _FIRST_IDLING:
        return None
    least = client.get("idle_least_tokens") or _IDLE_TOKENS
    return int(max(_LEAST_IDLE_TOKENS, least))


def parse_client_version(version: str | None) -> tuple[int, ...]:
    """A client's version, to compare; an unknown one is the oldest."""
    return tuple([int(part) if part.isdecimal() else 0 for part in (version or "").split(".")])


def window_proved_by_occupancy(occupancy_tokens: int | None) -> int | None:
    """The window that an occupancy proves: above 200,000 it must be the next size up."""
    if not occupancy_tokens or occupancy_tokens <= DEFAULT_WINDOW_TOKENS:
        return None
    return -(-occupancy_tokens // LARGE_WINDOW_TOKENS) * LARGE_WINDOW_TOKENS


def resolve_compaction_point(
    policy: Policy, window: Window, model: Model, version: str | None, remaining_percent: int | None
) -> CompactionPoint:
    """The first source that knows: config, earlier compactions, the client's settings, the window.

    Where the client does not compact by itself, it is the point at which the API refuses.

    Args:
        policy: what the user says, facts from the client's settings, points that were learned.
        window: the window.
        model: the one that answers.
        version: the client's version.
        remaining_percent: assume this much of the window to be left at a compaction.
    """
    client, learned = policy.client, policy.learned.get("points")
    by_model = client.get("autocompact_window_by_model") or {}
    chosen = by_model.get(model.name) or client.get("autocompact_window")
    enforced = _does_client_compact_at_threshold(client, window, chosen, model, version)
    effective, ending, source = window.tokens, "compaction", "window"
    if client.get("autocompact_enabled") is False:
        ending, source = "stop", "settings"
        expected = max(0, effective - STOP_RESERVE_TOKENS)
    elif enforced is False:
        ending, expected = "refusal", effective
    elif chosen:
        effective, source = min(chosen, effective), "settings"
        expected = _expected_compaction_tokens(effective, model, client.get("autocompact_pct"))
    else:
        expected = _expected_compaction_tokens(effective, model, None)
    tokens = expected
    learned_tokens = learned and learned.get(key_of_learned_point(window.tokens, effective, ending))
    if policy.values["compaction_tokens"]:
        tokens, source = policy.values["compaction_tokens"], "config"
    elif learned_tokens:
        tokens, source = learned_tokens, "learned"
    elif remaining_percent is not None and ending == "compaction":
        tokens, source = effective * (100 - remaining_percent) // 100, "preset"
    return CompactionPoint(
        tokens=tokens,
        source=source,
        effective_window_tokens=effective,
        enforced=enforced,
        ending=ending,
        expected_tokens=expected,
    )


def _expected_compaction_tokens(effective: int, model: Model, percent: int | None) -> int:
    """The window less the client's reserve; a percentage can only lower it."""
    point = max(0, effective - model.reserve_tokens)
    if not percent:
        return point
    return min(point, int((effective - models.SUMMARY_TOKENS) * percent / 100))


def key_of_learned_point(window_tokens: int, effective_window_tokens: int, ending: str) -> str:
    """Under which a learned point is kept: it holds for these settings and this ending only."""
    key = f"{window_tokens}:{effective_window_tokens}"
    return key if ending == "compaction" else f"{key}:{ending}"


def _does_client_compact_at_threshold(
    client: dict[str, Any],
    window: Window,
    chosen: int | None,
    model: Model,
    version: str | None,
) -> bool | None:
    """Tell whether the client compacts at its threshold; None where nobody has seen it."""
    if client.get("autocompact_enabled") is False:
        return False
    if chosen:
        return True
    if version is not None and parse_client_version(version) <= _LAST_ALWAYS_ENFORCING:
        return True
    most = model.compacts_up_to_tokens
    return None if most is None else window.tokens <= most


class Ladder:
    """The tiers of one window: from how many tokens on each holds, the calmest first.

    With `used` and `remaining` those count that are in use, as in the client's own percentage, with
    the other units those of the next request.
    """

    def __init__(self, values: dict[str, Any], size: Window, point: CompactionPoint) -> None:
        unit = values["guard.tier_unit"]
        # Where thresholds are counted from, and the tokens of a hundred of them.
        start, hundred = {
            "tokens": (0, 100),
            "used": (0, size.tokens),
            "remaining": (size.tokens, -size.tokens),
            "to_compaction": (point.tokens, -point.effective_window_tokens),
        }[unit]
        self.begins = sorted([start + each * hundred / 100 for each in values["guard.tiers"]])
        self.counts_next_request = unit in ("tokens", "to_compaction")
        self.point_tokens = (size.tokens if unit == "tokens" else abs(hundred)) / 100

    def tier_at(self, tokens: int) -> int:
        """The tier that so many tokens are in, whatever the growth."""
        return sum([tokens >= begin for begin in self.begins])

    def is_clearly_below(self, level: int, tokens: int, slack_points: float) -> bool:
        """Tell whether so many tokens are on the calm side of a tier, by more than some points."""
        slack = slack_points * self.point_tokens
        return level > len(self.begins) or tokens < self.begins[level - 1] - slack


def is_growth_steep_enough_to_lift_tier(reading: Reading, tier: int, limit_points: float) -> bool:
    """Tell whether growth raises a tier by one.

    Steep growth raises all but the last; the calm one is raised where its pace leaves few requests.
    """
    if tier >= reading.tier_count or (tier == 0 and len(reading.history) < _PACE_READINGS):
        return False
    speed = reading.velocity() or 0.0
    if tier == 0:
        return 0 <= (reading.margin_tokens or 0) <= NEAR_REQUESTS * speed
    return 100 * speed / reading.compaction.effective_window_tokens >= limit_points


def least_steep_growth_tokens(reading: Reading, limit_points: float) -> int:
    """The growth in one request below which none raises the tier that a reading is in."""
    if reading.tier == 0:
        return (reading.margin_tokens or 0) // (NEAR_REQUESTS + 1)
    return int(limit_points / 100 * reading.compaction.effective_window_tokens)
