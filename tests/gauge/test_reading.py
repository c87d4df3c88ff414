"""One measurement: transcript, status line and settings put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline import clock
from brimline.fast.policy import Policy
from brimline.gauge.reading import Reading, make_reading, measure
from brimline.gauge.tiers import NAMES, position
from brimline.settings import defaults
from brimline.state.session import SessionState, Snapshot
from brimline.testing import SessionBuilder, text_block
from brimline.transcript.tail import Tail, read_tail

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.row("S1-16")
@pytest.mark.row("S0-03")
def test_projected_is_occupancy_plus_tail(session: SessionBuilder) -> None:
    """The reply's output and the results since are what the next request adds."""
    call = session.tool_call(100_000, output_tokens=500)
    session.tool_result(call, "x" * 2_850)

    reading = _reading(session)

    assert reading.occupancy_tokens == 100_000
    assert reading.tail_tokens == 500 + 1_000
    assert reading.projected_tokens == 101_500
    assert reading.compaction.tokens == 167_000
    assert reading.margin_tokens == 65_500
    assert reading.used_ratio == 0.5
    assert reading.measured_by == "transcript"
    assert reading.measured_at is not None


def test_newer_models_make_more_tokens_of_the_same_text(session: SessionBuilder) -> None:
    """Their tokenizer packs fewer characters into one."""
    session.model = "claude-opus-5"
    session.reply(100_000, output_tokens=0)
    session.tool_result("toolu_1", "x" * 2_201)

    assert _reading(session).tail_tokens == 1_000 + len("Done.") // 4


def test_a_reply_without_output_count_is_estimated_from_its_text(session: SessionBuilder) -> None:
    """The larger of what was counted and what was written is taken."""
    session.reply(100_000, text_block("x" * 4_000), output_tokens=3)

    assert _reading(session).tail_tokens == 1_000


@pytest.mark.row("S1-16")
def test_the_event_at_hand_is_added(session: SessionBuilder) -> None:
    """At PostToolUse the result is not in the file yet."""
    session.reply(100_000, output_tokens=100)

    assert _reading(session, added_characters=2_850).tail_tokens == 1_100


@pytest.mark.row("S4-12")
@pytest.mark.parametrize(
    ("points", "tier"),
    [(31, 0), (30, 1), (16, 1), (15, 2), (8, 2), (7, 3), (4, 3), (3, 4), (0, 4), (-5, 4)],
)
def test_a_threshold_belongs_to_the_tier_it_opens(
    points: int, tier: int, session: SessionBuilder
) -> None:
    """Measured in points of the window between the projected request and the compaction point."""
    projected = 167_000 - points * 2_000
    session.reply(projected - 200, output_tokens=200)

    reading = _reading(session)

    assert position(reading, "to_compaction") == points
    assert reading.tier == tier
    assert reading.tier_name == NAMES[tier]


@pytest.mark.row("S4-12", "S4-24")
@pytest.mark.row("S4-21")
def test_a_hair_above_a_threshold_is_still_the_tier_before(session: SessionBuilder) -> None:
    """One token makes the difference."""
    session.reply(107_000 - 200 - 1, output_tokens=200)
    assert _reading(session).tier == 0

    session.reply(107_000 - 200, output_tokens=200)
    assert _reading(session).tier == 1


@pytest.mark.parametrize(
    ("unit", "thresholds", "tiers"),
    [
        ("used", [70, 80, 90], [0, 0, 1, 1, 2, 3]),
        ("remaining", [30, 20, 10], [0, 0, 1, 1, 2, 3]),
        ("tokens", [100_100, 150_100], [0, 1, 1, 2, 2, 2]),
        ("to_compaction", [30], [0, 0, 1, 1, 1, 1]),
    ],
)
def test_a_ladder_can_stand_in_any_unit(
    unit: str, thresholds: list[float], tiers: list[int], session: SessionBuilder
) -> None:
    """Percent used or remaining as the client counts them, tokens and points as projected."""
    values = defaults() | {
        "guard.tiers": thresholds,
        "guard.tier_unit": unit,
        "guard.velocity_points": 0,
    }
    found = []
    for tokens in (99_999, 100_000, 140_000, 150_000, 160_000, 180_000):
        session.reply(tokens, output_tokens=100)
        tail = read_tail(session.path)
        found.append(make_reading(tail, None, Policy(values, {}, [])).tier)

    assert found == tiers


@pytest.mark.parametrize(
    ("growth", "tier"), [(9_999, 1), (10_000, 2), (30_000, 2)], ids=["slow", "steep", "steeper"]
)
@pytest.mark.row("S4-14", "S4-15", "S4-39")
def test_steep_growth_raises_the_tier_by_one(
    growth: int, tier: int, session: SessionBuilder
) -> None:
    """From five points of the window per request over the last three; calm stays calm."""
    for back in (3, 2, 1, 0):
        session.reply(115_000 - back * growth, output_tokens=100)

    assert _reading(session).tier == tier


def test_steep_growth_alone_is_no_tier(session: SessionBuilder) -> None:
    """Far from the brim nothing is announced, however fast; nor is there a fifth tier."""
    for tokens in (20_000, 40_000, 60_000, 80_000):
        session.reply(tokens)
    assert _reading(session).tier == 0

    for tokens in (100_000, 130_000, 166_000):
        session.reply(tokens)
    assert _reading(session).tier == 4


def test_a_learned_point_is_used_for_its_window_and_settings(session: SessionBuilder) -> None:
    """Where this user's client compacted by itself before, under the same settings."""
    session.reply(100_000)
    learned = {"points": {"200000:200000": 155_000, "200000:150000": 99_000}}
    policy = Policy(defaults(), {}, [], learned=learned)

    reading = make_reading(read_tail(session.path), None, policy)

    assert (reading.compaction.tokens, reading.compaction.source) == (155_000, "learned")


@pytest.mark.row("S1-02")
def test_an_estimate_is_made_only_when_asked_for(
    session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """A session without usage rows is unknown, or guessed from its size and marked as a guess."""
    session.raw(b"x" * 39_999 + b"\n")
    state = SessionState(home_dir, session.session_id)
    assert measure(session.path, state, _policy()).occupancy_tokens is None

    asked = Policy(defaults() | {"measure.estimate": "size"}, {}, [])
    reading = measure(session.path, state, asked)
    assert reading.is_estimate
    assert reading.occupancy_tokens == 10_000

    session.compact(167_000)
    assert measure(session.path, state, asked).occupancy_tokens is None
    assert measure(str(world / "missing"), state, asked).occupancy_tokens is None


@pytest.mark.row("S4-12")
def test_points_are_points_of_the_effective_window(session: SessionBuilder) -> None:
    """With an auto-compact window set, its size is the measure, not the model's."""
    session.reply(50_000, output_tokens=200)
    policy = Policy(defaults(), {"autocompact_window": 100_000}, [])

    reading = make_reading(read_tail(session.path), None, policy)

    assert reading.compaction.tokens == 67_000
    assert position(reading, "to_compaction") == pytest.approx(16.8)
    assert reading.used_ratio == 0.25


@pytest.mark.row("S1-08")
def test_an_empty_session_is_unknown_not_empty() -> None:
    """Before the first reply every figure but the window is None."""
    reading = make_reading(Tail(), None, _policy())

    assert reading.occupancy_tokens is None
    assert reading.used_ratio is None
    assert reading.margin_tokens is None
    assert reading.tier is None
    assert reading.measured_by is None
    assert reading.velocity() is None
    assert reading.forecast() is None
    assert (reading.window.tokens, reading.window.source) == (200_000, "default")


def test_a_newer_status_line_wins(session: SessionBuilder) -> None:
    """It knows a request that the transcript does not hold yet."""
    session.reply(100_000)
    snapshot = Snapshot(
        at=session.now + 5, window_tokens=200_000, occupancy_tokens=120_000, output_tokens=70
    )

    reading = _reading(session, snapshot)

    assert reading.occupancy_tokens == 120_000
    assert reading.tail_tokens == 70
    assert reading.measured_by == "statusline"
    assert reading.measured_at == clock.format_utc(session.now + 5)


def test_a_newer_status_line_of_the_same_request_keeps_the_transcripts_tail(
    session: SessionBuilder,
) -> None:
    """Both saw the same reply; the results since are in the file."""
    session.reply(100_000, output_tokens=100)
    session.tool_result("toolu_1", "x" * 2_850)
    snapshot = Snapshot(at=session.now + 5, occupancy_tokens=100_000, output_tokens=100)

    assert _reading(session, snapshot).tail_tokens == 1_100


@pytest.mark.parametrize("age", [0.0, 1.0, 500.0])
def test_an_older_status_line_loses(session: SessionBuilder, age: float) -> None:
    """The transcript has moved on; only the window it told stays true."""
    session.reply(100_000)
    snapshot = Snapshot(at=session.now - age, window_tokens=1_000_000, occupancy_tokens=90_000)

    reading = _reading(session, snapshot)

    assert reading.occupancy_tokens == 100_000
    assert reading.measured_by == "transcript"
    assert (reading.window.tokens, reading.window.source) == (1_000_000, "statusline")


@pytest.mark.parametrize("occupancy", [None, 0])
def test_a_status_line_without_figures_is_no_reading(
    session: SessionBuilder, occupancy: int | None
) -> None:
    """Null before the first reply and zero after `/compact` mean unknown."""
    session.reply(100_000)
    snapshot = Snapshot(at=session.now + 5, occupancy_tokens=occupancy)

    assert _reading(session, snapshot).occupancy_tokens == 100_000


def test_a_row_without_a_usable_time_is_not_overruled(session: SessionBuilder) -> None:
    """Where nobody can tell which is newer, the transcript counts."""
    session.reply(100_000, timestamp="yesterday")
    snapshot = Snapshot(at=session.now + 5, occupancy_tokens=90_000)

    assert _reading(session, snapshot).occupancy_tokens == 100_000


@pytest.mark.row("S3-40")
@pytest.mark.parametrize("legacy", [False, True])
def test_after_a_compaction_the_occupancy_is_unknown(session: SessionBuilder, legacy: bool) -> None:
    """Neither the old figure nor zero: None, until somebody knows."""
    session.reply(166_000)
    before = Snapshot(at=session.now + 0.5, window_tokens=200_000, occupancy_tokens=166_000)
    session.compact(167_000, legacy=legacy)

    assert _reading(session, before).occupancy_tokens is None
    assert _reading(session, before).tier is None

    after = Snapshot(at=session.now + 5, window_tokens=200_000, occupancy_tokens=48_000)
    reading = _reading(session, after)
    assert reading.occupancy_tokens == 48_000
    assert reading.tier == 0


def test_a_boundary_without_a_time_lets_no_old_figure_through(session: SessionBuilder) -> None:
    """A status line that may be older than the compaction is not believed."""
    session.reply(166_000)
    session.row("system", subtype="compact_boundary", timestamp=None)
    snapshot = Snapshot(at=session.now + 5, occupancy_tokens=166_000)

    assert _reading(session, snapshot).occupancy_tokens is None


def test_a_status_line_alone_is_enough() -> None:
    """Its figures stand where there is no transcript at all."""
    snapshot = Snapshot(at=5.0, window_tokens=1_000_000, occupancy_tokens=250_000, model="claude")

    reading = make_reading(Tail(), snapshot, _policy())

    assert reading.used_ratio == 0.25
    assert reading.model == "claude"


@pytest.mark.row("S0-28", "S2-20")
def test_a_configured_window_and_point_are_used(session: SessionBuilder) -> None:
    """The user's settings are the first source for both."""
    session.reply(100_000)
    values = defaults() | {"context_window": 500_000, "compaction_tokens": 400_000}

    reading = make_reading(read_tail(session.path), None, Policy(values, {}, []))

    assert (reading.window.tokens, reading.window.source) == (500_000, "config")
    assert (reading.compaction.tokens, reading.compaction.source) == (400_000, "config")


def test_a_window_once_observed_is_remembered(session: SessionBuilder, home_dir: str) -> None:
    """After a compaction the occupancy is small again, the window is not."""
    session.reply(250_000)
    assert _measured(session, home_dir).window.source == "observed"

    session.compact(900_000)
    session.reply(40_000)
    later = _measured(session, home_dir)

    assert (later.window.tokens, later.window.source) == (1_000_000, "observed")
    assert SessionState(home_dir, session.session_id).observed_window() == 1_000_000


def test_nothing_is_remembered_of_a_window_that_is_known_otherwise(
    session: SessionBuilder, home_dir: str
) -> None:
    """A configured window needs no proof on disk."""
    session.reply(250_000)
    policy = Policy(defaults() | {"context_window": 1_000_000}, {}, [])

    measure(session.path, SessionState(home_dir, session.session_id), policy)

    assert SessionState(home_dir, session.session_id).observed_window() is None


@pytest.mark.row("S0-22", "S1-06", "S1-07")
def test_a_transcript_that_does_not_exist_yet_is_an_empty_session(
    home_dir: str, world: Path
) -> None:
    """At the first prompt the client has not written it."""
    state = SessionState(home_dir, "abc")

    assert measure(str(world / "later.jsonl"), state, _policy()).occupancy_tokens is None
    assert measure(None, state, _policy()).occupancy_tokens is None
    with pytest.raises(OSError, match="not a regular file"):
        measure(str(world), state, _policy())


@pytest.mark.row("S0-28")
def test_the_saved_status_line_is_used_by_hooks(session: SessionBuilder, home_dir: str) -> None:
    """What the status line stored serves the next hook of the session, and no other's."""
    session.reply(100_000)
    snapshot = Snapshot(at=session.now + 5, window_tokens=1_000_000, occupancy_tokens=110_000)
    SessionState(home_dir, session.session_id).save_snapshot(snapshot)

    reading = _measured(session, home_dir)
    assert reading.occupancy_tokens == 110_000
    assert reading.window.source == "statusline"

    session.session_id = "another"
    assert _measured(session, home_dir).occupancy_tokens == 100_000


@pytest.mark.row("S4-37")
def test_history_and_velocity_come_oldest_first(session: SessionBuilder, home_dir: str) -> None:
    """The growth of the last requests is known where it was asked for."""
    for tokens in (50_000, 51_000, 53_000, 56_000):
        session.reply(tokens)

    reading = measure(
        session.path, SessionState(home_dir, session.session_id), _policy(), requests=60
    )

    assert reading.history == [50_000, 51_000, 53_000, 56_000]
    assert reading.velocity() == 2_000
    outlook = reading.forecast()
    assert outlook is not None
    assert outlook.low <= outlook.ops <= outlook.high


def _policy() -> Policy:
    return Policy(defaults(), {}, [])


def _reading(
    session: SessionBuilder, snapshot: Snapshot | None = None, added_characters: int = 0
) -> Reading:
    tail = read_tail(session.path)
    return make_reading(tail, snapshot, _policy(), added_characters=added_characters)


def _measured(session: SessionBuilder, home_dir: str) -> Reading:
    return measure(session.path, SessionState(home_dir, session.session_id), _policy())
