"""Named sets of settings. A preset fills in what the user did not set.

Fast path: imports nothing; loaded when settings are compiled and when a tier speaks.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MOST_DIGITS = 12


class Preset:
    """What a preset sets, and what it does beyond settings."""

    __slots__ = (
        "doc",
        "events",
        "name",
        "persistent",
        "point_remaining",
        "repeats",
        "values",
        "voice",
    )

    def __init__(  # noqa: PLR0913 - a table row, written out once
        self,
        name: str,
        doc: str,
        values: dict[str, Any],
        *,
        voice: str = "brimline",
        events: tuple[str, ...] = ("PostToolUse", "UserPromptSubmit"),
        persistent: bool = False,
        repeats: bool = False,
        point_remaining: int | None = None,
    ) -> None:
        self.name = name
        self.doc = doc
        self.values = values
        # Whose words the tiers use; none means that tiers are silent.
        self.voice = voice
        self.events = events
        # Whether the last tier speaks on every call, and whether every tier does.
        self.persistent = persistent
        self.repeats = repeats
        # Percent of the window still free at the expected compaction, unless it was learned.
        self.point_remaining = point_remaining


PRESETS = (
    Preset(
        "default",
        "Tiers at 30, 15, 7 and 3 points before compaction; the ceiling advises, never refuses.",
        {},
        persistent=True,
    ),
    Preset(
        "adr11",
        "Only the context ceiling: agents and skills above 40 % of the window are warned about, "
        "and refused with `DEV_TEAM_CONTEXT_STRICT=on`. Reads `DEV_TEAM_CONTEXT_*`.",
        {"guard.ceiling": "warn", "guard.ceiling_percent": 40, "guard.ceiling_tokens": 350_000},
        voice="",
    ),
    Preset(
        "haios-80",
        "One line with every prompt once 80 % of the window is in use.",
        {
            "guard.tiers": [80],
            "guard.tier_unit": "used",
            "guard.velocity_points": 0,
            "guard.ceiling": "off",
        },
        voice="haios",
        events=("UserPromptSubmit",),
        repeats=True,
    ),
    Preset(
        "ccm-70-80-90",
        "Notes at 70, 80 and 90 % of the window, also to the person when a turn ends. "
        "Reads `CONTEXT_*`.",
        {
            "guard.tiers": [70, 80, 90],
            "guard.tier_unit": "used",
            "guard.velocity_points": 0,
            "guard.ceiling": "off",
        },
        voice="ccm",
        events=("PostToolUse", "Stop"),
    ),
    Preset(
        "guard-30-15-7-3",
        "Tiers at 30, 15, 7 and 3 points before compaction, which is expected with 16 % of the "
        "window left until it was observed; the last tier refuses to dispatch agents.",
        {
            "guard.tiers": [30, 15, 7, 3],
            "guard.tier_unit": "to_compaction",
            "guard.velocity_points": 5,
            "guard.block_dispatch_at_critical": True,
            "guard.ceiling": "off",
        },
        persistent=True,
        point_remaining=16,
    ),
    Preset("off", "Measures and stays silent.", {"guard.ceiling": "off"}, voice="", events=()),
)

BY_NAME = {preset.name: preset for preset in PRESETS}

_FALSE = ("false", "0", "no", "off")


def named(name: str) -> Preset:
    """The preset of that name; the default one for a name from another version."""
    return BY_NAME.get(name, BY_NAME["default"])


def apply_environment(values: dict[str, Any], read: Callable[[str], str | None]) -> None:
    """Let a preset's own environment variables change what it does; malformed ones are ignored."""
    if values["guard.preset"] != "ccm-70-80-90":
        return
    if (read("CONTEXT_MONITOR_ENABLED") or "").strip().lower() in _FALSE:
        values["guard.preset"] = "off"
    window = _digits(read("CONTEXT_MAX_TOKENS"))
    if window:
        values["context_window"] = window
    thresholds = (read("CONTEXT_WARN_THRESHOLDS") or "").strip().strip("[]").split(",")
    numbers = [_digits(threshold) for threshold in thresholds]
    if all(numbers):
        values["guard.tiers"] = sorted({number for number in numbers if number})


def _digits(text: str | None) -> int | None:
    stripped = (text or "").strip()
    plain = stripped.isascii() and stripped.isdigit() and len(stripped) <= _MOST_DIGITS
    return int(stripped) or None if plain else None


def fill(values: dict[str, Any], defaults: dict[str, Any], explicit: set[str]) -> set[str]:
    """Give every setting that nobody set the value of the preset in force; returns their names."""
    chosen = named(values["guard.preset"]).values
    if _is_of_another_unit(values, chosen, explicit):
        explicit = explicit - {"guard.tiers"}
    for preset in PRESETS:
        for key in preset.values:
            if key not in explicit:
                values[key] = chosen.get(key, defaults[key])
    return {key for key in chosen if key not in explicit}


def _is_of_another_unit(values: dict[str, Any], chosen: dict[str, Any], explicit: set[str]) -> bool:
    """Whether falling thresholds of the usual unit would meet a preset that counts upwards."""
    if "guard.tiers" not in explicit or "guard.tier_unit" in explicit:
        return False
    thresholds = values["guard.tiers"]
    falling = thresholds[0] > thresholds[-1]
    return falling and chosen.get("guard.tier_unit") in ("used", "tokens")
