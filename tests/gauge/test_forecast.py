"""How many operations are left, and how sure that is."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.gauge.forecast import (
    Prior,
    family_of,
    forecast,
    log_speed,
    prior_for,
    summarise,
    velocity,
)

READINGS = st.lists(st.integers(), min_size=2, max_size=60)
REALISTIC = st.lists(st.integers(10_000, 1_000_000), min_size=2, max_size=60)
TOKENS_LEFT = st.integers(1, 2_000_000)
PRIORS = st.builds(Prior, st.floats(100, 20_000), st.floats(0.5, 2.0))


def uneven(growth_tokens: int, requests: int = 31, start: int = 80_000) -> list[int]:
    """Occupancies of a session that grows by this much on average, in small steps and large."""
    readings = [start]
    for index in range(requests - 1):
        readings.append(readings[-1] + growth_tokens * (9 if index % 2 else 1) // 5)
    return readings


def figures(occupancies: list[int], tokens_left: float, prior: Prior) -> tuple[int, int, int]:
    """The three figures of a forecast that must exist."""
    answer = forecast(occupancies, tokens_left, prior)
    assert answer is not None
    return answer.low, answer.ops, answer.high


@pytest.mark.parametrize("occupancies", [[], [50_000]])
def test_there_is_no_forecast_before_the_second_reading(occupancies: list[int]) -> None:
    """One reading has no growth, and none has nothing."""
    assert forecast(occupancies, 60_000, prior_for(None)) is None
    assert velocity(occupancies) is None


@pytest.mark.row("S4-37")
@pytest.mark.parametrize("tokens_left", [0, -1, -50_000])
def test_at_or_over_the_point_no_operation_is_left(tokens_left: int) -> None:
    """The compaction is due whatever the speed."""
    assert figures(uneven(1_000), tokens_left, prior_for(None)) == (0, 0, 0)


def test_two_equal_readings_are_answered_from_the_prior_alone() -> None:
    """The same request read twice says nothing about growth, and is no reason for silence."""
    low, ops, high = figures([100_000, 100_000], 60_000, Prior(1_000, 1.0))

    assert 55 <= ops <= 75
    assert low < ops < high


def test_a_burst_of_growth_moves_the_forecast_far_less_than_the_last_three_requests_would() -> None:
    """Three requests at ten times the usual speed do not mean a tenth of the operations."""
    calm = uneven(1_000)
    burst = [*calm, *[calm[-1] + 10_000 * step for step in (1, 2, 3)]]
    prior = Prior(1_000, 1.0)

    _, usual, _ = figures(calm, 60_000, prior)
    _, after, _ = figures(burst, 60_000, prior)

    assert 0.8 * usual < after < usual


@pytest.mark.row("S4-37", "S4-39")
def test_a_session_s_own_speed_counts_for_more_close_to_the_point() -> None:
    """What happens now tells about the next few operations, not about the next hour."""
    prior = Prior(1_000, 1.0)

    def slowdown(tokens_left: int) -> float:
        _, slow, _ = figures(uneven(250), tokens_left, prior)
        _, usual, _ = figures(uneven(1_000), tokens_left, prior)
        return slow / usual

    assert slowdown(8_000) > slowdown(60_000) > slowdown(600_000) > 1


def test_the_interval_is_relatively_wider_close_to_the_point() -> None:
    """A single large result decides over the last few operations and averages out over many."""
    widths = []
    for tokens_left in (10_000, 60_000, 800_000):
        low, ops, high = figures(uneven(1_000), tokens_left, Prior(1_000, 1.0))
        widths.append((high - low) / ops)

    assert widths[0] > widths[1] > widths[2] > 0.2


def test_sessions_that_differ_more_widen_the_interval_and_leave_its_middle() -> None:
    """Spread is doubt, not direction."""
    low, ops, high = figures(uneven(1_000), 60_000, Prior(1_000, 1.0))
    wide_low, same_ops, wide_high = figures(uneven(1_000), 60_000, Prior(1_000, 2.0))

    assert ops == same_ops
    assert wide_low < low
    assert wide_high > high


def test_tokens_of_the_opening_are_expected_to_go_faster() -> None:
    """A young context reads its files; the same distance later on lasts longer."""
    prior = Prior(1_000, 1.0)
    _, young, _ = figures(uneven(1_000, requests=5, start=20_000), 100_000, prior)
    _, grown, _ = figures(uneven(1_000, requests=5, start=90_000), 100_000, prior)

    assert young < grown


def test_readings_older_than_the_useful_ones_change_nothing() -> None:
    """A truncated history gives the same forecast."""
    occupancies = [20_000, 90_000, *uneven(700, requests=21, start=91_000)]
    prior = prior_for("claude-opus-4-6")

    assert figures(occupancies, 30_000, prior) == figures(occupancies[-21:], 30_000, prior)


def test_repeated_readings_of_one_request_change_nothing() -> None:
    """A hook may look twice between two requests."""
    once = uneven(700, requests=12)
    twice = [occupancy for occupancy in once for _ in range(2)]
    prior = prior_for(None)

    assert figures(once, 30_000, prior) == figures(twice, 30_000, prior)
    assert velocity(once) == velocity(twice)


def test_a_drop_is_not_taken_for_slow_growth() -> None:
    """Occupancy may fall without a compaction; only the growth around the fall counts."""
    before = uneven(900, requests=11)
    fallen = [*before, *uneven(900, requests=11, start=70_000)]
    unbroken = uneven(900, requests=21)
    prior = prior_for(None)

    assert figures(fallen, 30_000, prior)[:2] == figures(unbroken, 30_000, prior)[:2]


@given(READINGS, st.integers() | st.floats(allow_nan=False), PRIORS)
def test_any_history_gives_ordered_figures(
    occupancies: list[int], tokens_left: float, prior: Prior
) -> None:
    """Whatever the readings, nothing is raised and low ≤ ops ≤ high, none negative."""
    low, ops, high = figures(occupancies, tokens_left, prior)

    assert 0 <= low <= ops <= high
    assert (ops == 0) == (tokens_left <= 0)


@pytest.mark.row("S4-37")
@given(REALISTIC, TOKENS_LEFT, TOKENS_LEFT, PRIORS)
def test_more_tokens_left_are_never_fewer_operations(
    occupancies: list[int], one: int, other: int, prior: Prior
) -> None:
    """All three figures grow with the distance."""
    nearer = figures(occupancies, min(one, other), prior)
    farther = figures(occupancies, max(one, other), prior)

    assert all(near <= far for near, far in zip(nearer, farther, strict=True))


@given(READINGS, TOKENS_LEFT, PRIORS)
def test_the_same_readings_give_the_same_forecast(
    occupancies: list[int], tokens_left: int, prior: Prior
) -> None:
    """There is no chance in it, and the readings are left alone."""
    before = list(occupancies)

    assert figures(occupancies, tokens_left, prior) == figures(occupancies, tokens_left, prior)
    assert occupancies == before


@pytest.mark.row("S4-14")
def test_velocity_is_the_mean_growth_of_the_last_three_operations() -> None:
    """Older growth does not count."""
    assert velocity([0, 50_000, 51_000, 53_000, 56_000]) == 2_000
    assert velocity([50_000, 50_600]) == 600


def test_velocity_is_negative_where_occupancy_fell() -> None:
    """A fall is told as it is."""
    assert velocity([90_000, 60_000]) == -30_000


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-3-5-sonnet-20241022", "before-4.5"),
        ("claude-sonnet-4-20250514", "before-4.5"),
        ("claude-opus-4-1-20250805", "before-4.5"),
        ("claude-opus-4-5-20251101", "4.5"),
        ("claude-opus-4-6[1m]", "4.5"),
        ("claude-opus-4-7", "4.7"),
        ("us.anthropic.claude-opus-4-8-v1:0", "4.7"),
        ("Opus 4.7", "4.7"),
        ("claude-fable-5", "4.7"),
        ("opus", None),
        (None, None),
    ],
)
def test_the_version_in_a_model_s_name_tells_its_family(
    model: str | None, family: str | None
) -> None:
    """Dates and regions are no versions; a name without a version is of no known family."""
    assert family_of(model) == family


@given(st.text() | st.none())
def test_any_model_name_has_a_prior(model: str | None) -> None:
    """A name nobody has seen yet gets the figures of an unknown model."""
    prior = prior_for(model)

    assert 1_000 < prior.speed_tokens < 1_500
    assert prior.spread == 1


def test_a_few_segments_of_the_user_move_the_shipped_prior_and_many_replace_it() -> None:
    """The shipped figure is worth a handful of segments, and fades."""
    fast = uneven(2_400, requests=40)
    model = "claude-opus-4-6"
    speeds = [
        prior_for(model, summarise([(model, fast)] * count)).speed_tokens
        for count in (0, 1, 10, 1_000)
    ]

    assert speeds == sorted(speeds)
    assert speeds[1] < 1.2 * speeds[0]
    assert speeds[3] == pytest.approx(2_400, rel=0.05)


def test_what_was_learned_on_one_family_carries_over_to_another() -> None:
    """A user who works faster than most does so with the next model too."""
    learned = summarise([("claude-opus-4-6", uneven(2_400, requests=40))] * 30)

    shipped, moved = prior_for("claude-opus-4-8"), prior_for("claude-opus-4-8", learned)
    own = prior_for("claude-opus-4-6", learned)

    assert shipped.speed_tokens < moved.speed_tokens < own.speed_tokens


def test_a_history_of_alike_segments_narrows_the_interval_and_a_mixed_one_widens_it() -> None:
    """How far sessions differ is learned like how fast they are."""
    model = "claude-opus-4-6"
    alike = summarise([(model, uneven(1_200, requests=60))] * 40)
    mixed = summarise([(model, uneven(speed, requests=130)) for speed in (450, 3_000)] * 20)

    assert prior_for(model, alike).spread < 1 < prior_for(model, mixed).spread


def test_statistics_survive_json_lists() -> None:
    """What is kept on disk comes back as lists."""
    assert prior_for("claude-opus-4-6", {"4.5": [4, 7.5, 0.1], "": [1, 6.5, 0.0]}).speed_tokens > 0


def test_segments_that_grew_too_little_teach_nothing() -> None:
    """A handful of requests says more about one file than about a session."""
    assert summarise([("claude-opus-4-6", uneven(1_000, requests=5)), (None, [])]) == {}


def test_the_opening_and_drops_are_left_out_of_what_is_learned() -> None:
    """Only growth above the opening counts, and a fall does not undo it."""
    late = [80_000 + 1_000 * index for index in range(50)]

    assert log_speed([20_000, 59_000, *late]) == pytest.approx(math.log(1_000))
    assert log_speed([*late, 65_000]) == pytest.approx(math.log(1_000))


@given(st.lists(st.lists(st.integers(), max_size=40), max_size=5))
def test_any_history_can_be_summarised(histories: list[list[int]]) -> None:
    """Whatever the numbers, the statistics make a usable prior."""
    learned = summarise([(None, occupancies) for occupancies in histories])

    assert prior_for(None, learned).speed_tokens > 0


@pytest.mark.row("S4-37", "S4-39")
def test_steady_growth_is_forecast_by_division() -> None:
    """60 % used, five points with every request, compaction at 83.5 %: five requests are left."""
    readings = [20_000 + 10_000 * number for number in range(11)]

    found = forecast(readings, 167_000 - 120_000)

    assert found is not None
    assert 4 <= found.low + 1 <= found.ops == 5 <= found.high <= 8


@given(
    pace=st.integers(min_value=200, max_value=40_000),
    noise=st.lists(st.floats(min_value=0.8, max_value=1.2), min_size=10, max_size=20),
    requests=st.integers(min_value=4, max_value=80),
)
def test_any_steady_pace_is_right_within_a_quarter(
    pace: int, noise: list[float], requests: int
) -> None:
    """Whatever the pace, with noise of up to a fifth."""
    readings = [40_000]
    for factor in noise:
        readings.append(readings[-1] + int(pace * factor))

    found = forecast(readings, pace * requests)

    assert found is not None
    assert abs(found.ops - requests) <= max(1, requests / 4)
    assert found.low <= requests <= found.high


def test_one_large_result_ends_the_division() -> None:
    """Growth that is not steady is forecast from what sessions usually do."""
    steady = [20_000 + 10_000 * number for number in range(11)]
    burst = [*steady[:5], 95_000, *[95_000 + 10_000 * number for number in range(1, 6)]]

    divided = forecast(steady, 47_000)
    shrunk = forecast(burst, 47_000)

    assert divided is not None
    assert shrunk is not None
    assert shrunk.ops > divided.ops
