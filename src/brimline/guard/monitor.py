"""The tiers: which one a reading is in, and whether that is news.

Fast path: imports nothing; the texts are loaded when a tier speaks.
"""

from __future__ import annotations


TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.decision import Decision
    from brimline.gauge.reading import Reading
    from brimline.policy import Policy
    from brimline.state.session import SessionState


def decide(reading: Reading, state: SessionState, policy: Policy) -> Decision | None:
    """Speak when a tier is entered from below; stay silent until it was left again."""
    if reading.tier is None or policy.values["guard.preset"] == "off":
        return None
    spoken = state.spoken_levels()
    _rearm(reading, spoken, state)
    if reading.tier == 0 or reading.tier in spoken:
        return None
    if not _claim(reading, state):
        return None
    from brimline.decision import Decision
    from brimline.guard import messages

    return Decision(model_notes=(messages.tier_note(reading),))


def _rearm(reading: Reading, spoken: dict[int, int], state: SessionState) -> None:
    """Forget the tiers above a reading that is newer than their announcement.

    A hook that started earlier may still hold an older reading; it must not re-arm anything.
    """
    for level, offset in list(spoken.items()):
        if level > (reading.tier or 0) and reading.offset > offset:
            state.release_level(level)
            del spoken[level]


def _claim(reading: Reading, state: SessionState) -> bool:
    """Take this tier and, silently, the ones below it, which a steep climb has skipped."""
    level = reading.tier or 0
    won = state.claim_level(level, reading.offset)
    for lower in range(1, level):
        state.claim_level(lower, reading.offset)
    return won
