"""The check that what brimline says comes in order: ceiling, tiers, compaction."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from brimline import presets
from brimline.gauge.window import COMPACTION_RESERVE_TOKENS
from brimline.guard.ceiling import Ceiling
from brimline.install.finding import Finding

if TYPE_CHECKING:
    from brimline.gauge.reading import Reading
    from brimline.gauge.window import CompactionPoint


def finding(values: dict[str, Any], reading: Reading) -> Finding:
    """Whether the settings in force keep the order, for the window of a reading. Pure."""
    ceiling = _ceiling(values, reading)
    tiers = tier_tokens(values, reading)
    if ceiling is None and not tiers:
        return _silent()
    point, window = reading.compaction.tokens, reading.window.tokens
    chain = _chain(ceiling, tiers, reading.compaction)
    if point > window:
        return Finding(
            "ordering",
            "warning",
            f"the compaction point {point:,} lies beyond the window of {window:,} tokens",
            "The window is full before the last warnings are due.",
            f"brimline config set compaction_tokens {max(1, window - COMPACTION_RESERVE_TOKENS)}",
        )
    if tiers and tiers[-1] >= point:
        return Finding(
            "ordering",
            "warning",
            f"the last tier does not come before compaction: {chain} tokens",
            "The client compacts before the warning is given.",
            "brimline config explain guard.tiers",
        )
    if tiers and tiers[0] <= (ceiling or 0):
        return Finding(
            "ordering",
            "warning",
            f"the first tier does not come after the ceiling: {chain} tokens"
            if ceiling is not None
            else f"the first tier lies before the beginning: {chain} tokens",
            "Warnings begin while loading agents and skills is still welcome"
            + (", from the first request on." if tiers[0] <= 0 else "."),
            _remedy(values, reading, ceiling or 0),
        )
    if ceiling is not None and ceiling >= point:
        return Finding(
            "ordering",
            "warning",
            f"the ceiling does not come before compaction: {chain} tokens",
            "The client compacts before the ceiling is reached.",
            _remedy(values, reading, ceiling),
        )
    return Finding("ordering", "ok", f"{chain} tokens: in this order")


def tier_tokens(values: dict[str, Any], reading: Reading) -> list[int]:
    """Where the tiers begin, in tokens, the first one first; none where the preset is silent."""
    if not presets.named(values["guard.preset"])["tiers"]:
        return []
    unit = values["guard.tier_unit"]
    return sorted(int(_begin(tier, unit, reading)) for tier in values["guard.tiers"])


def _begin(tier: float, unit: str, reading: Reading) -> float:
    if unit == "tokens":
        return tier
    if unit == "to_compaction":
        point = reading.compaction
        return point.tokens - tier * point.effective_window_tokens / 100
    used_points = tier if unit == "used" else 100 - tier
    return used_points * reading.window.tokens / 100


def _ceiling(values: dict[str, Any], reading: Reading) -> int | None:
    if values["guard.ceiling"] == "off":
        return None
    return Ceiling(reading.window.tokens, values).tokens


def _chain(ceiling: int | None, tiers: list[int], point: CompactionPoint) -> str:
    parts = [
        f"ceiling {ceiling:,}" if ceiling is not None else "",
        f"first tier {tiers[0]:,}" if tiers else "",
        f"last tier {tiers[-1]:,}" if len(tiers) > 1 else "",
        f"{point.goal} {point.tokens:,}",
    ]
    return ", ".join(part for part in parts if part)


def _silent() -> Finding:
    return Finding(
        "ordering",
        "note",
        "warnings are switched off",
        "brimline measures and stays silent.",
        "brimline config set guard.preset default",
    )


def _remedy(values: dict[str, Any], reading: Reading, ceiling: int) -> str:
    """The command that makes the tiers fit between ceiling and compaction, if any can."""
    if values["guard.tier_unit"] != "to_compaction":
        return "brimline config explain guard.tiers"
    point = reading.compaction
    room_points = 100 * (point.tokens - ceiling) / point.effective_window_tokens
    fitting = _fitting(values["guard.tiers"], math.ceil(room_points) - 1)
    if not fitting:
        return 'raise "autoCompactWindow" or compaction_tokens: compaction comes too soon'
    return "brimline config set guard.tiers " + ",".join(f"{points:g}" for points in fitting)


def _fitting(tiers: list[float], largest: int) -> list[float]:
    """The same number of tiers, the first at `largest` points; none where they do not fit."""
    if len(tiers) == 1 or largest > tiers[1]:
        fitting = [largest, *tiers[1:]]
    else:
        fitting = [round(points * largest / tiers[0], 1) for points in tiers]
    falling = all(fitting[at] > fitting[at + 1] for at in range(len(fitting) - 1))
    return fitting if falling and fitting[-1] > 0 else []
