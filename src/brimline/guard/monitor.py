"""The tiers: whether the one a reading is in is news, and what follows from it.

Fast path: imports nothing at module level; it is loaded only once a tier was reached.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.decision import Decision
    from brimline.gauge.reading import Reading
    from brimline.policy import Policy
    from brimline.presets import Preset
    from brimline.state.session import SessionState

# The estimated part of a reading wavers from call to call; a tier is left only past this much.
REARM_POINTS = 2
# In this many of the last tiers the hook writes a checkpoint by itself.
CHECKPOINT_TIERS = 2


def decide(
    event: str, reading: Reading, state: SessionState, policy: Policy, home_dir: str
) -> Decision | None:
    """Speak when a tier is entered from below; stay silent until it was left again.

    Where the preset says so, the last tier goes on speaking, and a preset may repeat every tier.
    """
    from brimline import presets

    preset = presets.named(policy.values["guard.preset"])
    if reading.tier is None or not preset.voice:
        return None
    _rearm(reading, state, policy)
    if reading.tier == 0 or event not in preset.events:
        return None
    won = _claim(reading, state)
    lasting = preset.persistent and reading.tier == reading.tier_count > 1
    if won or lasting:
        _record(reading, state, home_dir, escalated=won)
    if not (won or lasting or preset.repeats):
        return None
    return _decision(event, reading, preset, first=won)


def _rearm(reading: Reading, state: SessionState, policy: Policy) -> None:
    """Forget the tiers that a reading has clearly left, so that the next climb is announced again.

    The reading must be newer than the announcement: a hook that started earlier may still hold an
    older one. A tier that steep growth holds up is not left, wherever the reading stands.
    """
    from brimline.gauge import tiers

    thresholds, unit = policy.values["guard.tiers"], policy.values["guard.tier_unit"]
    at = tiers.position(reading, unit)
    if at is None:
        return
    for level, offset in state.spoken_levels().items():
        if level <= (reading.tier or 0):
            continue
        left = tiers.has_left(at, level, thresholds, unit, REARM_POINTS, reading.window.tokens)
        if left and reading.offset > offset:
            state.release_level(level)


def _claim(reading: Reading, state: SessionState) -> bool:
    """Take this tier and, silently, the ones below it, which a steep climb has skipped."""
    level = reading.tier or 0
    won = state.claim_level(level, reading.offset)
    for lower in range(1, level):
        state.claim_level(lower, reading.offset)
    return won


def _record(reading: Reading, state: SessionState, home_dir: str, *, escalated: bool) -> None:
    """Leave a trace of what is said, and a checkpoint in the last two tiers; none may stop it."""
    from brimline.state import audit
    from brimline.state.failures import guarded

    level, name, figures = reading.tier or 0, reading.tier_name or "", reading.figures()
    if escalated:
        guarded(home_dir, "spool", lambda: state.add_line("Announced", {"spoke": level}))
        guarded(
            home_dir,
            "audit",
            lambda: audit.record_escalation(home_dir, state.session_id, figures, level, name),
        )


def _decision(event: str, reading: Reading, preset: Preset, *, first: bool) -> Decision:
    from brimline.decision import Decision
    from brimline.guard import messages

    text = messages.spoken(preset.voice, reading, first=first)
    if event == "Stop":
        # Context added there would make the model go on; the person is told instead.
        return Decision(person_notes=(text,))
    return Decision(model_notes=(text,))
