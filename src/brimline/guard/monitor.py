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

REARM_POINTS = 2


def decide(reading: Reading, state: SessionState, policy: Policy) -> Decision | None:
    """Speak when a tier is entered from below; stay silent until it was left again."""
    if reading.tier is None or policy.values["guard.preset"] == "off":
        return None
    spoken = state.spoken_levels()
    _rearm(reading, spoken, state, policy.values["guard.tiers"])
    if reading.tier == 0 or reading.tier in spoken:
        return None
    if not _claim(reading, state):
        return None
    from brimline.decision import Decision
    from brimline.guard import messages

    return Decision(model_notes=(messages.tier_note(reading),))


def _rearm(
    reading: Reading, spoken: dict[int, int], state: SessionState, thresholds: list[float]
) -> None:
    """Forget the tiers that a reading has clearly left, so that the next climb is announced again.

    The reading must be newer than the announcement: a hook that started earlier may still hold an
    older one. And the margin must be past the threshold by some points, because the part of it that
    is estimated wavers from call to call.
    """
    margin = reading.margin_points or 0.0
    for level, offset in list(spoken.items()):
        left = level <= len(thresholds) and margin > thresholds[level - 1] + REARM_POINTS
        if left and reading.offset > offset:
            state.release_level(level)
            del spoken[level]


def _claim(reading: Reading, state: SessionState) -> bool:
    """Take this tier and, silently, the ones below it, which a steep climb has skipped."""
    level = reading.tier or 0
    won = state.claim_level(level, reading.offset)
    for lower in range(1, level):
        state.claim_level(lower, reading.offset)
    return won
