"""Where the lines of a chart run."""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING

import pytest

from brimline.dashboard import chart, story
from brimline.figures.totals import Notice

if TYPE_CHECKING:
    from tests.dashboard.played import Played

    from brimline.testing import SessionBuilder

# An empty line, or one that begins somewhere and goes on in right angles.
PATH = re.compile(r"|(M[\d.]+[ ,][\d.]+([HV]-?[\d.]+)*Z?)+")


@pytest.fixture(autouse=True)
def sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with which the coordinates below were made."""
    made = {"_HEADROOM": 1.08, "_LEAST_DAYS": 7, "_TICKS": 4, "_LEAST_TOP": 0.4}
    for name, value in (made | {"_WIDE_DATES": 10, "_NARROW_DATES": 5, "FAR": 3.0}).items():
        monkeypatch.setattr(chart, name, value)


def test_a_bar_for_each_day_has_its_colour_and_as_many_dates_as_there_is_room_for() -> None:
    """Nine colours, the last for all others; ticks are round numbers, with the unit."""
    days = [f"2026-11-{day:02d}" for day in range(1, 31)]
    series = [(f"model-{number}", [0.8] * len(days)) for number in range(10)]

    wide, narrow = chart.daily_bar_plots(days, series, "$")

    styles = [f"fill s{number}" for number in (0, 1, 2, 3, 4, 5, 6, 7, 8, 8)]
    assert [shape.style for shape in wide.shapes] == styles
    assert [label for _, label in wide.below] == [f"11-{day:02d}" for day in range(1, 30, 3)]
    assert [label for _, label in narrow.below] == [f"11-{day:02d}" for day in range(1, 30, 6)]
    assert wide.below[:2] == [(58.0, "11-01"), (152.2, "11-04")]
    assert wide.rules == [(106.0, "$0"), (55.1, "$5")]
    (few, _) = chart.daily_bar_plots(days[:2], [("one", [0.1, 0.2])])
    assert [label for _, label in few.rules] == ["0.0", "0.2", "0.4"]


def test_a_date_that_would_be_cut_is_left_out() -> None:
    """It takes 36 units, and begins where its bar begins."""
    days = [f"2026-11-{day:02d}" for day in range(1, 11)]
    for size, shown in ((964, 9), (963, 10), (965, 9)):
        plot = chart.Plot(chart.Size("wide", 1000, 130, 1000 - (1000 - size) * 10), 10, 1.0)
        chart._add_date_labels(plot, days)
        assert (plot.x_of_column(9), len(plot.below)) == (size, shown), size


def test_a_plot_leaves_room_for_its_labels_and_keeps_values_within_its_edges() -> None:
    """Columns begin behind the labels on the left, values end above those below."""
    plot = chart.Plot(chart.Size("wide", 110, 60, 10, 2), 2, 10.0)

    assert [plot.x_of_column(column) for column in (0, 0.5, 1, 2)] == [10, 35, 60, 110]
    assert [plot.y_of_value(value) for value in (0, 5, 10, 99, -3)] == [58, 38, 18, 18, 58]
    assert chart.Plot(chart.Size("wide", 110, 60, 10), 0, 1.0).x_of_column(0) == 10


def test_bars_stand_upon_each_other_and_what_is_nothing_is_not_drawn() -> None:
    """Each is a seventh of the width at the most; the highest ends a little below the edge."""
    days = ["2026-11-01", "2026-11-02"]
    series = [("a", [1.0, 3.0]), ("none", [0.0, 0.0]), ("b", [1.0, 0.0])]

    wide, narrow = chart.daily_bar_plots(days, series, "$")

    assert [(shape.name, shape.style, shape.path) for shape in wide.shapes] == [
        ("a", "fill s0", "M58.0 78.8H192.6V24.5H327.1V106.0H192.6V106.0H58.0Z"),
        ("b", "fill s2", "M58.0 51.7H192.6V24.5H327.1V24.5H192.6V78.8H58.0Z"),
    ]
    assert wide.rules == [(106.0, "$0"), (78.8, "$1"), (51.7, "$2"), (24.5, "$3")]
    assert narrow.rules == [(96.0, "$0"), (71.9, "$1"), (47.9, "$2"), (23.8, "$3")]
    assert narrow.shapes[0].path == "M46.0 71.9H90.9V23.8H135.7V96.0H90.9V96.0H46.0Z"


def test_nine_models_have_nine_colours() -> None:
    """The stylesheet fills each of them otherwise."""
    series = [(str(number), [1.0]) for number in range(9)]
    wide, _ = chart.daily_bar_plots(["2026-11-01"], series)
    rules = resources.files("brimline.dashboard").joinpath("static/page.css").read_text()
    fills = dict(re.findall(r"\.(s\d) { fill: (.*?); }", rules))

    styles = [shape.style.removeprefix("fill ") for shape in wide.shapes]

    assert len({fills[style] for style in styles}) == 9


def test_the_occupancy_is_drawn_with_its_brim_and_its_compactions(
    session: SessionBuilder, home_dir: str
) -> None:
    """A brim that is far above all that was used is not drawn; numbers of requests stand below."""
    for tokens in (60_000, 100_000, 150_000):
        session.reply(tokens)
    session.compact(150_000)
    session.reply(30_000)
    told = story.read_story(session.path, home_dir)

    plot = chart.occupancy_plot(told, told.moments, chart.SIZES[0])
    early = chart.occupancy_plot(told, told.moments[-1:], chart.SIZES[0])
    first = told.moments[0].reading

    assert first
    assert plot.count == 4
    assert plot.top == 1.08 * max(150_000, first.compaction.tokens)
    assert plot.shapes[-1].style == "line brim"
    assert plot.shapes[-1].path.endswith("H1000.0")
    assert [(mark.x, mark.style, mark.name) for mark in plot.marks] == [
        (764.5, "compaction", "compacted before request 4")
    ]
    assert plot.below == [(58.0, "1"), (293.5, "2"), (529.0, "3"), (764.5, "4")]
    assert plot.piled == [60_000, 100_000, 150_000, 30_000]
    assert [shape.style for shape in early.shapes if "line" in shape.style] == []
    assert early.top == 1.08 * 30_000


def test_the_cache_is_drawn_as_read_written_and_not_cached_and_where_it_broke(
    session: SessionBuilder, home_dir: str
) -> None:
    """The break stands in the middle of its request, with what it cost and why."""
    session.reply(50_000)
    session.reply(52_000)
    session.compact(54_000)
    session.reply(9_000)
    shown = story.read_story(session.path, home_dir).moments

    plot = chart.cache_plot(shown, chart.LOW_SIZES[0])

    assert [shape.style for shape in plot.shapes] == ["fill read", "fill written", "fill fresh"]
    assert plot.piled == [50_000, 52_000, 9_000]
    assert plot.top == 1.08 * 52_000
    (mark,) = plot.marks
    assert (mark.x, mark.style, mark.letter) == (843.0, "break", "×")
    assert mark.name.startswith("request 3: ")
    assert mark.name.endswith(" written again: compaction")
    assert chart.cache_plot([], chart.LOW_SIZES[0]).shapes == []


@pytest.mark.parametrize(("brim", "is_drawn"), [(150_000, True), (150_001, False)])
def test_a_brim_far_above_all_that_was_used_is_not_drawn(
    session: SessionBuilder, home_dir: str, brim: int, is_drawn: bool
) -> None:
    """At three times the fullest it still is."""
    session.reply(40_000)
    session.reply(50_000)
    told = story.read_story(session.path, home_dir)
    for moment in told.moments:
        moment.reading.compaction.tokens = brim

    plot = chart.occupancy_plot(told, told.moments, chart.SIZES[0])

    assert ("the brim" in [shape.name for shape in plot.shapes]) is is_drawn
    assert plot.top == pytest.approx(1.08 * (150_000 if is_drawn else 50_000))


MOST = chart.MOST_COLUMNS


@pytest.mark.parametrize(
    ("number", "columns"), [(0, 0), (1, 1), (MOST, MOST), (MOST + 1, MOST), (2 * MOST, MOST)]
)
def test_of_more_requests_than_columns_the_fullest_of_neighbours_are_drawn(
    session: SessionBuilder, home_dir: str, number: int, columns: int
) -> None:
    """The first of those that are alike; in their order, up to the last."""
    session.prompt("Go")
    for at in range(number):
        session.reply(20_000 + at % 2)
    moments = story.read_story(session.path, home_dir).moments

    shown = [moment.number for moment in chart.fullest_moment_per_column(moments)]

    assert len(shown) == columns
    if number <= MOST:
        assert shown == list(range(1, number + 1))
    elif number == MOST + 1:
        assert shown == [*range(1, MOST), MOST + 1]  # it ends where the session stands
    else:
        assert shown == list(range(2, 2 * MOST + 1, 2))


def test_parts_that_are_more_than_the_whole_are_drawn_smaller_all_alike(
    session: SessionBuilder, home_dir: str
) -> None:
    """And what is less than nothing is not drawn."""
    session.reply(60_000)
    (moment,) = story.read_story(session.path, home_dir).moments

    def scaled(**parts: int) -> dict[str, float]:
        moment.parts = parts
        return chart._parts_scaled_to_used_tokens(moment)

    assert scaled(a=40_000, b=80_000, c=-5, d=0) == {"a": 20_000.0, "b": 40_000.0}
    assert scaled(a=20_000, b=40_000) == {"a": 20_000.0, "b": 40_000.0}
    assert scaled(a=1) == {"a": 1.0}
    assert scaled() == {}


def test_a_tier_stands_above_the_request_after_which_it_was_announced(
    session: SessionBuilder, home_dir: str
) -> None:
    """What was said before the first request, or after what is drawn, has no place."""
    for tokens in (50_000, 60_000, 70_000, 80_000):
        session.reply(tokens)
    told = story.read_story(session.path, home_dir)
    times = [moment.at for moment in told.moments]
    told.figures.messages = [
        Notice(at, "", tier, None, 9)
        for at, tier in ((times[0] - 1, 1), (times[1], 2), (times[2] + 0.1, 3), (times[3], 4))
    ]

    plot = chart.occupancy_plot(told, told.moments[:3], chart.Size("wide", 310, 100, 10))
    few = chart.occupancy_plot(told, told.moments[::2], chart.Size("wide", 310, 100, 10))

    assert plot.marks == [
        chart.Mark(160.0, "tier", "L2", "request 2: L2 announced"),
        chart.Mark(260.0, "tier", "L3", "request 3: L3 announced"),
    ]
    assert [mark.x for mark in few.marks] == [235.0, 235.0]


@pytest.mark.parametrize(
    ("number", "labels"),
    [
        (5, "1 2 3 4 5"),
        (11, "1 2 3 4 5 6 7 8 9 10 11"),
        (12, "1 3 5 7 9 11"),
        (13, "1 3 5 7 9 11 13"),
    ],
)
def test_about_six_requests_are_named_below_where_there_is_room(
    session: SessionBuilder, home_dir: str, number: int, labels: str
) -> None:
    """A number takes thirty units at the right edge."""
    for _ in range(number):
        session.reply(50_000)
    told = story.read_story(session.path, home_dir)

    wide = chart.occupancy_plot(told, told.moments, chart.Size("wide", 1_000, 100, 10))
    narrow = chart.occupancy_plot(told, told.moments, chart.Size("wide", 10 + 30 * number, 100, 10))

    assert " ".join(label for _, label in wide.below) == labels
    assert str(number) not in [label for _, label in narrow.below]


def test_a_drawing_of_nothing_has_a_token_on_top(session: SessionBuilder, home_dir: str) -> None:
    """Nothing is drawn in it, and nothing divides by nought."""
    session.prompt("A wish")
    told = story.read_story(session.path, home_dir)

    plots = [
        chart.occupancy_plot(told, [], chart.SIZES[0]),
        chart.cache_plot([], chart.LOW_SIZES[0]),
    ]

    assert [plot.top for plot in plots] == [1.08] * 2
    assert [(plot.count, plot.below, plot.marks) for plot in plots] == [(0, [], [])] * 2
    assert chart.fullest_moment_per_column([]) == []


def test_a_forecast_is_drawn_as_a_band_around_its_middle(played: Played, home_dir: str) -> None:
    """In both sizes, whatever the session; every path is one that a browser can draw."""
    shown = story.read_story(played.session.path, home_dir).moments

    for size in chart.LOW_SIZES:
        band, middle, *others = chart.forecast_plot(shown, size).shapes
        assert (band.style, middle.style) == ("fill band", "line middle")
        assert band.path.startswith("M")
        assert band.path.endswith("Z")
        assert band.path.count("H") == 2 * len(shown)
        for shape in (band, middle, *others):
            assert PATH.fullmatch(shape.path), shape.path
        assert chart.forecast_plot([], size).shapes[0].path == ""


def test_how_many_requests_came_is_drawn_up_to_the_last_compaction(
    session: SessionBuilder, home_dir: str
) -> None:
    """Of the stretch that is not over nobody knows."""
    for tokens in (50_000, 52_000, 54_000):
        session.reply(tokens)
    session.compact(54_000)
    session.reply(9_000)
    shown = story.read_story(session.path, home_dir).moments

    plot = chart.forecast_plot(shown, chart.LOW_SIZES[0])

    (came,) = [shape.path for shape in plot.shapes if shape.style == "line came"]
    heights = [plot.y_of_value(left) for left in (2, 1, 0)]
    columns = [plot.x_of_column(column) for column in range(4)]
    assert came == (
        f"M{columns[0]} {heights[0]}H{columns[1]}V{heights[1]}H{columns[2]}"
        f"V{heights[2]}H{columns[3]}"
    )


def test_an_unknown_forecast_is_a_band_of_no_height(session: SessionBuilder, home_dir: str) -> None:
    """At the bottom; where nothing is known the drawing is one request high."""
    session.reply(50_000)
    shown = story.read_story(session.path, home_dir).moments

    plot = chart.forecast_plot(shown, chart.LOW_SIZES[0])

    assert shown[0].outlook is None
    bottom = plot.y_of_value(0)
    assert plot.shapes[0].path == f"M58.0 {bottom}H1000.0V{bottom}H58.0Z"
    assert [shape.path for shape in plot.shapes[1:]] == ["", ""]
    assert plot.top == 1.08
