"""The words of the presets that speak differently from the default. Pure."""

from __future__ import annotations

_CCM = (
    ("📊 NOTE", "/purge available if needed."),
    ("⚠️ WARNING", "Consider running /purge soon."),
    ("⚠️ CRITICAL", "Run /purge NOW or compaction is imminent!"),
)


def haios(percent: float) -> str:
    """The one line of preset `haios-80`."""
    shown = min(100.0, percent)
    return f"CONTEXT: ~{shown:.0f}% used. Consider /new-checkpoint before context exhaustion."


def ccm(level: int, percent: float, tokens: int, method: str) -> str:
    """A note of preset `ccm-70-80-90`; further thresholds speak like the last of the three."""
    head, action = _CCM[min(level, len(_CCM)) - 1]
    return f"{head}: Context at {percent:.0f}% (~{tokens} tokens, {method}). {action}"
