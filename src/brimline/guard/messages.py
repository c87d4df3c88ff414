"""What the guard says: the words of a preset, filled with the figures of a reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brimline.gauge.reading import Reading
    from brimline.guard.ceiling import Ceiling, Load

_TIERS_TUNE = "Tiers are set by `guard.tiers` (see `brimline config explain`)."
_CEILING_TUNE = (
    "Tune: `guard.ceiling` (warn, strict, off), `guard.ceiling_percent`, `guard.ceiling_tokens`."
)
_WINDOW_FROM = {
    "config": "your configuration",
    "statusline": "the status line",
    "settings": "the client's settings",
    "observed": "what was observed",
    "model": "the model's name, unverified",
    "default": "the default, unverified",
}
# How preset `adr11` calls where a window is known from; everything else was detected.
_PROVENANCE = {"config": "override", "default": "default"}


def tier(words: dict[str, str], reading: Reading, *, first: bool) -> str:
    """The announcement of a tier, or what is said while it lasts."""
    why = ", one up because it fills fast" if reading.raised else ""
    name = reading.tier_name or ""
    template = words.get(name, words["other"])
    return (template if first else words.get("again", template)).format_map(
        _figures(reading)
        | {
            "head": f"[brimline] Context tier L{reading.tier} {name}{why}.",
            "tune": _TIERS_TUNE,
            "figures": _distance(reading),
        }
    )


def over(
    words: dict[str, Any],
    load: Load,
    reading: Reading,
    ceiling: Ceiling,
    band: int,
    excuse: str | None = None,
) -> str:
    """Advice on a load over the ceiling; a refusal where there is not even an excuse to give."""
    fields = _figures(reading) | {
        "load": load.label,
        "ceiling": ceiling.tokens,
        "bound": ceiling.bound,
        "provenance": _PROVENANCE.get(reading.window.source, "detected"),
        "excuse": words["excuse"].format(why=excuse) if excuse else "",
        "tune": _CEILING_TUNE,
        "knobs": words.get("knobs", ""),
        "figures": f"{_in_use(reading)} ({reading.used_ratio or 0:.0%}; window from: "
        f"{reading.window.source}), ceiling {ceiling.tokens:,} ({ceiling.bound} bound).",
    }
    fields["diagnostic"] = words.get("diagnostic", "").format_map(fields)
    note: str = words["notes"][band - 1].format_map(fields)
    if excuse is not None:
        return note
    refusal: str = words["refusal"].format_map(fields | {"note": note})
    return refusal


def dispatch_refusal(load: Load, reading: Reading) -> str:
    """Why no agent is started in the last tier, and how to go on."""
    return (
        f"[brimline] Compaction is imminent: not {load.label}, because its result would come back "
        "into a context that has no room for it. Way out: save the state of the work, then "
        "/compact; Read, Write, Edit and Bash all work. Tune: `guard.block_dispatch_at_critical`. "
        f"{_in_use(reading)}."
    )


def _figures(reading: Reading) -> dict[str, Any]:
    """What any template may name."""
    occupancy, window = reading.occupancy_tokens or 0, reading.window.tokens
    return {
        "about": "~" if reading.is_estimate else "",
        "method": "estimated" if reading.is_estimate else "measured",
        "occupancy": occupancy,
        "window": window,
        "percent": min(100.0, 100 * occupancy / window),
        "floor": occupancy * 100 // window,
    }


def _in_use(reading: Reading) -> str:
    head = "Estimated: ~" if reading.is_estimate else "Measured: "
    return f"{head}{reading.occupancy_tokens:,} of {reading.window.tokens:,} tokens in use"


def _distance(reading: Reading) -> str:
    """The measured figures with their sources, and how long they will last."""
    margin = reading.margin_tokens or 0
    room = f"{max(0, margin):,} tokens left" if margin >= 0 else f"{-margin:,} tokens past it"
    source = "size of the session file" if reading.is_estimate else reading.measured_by
    text = (
        f"{_in_use(reading)} ({reading.used_ratio or 0:.0%}; from the {source}, "
        f"window from {_WINDOW_FROM[reading.window.source]}), about {reading.tail_tokens:,} more "
        f"in the next request, compaction expected at {reading.compaction.tokens:,}: {room}"
    )
    if reading.compaction.enforced is False:
        text += " (the client itself waits until the API refuses a request)"
    outlook = reading.forecast()
    if outlook is None or outlook.high == 0:
        return text + "."
    requests = "request" if outlook.ops == 1 else "requests"
    return f"{text}, about {outlook.ops} {requests} ({outlook.low} to {outlook.high})."
