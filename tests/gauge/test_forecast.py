"""How many operations are left, and how sure that is."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from brimline import models
from brimline.gauge.forecast import (
    forecast,
    log_speed_of_segment,
    log_speeds_by_generation,
    mean_recent_growth_tokens,
    usual_tokens_per_request,
)

READINGS = st.lists(st.integers(), min_size=2, max_size=60)
REALISTIC = st.lists(st.integers(10_000, 1_000_000), min_size=2, max_size=60)
TOKENS_LEFT = st.integers(1, 2_000_000)
SPEEDS = st.floats(100, 20_000)


def uneven(growth_tokens: int, requests: int = 31, start: int = 80_000) -> list[int]:
    """Occupancies of a session that grows by this much on average, in small steps and large."""
    readings = [start]
    for index in range(requests - 1):
        readings.append(readings[-1] + growth_tokens * (1, 25, 1, 1, 2)[index % 5] // 6)
    return readings


def figures(occupancies: list[int], tokens_left: float, speed: float) -> tuple[int, int, int]:
    """The three figures of a forecast that must exist."""
    answer = forecast(occupancies, tokens_left, speed)
    assert answer is not None
    return answer.low, answer.ops, answer.high


@pytest.mark.row("S4-37")
def test_there_is_a_forecast_from_the_second_reading_to_the_point() -> None:
    """One reading has no growth; at or over the point nothing is left, whatever the speed."""
    for occupancies in ([], [50_000]):
        assert forecast(occupancies, 60_000, usual_tokens_per_request("")) is None
        assert mean_recent_growth_tokens(occupancies) is None
    for tokens_left in (0, -1, -50_000):
        assert figures(uneven(1_000), tokens_left, usual_tokens_per_request("")) == (0, 0, 0)


def test_one_large_result_is_no_pace_and_three_are() -> None:
    """After one the figure stays near the usual; after three in a row the nearer end counts."""
    calm = uneven(1_000)
    once = [*calm, calm[-1] + 10_000]
    burst = [*calm, *[calm[-1] + 10_000 * step for step in (1, 2, 3)]]
    speed = 1_000.0

    _, usual, _ = figures(calm, 60_000, speed)
    low, after_one, _ = figures(once, 60_000, speed)
    _, after_three, high = figures(burst, 60_000, speed)

    assert 0.8 * usual < after_one < usual
    assert low <= 60_000 / (mean_recent_growth_tokens(once) or 1)
    assert after_three < 12
    assert high > 40  # as uneven as these steps are, it may go on as usual


@pytest.mark.row("S4-37", "S4-39")
def test_a_session_s_own_speed_counts_for_more_close_to_the_point() -> None:
    """And not for the next hour; the interval is relatively wider where one result decides."""
    speed = 1_000.0

    def slowdown(tokens_left: int) -> float:
        return (
            figures(uneven(250), tokens_left, speed)[1]
            / figures(uneven(1_000), tokens_left, speed)[1]
        )

    assert slowdown(8_000) > slowdown(60_000) > slowdown(600_000) > 1
    widths = []
    for tokens_left in (10_000, 60_000, 800_000):
        low, ops, high = figures(uneven(1_000), tokens_left, speed)
        widths.append((high - low) / ops)
    assert widths[0] > widths[1] > widths[2] > 0.2


def test_old_and_repeated_readings_change_nothing() -> None:
    """A truncated history gives the same forecast, and so does a request that was read twice."""
    occupancies = [20_000, 90_000, *uneven(700, requests=21, start=91_000)]
    twice = [occupancy for occupancy in occupancies for _ in range(2)]
    speed = usual_tokens_per_request("4.5")

    for same in (occupancies[-21:], twice):
        assert figures(same, 30_000, speed) == figures(occupancies, 30_000, speed)
        assert mean_recent_growth_tokens(same) == mean_recent_growth_tokens(occupancies)


def test_a_drop_is_not_taken_for_slow_growth() -> None:
    """Occupancy may fall without a compaction; only the growth around the fall counts."""
    before = uneven(900, requests=11)
    fallen = [*before, *uneven(900, requests=11, start=70_000)]
    unbroken = uneven(900, requests=21)
    speed = usual_tokens_per_request("")

    assert figures(fallen, 30_000, speed)[:2] == figures(unbroken, 30_000, speed)[:2]


@example([1, 2], float("inf"), 1_000.0)
@given(READINGS, st.integers() | st.floats(allow_nan=False), SPEEDS)
def test_any_history_gives_figures(
    occupancies: list[int], tokens_left: float, speed: float
) -> None:
    """Whatever the readings, nothing is raised and low ≤ ops ≤ high, none negative."""
    low, ops, high = figures(occupancies, tokens_left, speed)

    assert 0 <= low <= ops <= high
    assert (ops == 0) == (tokens_left <= 0)


@pytest.mark.row("S4-37")
@given(REALISTIC, TOKENS_LEFT, TOKENS_LEFT, SPEEDS)
def test_more_tokens_left_are_never_fewer_operations(
    occupancies: list[int], one: int, other: int, speed: float
) -> None:
    """All three figures grow with the distance."""
    nearer = figures(occupancies, min(one, other), speed)
    farther = figures(occupancies, max(one, other), speed)

    assert all(near <= far for near, far in zip(nearer, farther, strict=True))


@given(st.text() | st.none())
def test_any_model_name_has_a_usual_speed(model: str | None) -> None:
    """A name nobody has seen yet gets the figures of an unknown model."""
    speed = usual_tokens_per_request(models.lookup_model(model).generation)

    assert 1_000 < speed < 1_500


def test_the_users_own_segments_move_the_shipped_figures() -> None:
    """A few a little, many replace them; for other families too."""
    model, other = "4.5", "4.7"
    fast = [(model, uneven(2_400, requests=40))]
    learned = [log_speeds_by_generation(fast * count) for count in (0, 1, 10, 1_000)]
    speeds = [usual_tokens_per_request(model, one) for one in learned]

    assert speeds == sorted(speeds)
    assert speeds[1] < 1.2 * speeds[0]
    assert speeds[3] == pytest.approx(2_400, rel=0.05)
    moved = usual_tokens_per_request(other, learned[2])
    assert usual_tokens_per_request(other) < moved < speeds[2]
    assert usual_tokens_per_request(model, {"4.5": [4, 7.5], "": [1, 6.5, 0.0]}) > 0


def test_the_opening_and_drops_are_left_out_of_what_is_learned() -> None:
    """Only growth above the opening counts, and a fall does not undo it."""
    late = [80_000 + 1_000 * index for index in range(50)]

    assert log_speed_of_segment([20_000, 59_000, *late]) == pytest.approx(math.log(1_000))
    assert log_speed_of_segment([*late, 65_000]) == pytest.approx(math.log(1_000))
    assert log_speeds_by_generation([("4.5", uneven(1_000, requests=5)), ("", [])]) == {}


@given(st.lists(st.lists(st.integers(), max_size=40), max_size=5))
def test_any_history_can_be_summarised(histories: list[list[int]]) -> None:
    """Whatever the numbers, the statistics make a usable speed."""
    learned = log_speeds_by_generation([("", occupancies) for occupancies in histories])

    assert usual_tokens_per_request("", learned) > 0


@pytest.mark.row("S4-37", "S4-39")
@pytest.mark.parametrize("steps", [4, 7, 8, 10, 30])
def test_steady_growth_is_forecast_by_division(steps: int) -> None:
    """60 % used, five points with every request, compaction at 83.5 %: four to six are left."""
    readings = [120_000 - 10_000 * back for back in range(steps, -1, -1)]

    low, ops, high = figures(readings, 167_000 - 120_000, usual_tokens_per_request("4.5"))

    assert 3 <= low < ops == 5 < high <= 7


@settings(max_examples=150, derandomize=True)
@given(
    pace=st.integers(min_value=50, max_value=100_000),
    noise=st.lists(st.floats(min_value=0.8, max_value=1.2), min_size=10, max_size=40),
    requests=st.integers(min_value=1, max_value=200),
    start=st.integers(min_value=0, max_value=900_000),
)
@pytest.mark.row("S4-37", "S4-39")
def test_any_steady_pace_is_right_within_a_quarter(
    pace: int, noise: list[float], requests: int, start: int
) -> None:
    """Whatever the pace, with noise of up to a fifth, from the tenth step on."""
    readings = [start]
    for factor in noise:
        readings.append(readings[-1] + round(pace * factor))

    low, ops, high = figures(readings, pace * requests, usual_tokens_per_request("4.7"))

    assert abs(ops - requests) <= max(1, requests / 4 + 0.5)
    assert low <= requests <= high


@settings(max_examples=300, derandomize=True)
@given(
    pace=st.integers(min_value=1_000, max_value=10_000),
    steps=st.integers(min_value=3, max_value=30),
    start=st.integers(min_value=20_000, max_value=500_000),
    tokens_left=st.integers(min_value=1, max_value=900_000),
    generation=st.sampled_from(["before-4.5", "4.5", "4.7", ""]),
)
@pytest.mark.row("S4-37", "S4-39")
def test_a_steady_session_is_forecast_by_division_from_its_fourth_request_on(
    pace: int, steps: int, start: int, tokens_left: int, generation: str
) -> None:
    """Within a quarter, or one request; and it says that the pace is the session's own."""
    readings = [start + pace * index for index in range(steps + 1)]

    answer = forecast(readings, tokens_left, usual_tokens_per_request(generation))

    assert answer is not None
    division = tokens_left / pace
    assert abs(answer.ops - division) <= max(1, division / 4)
    assert answer.low <= division <= answer.high
    assert answer.pace_requests == min(steps, 5)


def test_steep_growth_counts_on_at_the_velocity() -> None:
    """Where a tier was raised for it, no other figure stands beside that."""
    readings = [80_000, 80_100, 80_200, 80_300, 110_000, 110_100, 140_000]

    usual = forecast(readings, 27_000)
    steep = forecast(readings, 27_000, is_steep=True)

    assert usual is not None
    assert steep is not None
    assert (usual.pace_requests, steep.pace_requests) == (0, 3)
    assert (usual.ops > 10, steep.ops) == (True, 1)


@pytest.mark.row("S4-12", "S4-37")
def test_a_few_large_steps_are_a_pace_unless_a_single_one_stands_out() -> None:
    """What dividing by the last three gives is in the interval in any case."""
    found = forecast([40_000, 55_000, 80_000, 120_000, 140_337], 26_663)
    assert found is not None
    assert found.high <= 3
    steady = [20_000 + 10_000 * number for number in range(11)]
    speed = usual_tokens_per_request("4.5")

    for large, pace in (
        ([60_000, 100_000], 0),
        ([60_000, 70_000, 105_000], 2),
        ([*steady[:-1], 165_000], 0),
    ):
        found = forecast(large, 47_000, speed)
        assert found is not None
        assert (found.pace_requests, found.ops > 10) == (pace, not pace)
        assert found.low <= 47_000 / (mean_recent_growth_tokens(large) or 1) <= found.high


# Low end, middle, high end, and how many of its own requests each rests on.
MEASURED: list[tuple[list[int], float, tuple[int, int, int, int]]] = [
    (uneven(1_000), 60_000, (37, 66, 103, 0)),
    (uneven(1_000), 5_000, (2, 7, 16, 0)),
    (uneven(3_000), 200_000, (143, 205, 269, 0)),
    (uneven(300), 800_000, (678, 817, 941, 0)),
    (uneven(9_000), 100_000, (50, 100, 145, 0)),
    (uneven(1_000), 2_000_000_000, (994_718, 1_000_008, 1_004_082, 0)),
    ([80_000, 90_000, 70_000, 60_000], 100_000, (64, 104, 150, 0)),
    ([80_000, 82_000], 60_000, (30, 65, 101, 0)),
    ([80_000, 82_000, 84_000], 60_000, (19, 30, 41, 2)),
    ([80_000, 82_000, 84_000], 1_000, (0, 1, 1, 2)),
    ([80_000, 81_000, 83_000, 84_000], 30_000, (14, 23, 31, 3)),
    ([80_000, 82_000, 84_000, 88_000], 30_000, (7, 11, 16, 3)),
    ([80_000, 80_700, 81_800, 82_700], 30_000, (21, 33, 46, 3)),
]


@pytest.mark.parametrize(("occupancies", "tokens_left", "expected"), MEASURED)
def test_the_figures_are_those_that_were_measured(
    occupancies: list[int], tokens_left: float, expected: tuple[int, int, int, int]
) -> None:
    """A weight, a doubt or a horizon that changes must be measured anew."""
    answer = forecast(occupancies, tokens_left, 1_000.0)

    assert answer is not None
    assert (answer.low, answer.ops, answer.high, answer.pace_requests) == expected


def test_a_steep_session_goes_on_as_it_did() -> None:
    """By its last three steps; where they are uneven it may go back to the usual pace."""
    steep = forecast([80_000, 90_000, 91_000], 60_000, 1_000.0, is_steep=True)

    assert steep is not None
    assert (steep.low, steep.ops, steep.high, steep.pace_requests) == (7, 11, 63, 2)


def test_a_usual_speed_is_shipped_for_each_generation() -> None:
    """Fifteen segments of one's own count as much as that."""
    speeds = [round(usual_tokens_per_request(name)) for name in ("before-4.5", "4.5", "4.7", "")]
    assert speeds == [1_274, 1_153, 1_224, 1_188]
    assert round(usual_tokens_per_request("4.5", {"4.5": (15, 8.0)})) == 2_351
    assert round(usual_tokens_per_request("4.5", {"4.7": (15, 8.0)})) == 1_799
    assert round(usual_tokens_per_request("x", {"y": (5, 7.5)})) == 1_319
    assert round(usual_tokens_per_request("4.5", {"4.5": (1, 8.0)}, shipped={})) == 2_981


@pytest.mark.parametrize(
    ("occupancies", "expected"),
    [
        ([60_000, 70_000, 80_000], 8.06),
        ([60_000, 70_000, 79_999], None),
        ([60_000, 80_000], None),
        ([60_000, 90_000, 120_000], 8.06),
        ([60_000, 90_000, 120_001], None),
        ([*range(60_000, 90_000, 100)], 6.06),
        ([60_000, 60_000, 62_000, 62_000, *range(64_000, 84_000, 2_000)], math.log(2_000)),
        ([50_000, 59_999, *range(62_000, 84_000, 2_000)], math.log(2_000)),
        ([50_000, 60_000, *range(62_000, 84_000, 2_000)], math.log(2_000)),
        ([60_000, 89_000, *range(91_000, 131_000, 2_000)], math.log(2_000)),
    ],
)
def test_a_segment_tells_its_speed_where_it_grew_enough(
    occupancies: list[int], expected: float | None
) -> None:
    """20,000 tokens in two requests, at most the last 60,000; strange speeds are bounded."""
    assert log_speed_of_segment(occupancies) == (
        None if expected is None else pytest.approx(expected)
    )


def test_segments_of_a_generation_are_averaged() -> None:
    """Those that tell nothing are left out."""
    slow, fast = [*range(60_000, 90_000, 100)], [60_000, 70_000, 80_000]

    found = log_speeds_by_generation([("a", slow), ("a", fast), ("a", []), ("b", fast), ("c", [1])])
    assert {name: count for name, (count, _) in found.items()} == {"a": 2, "b": 1}
    assert [mean for _, mean in found.values()] == pytest.approx([7.06, 8.06])
