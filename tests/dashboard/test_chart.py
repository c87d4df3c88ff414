"""Where the lines of a chart run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from brimline.dashboard import chart, story

if TYPE_CHECKING:
    from tests.dashboard.played import Played

# An empty line, or one that begins somewhere and goes on in right angles.
PATH = re.compile(r"|(M[\d.]+[ ,][\d.]+([HV]-?[\d.]+)*Z?)+")


def test_a_forecast_is_drawn_as_a_closed_band_around_its_middle(
    played: Played, home_dir: str
) -> None:
    """In both sizes, whatever the session; every path is one that a browser can draw."""
    shown = story.tell(played.session.path, home_dir).moments

    for size in chart.LOW_SIZES:
        band, middle, *others = chart.forecasts(shown, size).shapes
        assert (band.style, middle.style) == ("fill band", "line middle")
        assert band.path.startswith("M")
        assert band.path.endswith("Z")
        assert band.path.count("H") == 2 * len(shown)
        for shape in (band, middle, *others):
            assert PATH.fullmatch(shape.path), shape.path
        assert chart.forecasts([], size).shapes[0].path == ""


def test_a_bar_for_each_day_has_its_colour_and_as_many_dates_as_there_is_room_for() -> None:
    """Six colours, the last for all others; ticks are round numbers, with the unit."""
    days = [f"2026-11-{day:02d}" for day in range(1, 31)]
    series = [(f"model-{number}", [1.0] * len(days)) for number in range(8)]

    wide, narrow = chart.by_day(days, series, "$")

    styles = [f"fill s{number}" for number in (0, 1, 2, 3, 4, 5, 5, 5)]
    assert [shape.style for shape in wide.shapes] == styles
    assert [label for _, label in wide.below] == [f"11-{day:02d}" for day in range(1, 30, 3)]
    assert [label for _, label in narrow.below] == [f"11-{day:02d}" for day in range(1, 30, 6)]
    assert wide.below[:2] == [(58.0, "11-01"), (152.2, "11-04")]
    assert wide.rules == [(106.0, "$0"), (55.1, "$5")]
    (few, _) = chart.by_day(days[:2], [("one", [0.1, 0.2])])
    assert [label for _, label in few.rules] == ["0.0", "0.2", "0.4"]


def test_a_date_that_would_be_cut_is_left_out() -> None:
    """It takes 36 units, and begins where its bar begins."""
    days = [f"2026-11-{day:02d}" for day in range(1, 11)]
    for size, shown in ((964, 9), (963, 10), (965, 9)):
        plot = chart.Plot(chart.Size("wide", 1000, 130, 1000 - (1000 - size) * 10), 10, 1.0)
        chart._add_days(plot, days)
        assert (plot.x(9), len(plot.below)) == (size, shown), size


def test_a_number_is_short() -> None:
    """One digit behind the point below ten of a unit."""
    values = (0, 999, 1_000, 1_949, 9_999, 10_000, 999_999, 1_000_000, 12_500_000)
    shown = ["0", "999", "1.0k", "1.9k", "10.0k", "10k", "1000k", "1M", "12M"]
    assert [chart.short(value) for value in values] == shown
