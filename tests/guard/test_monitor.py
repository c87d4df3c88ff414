"""The tiers: once per climb, again after a drop, never because of a stale reading."""

from __future__ import annotations

import pytest

from brimline.gauge.reading import Reading, make_reading
from brimline.guard.monitor import REARM_POINTS, decide
from brimline.policy import Policy
from brimline.settings import defaults
from brimline.state.session import SessionState
from brimline.testing import SessionBuilder
from brimline.transcript.tail import read_tail

# Tokens in a window of 200,000 (compaction at 167,000) that lie in the middle of each tier.
CALM, WARNING, ADVISORY, ALERT, CRITICAL = 60_000, 120_000, 145_000, 157_000, 165_000


def test_each_tier_speaks_once_per_climb(session: SessionBuilder, home_dir: str) -> None:
    """However often a tier is measured, the model hears of it once."""
    spoken = [
        _spoken(session, home_dir, tokens)
        for tokens in (CALM, WARNING, WARNING + 500, ADVISORY, ADVISORY, ALERT, CRITICAL, CRITICAL)
    ]

    assert spoken == [None, 1, None, 2, None, 3, 4, None]


def test_a_drop_arms_the_tiers_again(session: SessionBuilder, home_dir: str) -> None:
    """After a compaction the next climb is announced from its first tier on."""
    assert [_spoken(session, home_dir, t) for t in (WARNING, ADVISORY)] == [1, 2]
    session.compact(167_000)

    assert [_spoken(session, home_dir, t) for t in (CALM, WARNING, ADVISORY)] == [None, 1, 2]


def test_a_small_drop_arms_only_what_was_left(session: SessionBuilder, home_dir: str) -> None:
    """From L3 back to L1: L2 and L3 may speak again, L1 may not."""
    climb = (WARNING, ADVISORY, ALERT, WARNING, ADVISORY, ALERT)

    assert [_spoken(session, home_dir, tokens) for tokens in climb] == [1, 2, 3, None, 2, 3]


def test_wavering_around_a_threshold_says_nothing_new(
    session: SessionBuilder, home_dir: str
) -> None:
    """The estimated part of a reading moves from call to call; that is no drop."""
    just_inside, just_outside = 107_000, 107_000 - REARM_POINTS * 2_000
    spoken = [_spoken(session, home_dir, t) for t in (just_inside, just_outside, just_inside)]

    assert spoken == [1, None, None]


def test_a_steep_climb_takes_the_lower_tiers_silently(
    session: SessionBuilder, home_dir: str
) -> None:
    """A jump into L3 is told as L3; L1 and L2 are not told on the way or later."""
    climb = (CALM, ALERT, ALERT, CRITICAL)

    assert [_spoken(session, home_dir, tokens) for tokens in climb] == [None, 3, None, 4]
    assert set(SessionState(home_dir, session.session_id).spoken_levels()) == {1, 2, 3, 4}


def test_a_stale_reading_arms_nothing(session: SessionBuilder, home_dir: str) -> None:
    """A hook that read the file before the others and decides after them changes nothing."""
    session.reply(CALM)
    stale = _reading(session)
    assert _spoken(session, home_dir, ALERT) == 3

    state = SessionState(home_dir, session.session_id)
    assert decide(stale, state, _policy()) is None

    assert set(SessionState(home_dir, session.session_id).spoken_levels()) == {1, 2, 3}
    assert _spoken(session, home_dir, ALERT + 100) is None


def test_an_unknown_reading_says_and_arms_nothing(session: SessionBuilder, home_dir: str) -> None:
    """Right after a compaction there is no figure to judge by."""
    assert _spoken(session, home_dir, ADVISORY) == 2
    session.compact(167_000)

    state = SessionState(home_dir, session.session_id)
    assert decide(_reading(session), state, _policy()) is None
    assert set(SessionState(home_dir, session.session_id).spoken_levels()) == {1, 2}


def test_the_off_preset_is_silent(session: SessionBuilder, home_dir: str) -> None:
    """It measures; it claims nothing either, so that switching on speaks at once."""
    session.reply(CRITICAL)
    state = SessionState(home_dir, session.session_id)
    policy = Policy(defaults() | {"guard.preset": "off"}, {}, [])

    assert decide(_reading(session), state, policy) is None
    assert _spoken(session, home_dir, CRITICAL + 10) == 4


def test_own_thresholds_move_the_tiers(session: SessionBuilder, home_dir: str) -> None:
    """The setting is in force, not its default."""
    session.reply(CALM)
    state = SessionState(home_dir, session.session_id)
    values = defaults() | {"guard.tiers": [60, 50, 40, 30]}
    policy = Policy(values, {}, [])

    decision = decide(make_reading(read_tail(session.path), None, policy), state, policy)

    assert decision is not None
    assert "L1" in decision.model_notes[0]


def test_sessions_do_not_share_their_tiers(session: SessionBuilder, home_dir: str) -> None:
    """What one session heard, another has not."""
    assert _spoken(session, home_dir, WARNING) == 1
    session.session_id = "another"

    assert _spoken(session, home_dir, WARNING) == 1


@pytest.mark.parametrize("content", [b"", b"x", b"-1", b"9" * 40])
def test_a_damaged_claim_still_counts_as_spoken(
    content: bytes, session: SessionBuilder, home_dir: str
) -> None:
    """A claim that was torn while written keeps its tier quiet, until a drop clears it."""
    assert _spoken(session, home_dir, WARNING) == 1
    state = SessionState(home_dir, session.session_id)
    with open(f"{state.folder}/spoke-L1", "wb") as file:
        file.write(content)

    assert _spoken(session, home_dir, WARNING + 10) is None


def _spoken(session: SessionBuilder, home_dir: str, tokens: int) -> int | None:
    """Let the session grow to so many tokens; which tier speaks, if any."""
    session.reply(tokens)
    decision = decide(_reading(session), SessionState(home_dir, session.session_id), _policy())
    if decision is None:
        return None
    (note,) = decision.model_notes
    assert decision.permission == ""
    assert decision.replacement is None
    return int(note.partition("tier L")[2][0])


def _reading(session: SessionBuilder) -> Reading:
    return make_reading(read_tail(session.path), None, _policy())


def _policy() -> Policy:
    return Policy(defaults(), {}, [])
