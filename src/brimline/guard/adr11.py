"""Preset `adr11`: the variables it reads and the words it uses. Pure.

Malformed, zero, negative and empty values keep the default; nothing here can refuse by accident.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline.gauge.window import DEFAULT_WINDOW_TOKENS, Window, model_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from brimline.guard.ceiling import Load, Verdict

_PREFIX = "DEV_TEAM_CONTEXT_"
_OFF = "off"
_NO = ("off", "0", "false", "no")
_MOST_DIGITS = 12
_NUMBERS = {
    "guard.ceiling_percent": "CEILING_PCT",
    "guard.ceiling_tokens": "ABS_CEILING",
    "context_window": "WINDOW",
}
# Which of the two lower bands, then the top one, says what.
_ACTIONS = (
    "Consider /handoff soon: write down the state of the work and continue in a fresh context.",
    "Run /handoff now, before more is loaded.",
    "Run /handoff before anything else: the context is far over its ceiling.",
)
_TOP_BAND = 3


def apply(rules: dict[str, Any], read: Callable[[str], str | None]) -> dict[str, Any]:
    """The settings with the preset's own environment variables on top."""
    changed = dict(rules)
    for key, name in _NUMBERS.items():
        changed[key] = positive(read(_PREFIX + name)) or rules[key]
    strict = read(_PREFIX + "STRICT")
    if strict is not None and strict.strip():
        # Whoever sets the switch and misspells it wanted the refusal.
        changed["guard.ceiling"] = "warn" if strict.strip().lower() in _NO else "strict"
    if (read(_PREFIX + "CEILING") or "").strip().lower() == _OFF:
        changed["guard.ceiling"] = _OFF
    changed["guard.block_delegation"] = read(_PREFIX + "GATE_AGENT") != "warn"
    return changed


def positive(text: str | None) -> int | None:
    """A whole number above zero, or None."""
    stripped = (text or "").strip()
    plain = stripped.isascii() and stripped.isdigit() and len(stripped) <= _MOST_DIGITS
    return int(stripped) or None if plain else None


def window_for(rules: dict[str, Any], model: str | None, found: Window) -> tuple[Window, str]:
    """The window and its provenance: override, detected or default."""
    if rules["context_window"]:
        return Window(rules["context_window"], "config"), "override"
    if found.source != "default" and (found.source != "model" or model_version(model)):
        return found, "detected"
    return Window(DEFAULT_WINDOW_TOKENS, "default"), "default"


def text(
    load: Load,
    verdict: Verdict,
    occupancy: int,
    window: Window,
    provenance: str,
    *,
    estimated: bool = False,
) -> str:
    """The message: diagnostic first and knobs last; in the top band the directive leads."""
    percent = occupancy * 100 // window.tokens
    mark = "~" if estimated else ""
    diagnostic = (
        f"🪟 Context at {mark}{occupancy} of {window.tokens} tokens — over the effective ceiling "
        f"of {verdict.ceiling.tokens} tokens ({verdict.ceiling.bound} bound; window {provenance}) "
        f"before {load.label}. That is {percent}% of the window."
    )
    action = _ACTIONS[verdict.band - 1]
    knobs = (
        "Tune: DEV_TEAM_CONTEXT_CEILING_PCT, DEV_TEAM_CONTEXT_ABS_CEILING, "
        "DEV_TEAM_CONTEXT_WINDOW; DEV_TEAM_CONTEXT_CEILING=off disables it."
    )
    lines = [action, diagnostic] if verdict.band == _TOP_BAND else [diagnostic, action, knobs]
    if verdict.excuse:
        lines.append(f"[not blocked: {verdict.excuse}]")
    if verdict.refuse:
        lines.append(
            "[blocked: context ceiling] Run /handoff or another recovery skill "
            "(context-summarization, continue): those are never gated. "
            "DEV_TEAM_CONTEXT_STRICT=off warns instead."
        )
    return "\n".join(lines)
