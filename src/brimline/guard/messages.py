"""What the guard says. Stable text first, changing figures last: prompt caches reward it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline.gauge.reading import TIER_NAMES

if TYPE_CHECKING:
    from brimline.gauge.reading import Reading

_ADVICE = {
    1: "There is room to work, but it is worth spending well: prefer targeted searches and partial "
    "reads over whole files.",
    2: "A good moment to write down the state of the work (plan, decisions, open items) in a file, "
    "then carry on.",
    3: "Compaction is near: what is only in this conversation may be lost. Save plan, decisions "
    "and exact values to a file now, then carry on in small steps.",
    4: "Compaction is imminent. Save what must survive first; after that continue, or let the user "
    "run /compact at a point of their choosing.",
}
_TUNE = "Tiers are set by `guard.tiers` (see `brimline config explain`)."


def tier_note(reading: Reading) -> str:
    """The announcement of a tier, for the model."""
    level = reading.tier or 0
    head = f"[brimline] Context tier L{level} {TIER_NAMES[level]}. {_ADVICE[level]} {_TUNE}"
    return f"{head} {figures(reading)}"


def figures(reading: Reading) -> str:
    """The measured figures with their sources."""
    margin = reading.margin_tokens or 0
    room = f"{max(0, margin):,} tokens left" if margin >= 0 else f"{-margin:,} tokens past it"
    ratio = reading.used_ratio or 0
    return (
        f"Measured: {reading.occupancy_tokens:,} of {reading.window.tokens:,} tokens in use "
        f"({ratio:.0%}; from the {reading.measured_by}, "
        f"window from {_named(reading.window.source)}), "
        f"compaction expected at {reading.compaction.tokens:,}: {room}."
    )


def _named(source: str) -> str:
    return {
        "config": "your configuration",
        "statusline": "the status line",
        "settings": "the client's settings",
        "observed": "what was observed",
        "model": "the model's name, unverified",
        "default": "the default, unverified",
    }[source]
