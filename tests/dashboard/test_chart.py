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
