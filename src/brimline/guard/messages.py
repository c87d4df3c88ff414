"""What the guard says. Stable text first, changing figures last: prompt caches reward it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline.guard import voices

if TYPE_CHECKING:
    from brimline.gauge.reading import Reading

_ADVICE = {
    "Warning": "There is room to work, but it is worth spending well: prefer targeted searches "
    "and partial reads over whole files.",
    "Advisory": "A good moment to write down the state of the work (plan, decisions, open items) "
    "in a file, then carry on.",
    "Yellow Alert": "Compaction is near: what is only in this conversation may be lost. Save plan, "
    "decisions and exact values to a file now, then carry on in small steps.",
    "Critical": "Compaction is imminent. Save what must survive first; after that continue, or let "
    "the user run /compact at a point of their choosing.",
}
_REMINDER = "Still critical: save what must survive before anything large."
_TUNE = "Tiers are set by `guard.tiers` (see `brimline config explain`)."


def spoken(voice: str, reading: Reading, *, first: bool) -> str:
    """The text of a tier in the words of a preset."""
    used_percent = 100 * (reading.used_ratio or 0.0)
    if voice == "haios":
        return voices.haios(used_percent)
    if voice == "ccm":
        method = "estimated" if reading.is_estimate else "measured"
        return voices.ccm(reading.tier or 1, used_percent, reading.occupancy_tokens or 0, method)
    return tier_note(reading) if first else f"{_head(reading)} {_REMINDER} {figures(reading)}"


def tier_note(reading: Reading) -> str:
    """The announcement of a tier, for the model."""
    advice = _ADVICE.get(reading.tier_name or "", _ADVICE["Advisory"])
    return f"{_head(reading)} {advice} {_TUNE} {figures(reading)}"


def figures(reading: Reading) -> str:
    """The measured figures with their sources, and how long they will last."""
    margin = reading.margin_tokens or 0
    room = f"{max(0, margin):,} tokens left" if margin >= 0 else f"{-margin:,} tokens past it"
    ratio = reading.used_ratio or 0
    mark = "~" if reading.is_estimate else ""
    verb = "Estimated" if reading.is_estimate else "Measured"
    text = (
        f"{verb}: {mark}{reading.occupancy_tokens:,} of {reading.window.tokens:,} tokens in use "
        f"({ratio:.0%}; from the {_measured_by(reading)}, "
        f"window from {_named(reading.window.source)}), about {reading.tail_tokens:,} more in the "
        f"next request, compaction expected at {reading.compaction.tokens:,}: {room}"
    )
    if reading.compaction.enforced is False:
        text += " (the client itself waits until the API refuses a request)"
    outlook = reading.forecast()
    if outlook is None or outlook.high == 0:
        return text + "."
    requests = "request" if outlook.ops == 1 else "requests"
    return f"{text}, about {outlook.ops} {requests} ({outlook.low} to {outlook.high})."


def _head(reading: Reading) -> str:
    why = ", one up because it fills fast" if reading.raised else ""
    return f"[brimline] Context tier L{reading.tier} {reading.tier_name}{why}."


def _measured_by(reading: Reading) -> str:
    return "size of the session file" if reading.is_estimate else str(reading.measured_by)


def _named(source: str) -> str:
    return {
        "config": "your configuration",
        "statusline": "the status line",
        "settings": "the client's settings",
        "observed": "what was observed",
        "model": "the model's name, unverified",
        "default": "the default, unverified",
    }[source]
