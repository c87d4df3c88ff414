"""How many operations are left, and how sure that is."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from brimline.gauge.forecast import (
    _RECENT_OPERATIONS,
    USUAL_GROWTH_TOKENS,
    forecast,
    learn_usual_tokens,
    mean_recent_growth_tokens,
)

READINGS = st.lists(st.integers(), min_size=2, max_size=60)
REALISTIC = st.lists(st.integers(10_000, 1_000_000), min_size=2, max_size=60)
TOKENS_LEFT = st.integers(1, 2_000_000)
GROWTHS = st.floats(400, 3_200)


def uneven(growth_tokens: int, requests: int = 31, start: int = 80_000) -> list[int]:
    """Occupancies of a session that grows by this much on average, in small steps and large."""
    readings = [start]
    for index in range(requests - 1):
        readings.append(readings[-1] + growth_tokens * (1, 25, 1, 1, 2)[index % 5] // 6)
    return readings


def figures(
    occupancies: list[int], tokens_left: float, usual: object = None
) -> tuple[int, int, int]:
    """The three figures of a forecast that must exist."""
    answer = forecast(occupancies, tokens_left, usual)
    assert answer is not None
    return answer.low, answer.ops, answer.high


@pytest.mark.row("S4-37")
def test_there_is_a_forecast_from_the_second_reading_to_the_point() -> None:
    """One reading has no growth; at or over the point nothing is left, whatever the growth."""
    for occupancies in ([], [50_000]):
        assert forecast(occupancies, 60_000) is None
        assert mean_recent_growth_tokens(occupancies) is None
    for tokens_left in (0, -1, -50_000):
        assert figures(uneven(1_000), tokens_left) == (0, 0, 0)


@pytest.mark.row("S4-37", "S4-39")
@settings(max_examples=300, derandomize=True)
@given(
    pace=st.integers(min_value=1_000, max_value=100_000),
    noise=st.lists(st.floats(min_value=0.8, max_value=1.2), min_size=3, max_size=40),
    tokens_left=st.integers(min_value=1, max_value=900_000),
    usual=GROWTHS,
)
def test_an_even_session_is_divided_as_a_person_would(
    pace: int, noise: list[float], tokens_left: int, usual: float
) -> None:
    """Whatever is usual, and however fast it grows: half as much at the fourth, then less."""
    readings = [20_000]
    for factor in noise:
        readings.append(readings[-1] + round(pace * factor))
    divided = tokens_left * len(noise) / (readings[-1] - readings[0])
    share = 0.5 if len(noise) < 10 else 0.25

    low, ops, high = figures(readings, tokens_left, usual)

    assert abs(ops - divided) <= max(1, share * divided) + 0.5
    assert low <= max(1, divided) <= high


@pytest.mark.row("S4-37")
@settings(max_examples=300, derandomize=True)
@given(
    growths=st.lists(st.integers(600, 4_000), min_size=5, max_size=40),
    newest=st.integers(100, 400_000),
    tokens_left=st.integers(20_000, 900_000),
)
def test_one_request_more_never_turns_the_answer_around(
    growths: list[int], newest: int, tokens_left: int
) -> None:
    """However large it is, where the others were not tiny: what it adds is capped."""
    readings = [20_000]
    for growth in [*growths, newest]:
        readings.append(readings[-1] + growth)

    before, after = (figures(seen, tokens_left)[1] for seen in (readings[:-1], readings))

    assert before / 2.5 < after < before * 2.5


@pytest.mark.row("S4-37")
def test_an_uneven_session_leans_on_what_is_usual_and_a_large_result_is_no_trend() -> None:
    """By the same mean growth, and by the same growths but one."""
    even = [20_000 + 3_000 * step for step in range(31)]
    calm = [*range(20_000, 50_000, 1_000)]

    assert figures(uneven(3_000), 60_000)[1] > 1.5 * figures(even, 60_000)[1]
    after_one = figures([*calm, calm[-1] + 60_000], 60_000)[1]
    assert 0.6 * figures(calm, 60_000)[1] < after_one < figures(calm, 60_000)[1]


def test_the_interval_is_wider_close_to_the_point_and_where_little_is_known() -> None:
    """One result decides near it; two readings tell little."""

    def width(readings: list[int], tokens_left: int) -> float:
        low, ops, high = figures(readings, tokens_left)
        return (high - low) / ops

    known = uneven(1_200)
    widths = [width(known, left) for left in (10_000, 60_000, 800_000)]

    assert widths == sorted(widths, reverse=True)
    assert widths[-1] > 0.2
    assert width([80_000, 81_200], 60_000) > 1.5 * widths[1]


def test_old_and_repeated_readings_and_drops_change_nothing() -> None:
    """A truncated history gives the same forecast, and so does a request that was read twice."""
    occupancies = [20_000, 90_000, *uneven(700, requests=_RECENT_OPERATIONS + 1, start=91_000)]
    twice = [occupancy for occupancy in occupancies for _ in range(2)]
    fallen = [*uneven(900, requests=11), *uneven(900, requests=11, start=70_000)]

    for same in (occupancies[-_RECENT_OPERATIONS - 1 :], twice):
        assert figures(same, 30_000) == figures(occupancies, 30_000)
        assert mean_recent_growth_tokens(same) == mean_recent_growth_tokens(occupancies)
    assert figures(fallen, 30_000)[1] == figures(uneven(900, requests=21), 30_000)[1]


@example([1, 2], float("inf"), 1_000.0)
@example([1, 2], 50_000, math.nan)
@example([1, 2], 50_000, "damaged")
@given(READINGS, st.integers() | st.floats(allow_nan=False), st.floats() | st.none())
def test_any_history_has_figures(occupancies: list[int], tokens_left: float, usual: object) -> None:
    """Whatever the numbers, also those of a damaged file, they are in order and never negative."""
    low, ops, high = figures(occupancies, tokens_left, usual)

    assert 0 <= low <= ops <= high


@given(REALISTIC, TOKENS_LEFT, TOKENS_LEFT, GROWTHS)
def test_more_room_never_means_fewer_operations(
    occupancies: list[int], one: int, other: int, usual: float
) -> None:
    """All three figures grow with the tokens that are left."""
    nearer = figures(occupancies, min(one, other), usual)
    farther = figures(occupancies, max(one, other), usual)

    assert all(near <= far for near, far in zip(nearer, farther, strict=True))


def test_the_users_own_segments_move_what_is_usual() -> None:
    """A few a little, many replace it; drops and a single huge file say nothing."""
    own = [uneven(2_400, requests=40)]
    learned = [learn_usual_tokens(own * count) for count in (0, 1, 10, 1_000)]

    assert learned == sorted(learned)
    assert learned[0] == USUAL_GROWTH_TOKENS
    assert learned[1] < 1.2 * learned[0]
    assert learned[3] == pytest.approx(2_400, rel=0.1)
    assert learn_usual_tokens([[20_000, 900_000, 30_000]]) < 1.02 * USUAL_GROWTH_TOKENS
    assert learn_usual_tokens([[], [5], [9, 9, 3]]) == USUAL_GROWTH_TOKENS


@given(st.lists(st.lists(st.integers(), max_size=40), max_size=5))
def test_any_history_can_be_learned_from(histories: list[list[int]]) -> None:
    """Whatever the numbers, a usable growth comes out."""
    assert learn_usual_tokens(histories) > 0
