"""The tiers: once per climb, again after a drop, never because of a stale reading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline import paths, presets
from brimline.gauge.reading import Reading, make_reading
from brimline.guard.monitor import REARM_POINTS, decide
from brimline.policy import Policy
from brimline.settings import defaults
from brimline.state.session import SessionState
from brimline.transcript.tail import read_tail

if TYPE_CHECKING:
    from brimline.decision import Decision
    from brimline.testing import SessionBuilder

# Tokens in a window of 200,000 (compaction at 167,000) that lie in the middle of each tier.
CALM, WARNING, ADVISORY, ALERT, CRITICAL = 60_000, 120_000, 145_000, 157_000, 165_000


@pytest.mark.row("S4-19")
def test_each_tier_speaks_once_per_climb(session: SessionBuilder, home_dir: str) -> None:
    """However often a tier is measured, the model hears of it once; only the last one goes on."""
    spoken = [
        _spoken(session, home_dir, tokens)
        for tokens in (CALM, WARNING, WARNING + 500, ADVISORY, ADVISORY, ALERT, CRITICAL, CRITICAL)
    ]

    assert spoken == [None, 1, None, 2, None, 3, 4, 4]


@pytest.mark.row("S4-47")
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

    assert _decide(stale, session, home_dir) is None

    assert set(SessionState(home_dir, session.session_id).spoken_levels()) == {1, 2, 3}
    assert _spoken(session, home_dir, ALERT + 100) is None


@pytest.mark.row("S1-06", "S1-07", "S1-08")
def test_an_unknown_reading_says_and_arms_nothing(session: SessionBuilder, home_dir: str) -> None:
    """Right after a compaction there is no figure to judge by."""
    assert _spoken(session, home_dir, ADVISORY) == 2
    session.compact(167_000)

    assert _decide(_reading(session), session, home_dir) is None
    assert set(SessionState(home_dir, session.session_id).spoken_levels()) == {1, 2}


def test_the_off_preset_is_silent(session: SessionBuilder, home_dir: str) -> None:
    """It measures; it claims nothing either, so that switching on speaks at once."""
    session.reply(CRITICAL)
    policy = Policy(defaults() | {"guard.preset": "off"}, {}, [])

    assert _decide(_reading(session), session, home_dir, policy) is None
    assert _spoken(session, home_dir, CRITICAL + 10) == 4


@pytest.mark.row("S1-17")
@pytest.mark.row("S4-13")
def test_own_thresholds_move_the_tiers(session: SessionBuilder, home_dir: str) -> None:
    """The setting is in force, not its default."""
    session.reply(CALM)
    values = defaults() | {"guard.tiers": [60, 50, 40, 30]}
    policy = Policy(values, {}, [])

    reading = make_reading(read_tail(session.path), None, policy)
    decision = _decide(reading, session, home_dir, policy)

    assert decision is not None
    assert "L1" in decision.model_notes[0]


@pytest.mark.parametrize("level", [3, 4])
@pytest.mark.row("S1-18")
def test_a_high_tier_saves_the_last_prompts_by_itself(
    level: int, session: SessionBuilder, home_dir: str
) -> None:
    """Compaction may come before the model acts on the note; half an emoji is no obstacle."""
    prompt = {"role": "user", "content": "never touch prod_db \ud83d"}
    session.raw(json.dumps({"type": "user", "message": prompt, "isSidechain": False}) + "\n")
    folder = SessionState(home_dir, session.session_id).folder

    assert _spoken(session, home_dir, ADVISORY) == 2
    assert not Path(f"{folder}/checkpoint.json").exists()
    assert _spoken(session, home_dir, {3: ALERT, 4: CRITICAL}[level]) == level

    saved = json.loads(Path(f"{folder}/checkpoint.json").read_bytes())
    assert "never touch prod_db" in str(saved["last_prompts"])
    assert saved["reading"]["tier"] == level


def test_an_announcement_is_on_record(session: SessionBuilder, home_dir: str) -> None:
    """The session's spool and the audit trail both name the tier."""
    assert _spoken(session, home_dir, ADVISORY) == 2

    state = SessionState(home_dir, session.session_id)
    assert state.last_line("Announced")["spoke"] == 2
    (line,) = Path(paths.audit_log(home_dir)).read_text().splitlines()
    assert json.loads(line)["level"] == 2


@pytest.mark.parametrize(
    ("preset", "event", "spoken"),
    [
        ("haios-80", "UserPromptSubmit", [False, True, True]),
        ("haios-80", "PostToolUse", [False, False, False]),
        ("ccm-70-80-90", "PostToolUse", [True, True, False]),
        ("ccm-70-80-90", "UserPromptSubmit", [False, False, False]),
        ("adr11", "PostToolUse", [False, False, False]),
        ("off", "PostToolUse", [False, False, False]),
    ],
)
def test_presets_speak_where_and_as_often_as_their_sources(
    preset: str, event: str, spoken: list[bool], session: SessionBuilder, home_dir: str
) -> None:
    """At 75 %, then twice at 85 % of the window."""
    values = defaults() | {"guard.preset": preset}
    presets.fill(values, defaults(), {"guard.preset"})
    policy = Policy(values, {}, [])
    heard = []
    for tokens in (150_000, 170_000, 170_500):
        session.reply(tokens)
        reading = make_reading(read_tail(session.path), None, policy)
        heard.append(_decide(reading, session, home_dir, policy, event) is not None)

    assert heard == spoken


def test_at_the_end_of_a_turn_the_person_is_told(session: SessionBuilder, home_dir: str) -> None:
    """Context given to the model there would make it go on."""
    values = defaults() | {"guard.preset": "ccm-70-80-90"}
    presets.fill(values, defaults(), {"guard.preset"})
    policy = Policy(values, {}, [])
    session.reply(170_000)
    reading = make_reading(read_tail(session.path), None, policy)

    decision = _decide(reading, session, home_dir, policy, "Stop")

    assert decision is not None
    assert decision.model_notes == ()
    assert "85" in decision.person_notes[0]


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
    decision = _decide(_reading(session), session, home_dir)
    if decision is None:
        return None
    (note,) = decision.model_notes
    assert decision.permission == ""
    assert decision.replacement is None
    return int(note.partition("tier L")[2][0])


def _decide(
    reading: Reading,
    session: SessionBuilder,
    home_dir: str,
    policy: Policy | None = None,
    event: str = "PostToolUse",
) -> Decision | None:
    reading.transcript = session.path
    state = SessionState(home_dir, session.session_id)
    return decide(event, reading, state, policy or _policy(), home_dir)


def _reading(session: SessionBuilder) -> Reading:
    return make_reading(read_tail(session.path), None, _policy())


def _policy() -> Policy:
    """The defaults without the velocity rule: the sessions here grow in leaps."""
    return Policy(defaults() | {"guard.velocity_points": 0}, {}, [])
