"""What the gate says: the figure, its source, what to do next, how to tune it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brimline.gauge.reading import Reading
    from brimline.guard.ceiling import Load, Verdict

_ADVICE = {
    1: "It may go ahead; where the work allows it, finish or save what is open first, and prefer "
    "what is loaded already.",
    2: "It may go ahead, but the context is well over its ceiling: save the state of the work, "
    "then consider /compact or a fresh session before loading more.",
    3: "It may go ahead, but the context is far over its ceiling: every further load brings "
    "compaction nearer. Save the state of the work now; /compact or a fresh session is the way "
    "back.",
}
_WAY_OUT = (
    "Way out: write the state of the work to a file and run /compact, or continue in a fresh "
    "session; skills named in `guard.recovery_skills` always pass."
)
_TUNE = (
    "Tune: `guard.ceiling` (warn, strict, off), `guard.ceiling_percent`, `guard.ceiling_tokens`."
)


def ceiling_note(load: Load, verdict: Verdict, reading: Reading) -> str:
    """Advice on, or refusal of, a load over the ceiling."""
    if verdict.refuse:
        head = f"[brimline] Over the context ceiling: not {load.label}. {_WAY_OUT} {_TUNE}"
    else:
        excuse = f" [not blocked: {verdict.excuse}]" if verdict.excuse else ""
        advice = _ADVICE[verdict.band]
        head = f"[brimline] Over the context ceiling before {load.label}.{excuse} {advice} {_TUNE}"
    return f"{head} {_figures(verdict, reading)}"


def dispatch_refusal(load: Load, reading: Reading) -> str:
    """Why no agent is started in the last tier, and how to go on."""
    return (
        f"[brimline] Compaction is imminent: not {load.label}, because its result would come back "
        "into a context that has no room for it. Way out: save the state of the work, then "
        "/compact; Read, Write, Edit and Bash all work. Tune: `guard.block_dispatch_at_critical`. "
        f"{_in_use(reading)}."
    )


def _figures(verdict: Verdict, reading: Reading) -> str:
    return (
        f"{_in_use(reading)} ({reading.used_ratio or 0:.0%}; window from: "
        f"{reading.window.source}), ceiling {verdict.ceiling.tokens:,} "
        f"({verdict.ceiling.bound} bound)."
    )


def _in_use(reading: Reading) -> str:
    head = "Estimated: ~" if reading.is_estimate else "Measured: "
    return f"{head}{reading.occupancy_tokens:,} of {reading.window.tokens:,} tokens in use"
