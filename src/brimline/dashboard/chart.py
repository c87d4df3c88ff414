"""Where the lines of a chart run: steps, bands, ticks and marks as numbers for one SVG template.

Pure. Colours are classes, which the style file fills, so that light and dark need one drawing. A
drawing has at most `MOST_COLUMNS` columns, however long a session is: each shows the fullest of it.
"""

from __future__ import annotations

import itertools
import math
import operator
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from brimline.gauge.composition import NAMES
from brimline.gauge.wording import short_token_count_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.dashboard.story import Moment, Story

MOST_COLUMNS = 240
# A brim far above all that was used would flatten the rest; then it is told, not drawn.
FAR = 3.0
_HEADROOM = 1.08
# A bar of a day is no wider than it is in a week.
_LEAST_DAYS = 7
_TICKS = 4
_LEAST_TOP = 0.4
_COLOURS = 9
_WIDE_DATES, _NARROW_DATES = 10, 5
# How what a request sends is billed, from the bottom of the chart upwards.
_BILLED = (
    ("cache_read_tokens", "fill read", "read from the cache"),
    ("cache_written_tokens", "fill written", "written to the cache"),
    ("input_tokens", "fill fresh", "not cached"),
)


class Size(NamedTuple):
    """How large a drawing is, in its own units, and how much of it the labels take."""

    style: str
    width: int
    height: int
    left: int
    bottom: int = 24


# One for wide pages, one for a phone: letters are as large in either.
SIZES = (Size("wide", 1000, 280, 58), Size("narrow", 360, 230, 46))
LOW_SIZES = (Size("wide", 1000, 130, 58), Size("narrow", 360, 120, 46))


class Shape(NamedTuple):
    """A path, its class and what it stands for."""

    path: str
    style: str
    name: str


class Link(NamedTuple):
    """A bar that leads somewhere."""

    x: float
    width: float
    address: str
    name: str


class Mark(NamedTuple):
    """Something at one moment: a line from top to bottom, or a letter at the upper edge."""

    x: float
    style: str
    letter: str
    name: str


@dataclass
class Plot:
    """All that the template needs to draw one chart."""

    size: Size
    count: int
    top: float
    """The value at the upper edge."""
    shapes: list[Shape] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    rules: list[tuple[float, str]] = field(default_factory=list)
    """Ticks: where, and the label."""
    below: list[tuple[float, str]] = field(default_factory=list)
    piled: list[float] = field(default_factory=list)
    """How high the bands reach that are drawn."""

    def x_of_column(self, column: float) -> float:
        """Where a column begins."""
        room = self.size.width - self.size.left
        return round(self.size.left + room * column / max(1, self.count), 1)

    def y_of_value(self, value: float) -> float:
        """Where a value stands."""
        room = self.size.height - self.size.bottom - 18
        return round(18 + room * (1 - min(1.0, max(0.0, value / self.top))), 1)


def fullest_moment_per_column(moments: Sequence[Moment]) -> list[Moment]:
    """The requests that are drawn: all of them, or the fullest of each group of neighbours."""
    count = min(len(moments), MOST_COLUMNS)
    edges = [len(moments) * at // count for at in range(count + 1)] if count else []
    groups = [moments[low:high] for low, high in itertools.pairwise(edges)]
    # The chart ends where the session stands.
    return [*(max(group, key=lambda one: one.tokens) for group in groups[:-1]), *moments[-1:]]


def occupancy_plot(story: Story, shown: Sequence[Moment], size: Size) -> Plot:
    """Return how full it was, stacked by what it consisted of, with the brim and what happened."""
    peak = max((moment.tokens for moment in shown), default=1)
    brims = [moment.reading.compaction.tokens for moment in shown]
    near = [brim for brim in brims if brim <= FAR * peak]
    plot = _plot_with_ticks(size, len(shown), max([peak, *near]))
    _add_composition_bands(plot, shown)
    if near:
        plot.shapes.append(Shape(_step_path(plot, brims), "line brim", "the brim"))
    _add_compaction_marks(plot, shown)
    if shown and len(story.compactions) > shown[-1].segment:
        name = f"compacted after request {shown[-1].number}"
        plot.marks.append(Mark(plot.x_of_column(plot.count) - 1, "compaction", "", name))
    _add_marks_of_announced_tiers(plot, story, shown)
    for at in range(0, plot.count, max(1, plot.count // 6)):
        if plot.x_of_column(at) < plot.size.width - 30:
            plot.below.append((plot.x_of_column(at), f"{shown[at].number}"))
    return plot


def forecast_plot(shown: Sequence[Moment], size: Size) -> Plot:
    """How many requests were left at each moment: as it was forecast then, and as it came."""
    bounds = [(each.outlook.low, each.outlook.high) if each.outlook else (0, 0) for each in shown]
    middles = [each.outlook.ops if each.outlook else None for each in shown]
    lows, highs = [low for low, _ in bounds], [high for _, high in bounds]
    plot = _plot_with_ticks(size, len(shown), max([*highs, 1]))
    came = _actual_requests_left_per_moment(shown)
    plot.shapes.append(Shape(_band_path(plot, lows, highs), "fill band", "forecast, 4 of 5 within"))
    plot.shapes.append(Shape(_step_path(plot, middles), "line middle", "forecast, middle"))
    plot.shapes.append(Shape(_step_path(plot, came), "line came", "as it came"))
    return plot


def _actual_requests_left_per_moment(shown: Sequence[Moment]) -> list[int | None]:
    """How many requests came before the next compaction; of the last stretch nobody knows yet."""
    ends = {moment.segment: moment.number for moment in shown}
    return [
        None if moment.segment == shown[-1].segment else ends[moment.segment] - moment.number
        for moment in shown
    ]


def cache_plot(shown: Sequence[Moment], size: Size) -> Plot:
    """What each request read from the cache and wrote to it, and where the cache was lost."""
    plot = _plot_with_ticks(size, len(shown), max((each.tokens for each in shown), default=1))
    for billed, style, name in _BILLED:
        _add_band_to_plot_stack(
            plot, [getattr(moment.spent, billed) for moment in shown], style, name
        )
    for at, moment in enumerate(shown):
        if moment.broke:
            lost = f"{moment.broke.tokens:,} written again: {moment.broke.cause}"
            name = f"request {moment.number}: {lost}"
            plot.marks.append(Mark(plot.x_of_column(at + 0.5), "break", "×", name))
    return plot


def daily_bar_plots(
    days: Sequence[str],
    series: Sequence[tuple[str, Sequence[float]]],
    unit: str = "",
) -> list[Plot]:
    """A bar for each day, stacked by name, with a link to the page of that day."""
    tops = [sum(values[at] for _, values in series) for at in range(len(days))]
    plots = []
    for size in LOW_SIZES:
        plot = _plot_with_ticks(size, max(len(days), _LEAST_DAYS), max([*tops, _LEAST_TOP]), unit)
        for at, (name, values) in enumerate(series):
            _add_band_to_plot_stack(plot, values, f"fill s{min(at, _COLOURS - 1)}", name)
        for at, day in enumerate(days):
            if tops[at]:
                left, right = plot.x_of_column(at), plot.x_of_column(at + 1)
                told = f"{day}: {_label_of_value(tops[at], unit)}"
                plot.links.append(Link(left, right - left, f"/day?day={day}", told))
        _add_date_labels(plot, days)
        plots.append(plot)
    return plots


def _add_date_labels(plot: Plot, days: Sequence[str]) -> None:
    """Dates below the bars, as many as there is room for, without the year."""
    room = _WIDE_DATES if plot.size.style == "wide" else _NARROW_DATES
    for at in range(0, len(days), max(1, -(-len(days) // room))):
        if plot.x_of_column(at) < plot.size.width - 36:
            plot.below.append((plot.x_of_column(at), days[at][5:]))


def _plot_with_ticks(size: Size, count: int, highest: float, unit: str = "") -> Plot:
    top = highest * _HEADROOM
    plot = Plot(size, count, top)
    step = _round_tick_step_up(top / _TICKS)
    at = 0.0
    while at <= top:
        label = f"{at:.1f}" if 0 < step < 1 else short_token_count_text(round(at))
        plot.rules.append((plot.y_of_value(at), unit + label))
        at += step
    return plot


def _label_of_value(value: float, unit: str) -> str:
    return f"{unit}{value:,.2f}" if unit else short_token_count_text(round(value))


def _round_tick_step_up(step: float) -> float:
    """The next round number."""
    size = 10.0 ** math.floor(math.log10(step))
    return next((size * factor for factor in (1, 2, 5) if size * factor >= step), size * 10)


def _add_band_to_plot_stack(plot: Plot, values: Sequence[float], style: str, name: str) -> None:
    """Draw a band upon those that were drawn before it; none where there is nothing of it."""
    floors = plot.piled or [0.0] * len(values)
    plot.piled = list(map(operator.add, floors, values))
    if any(values):
        plot.shapes.append(Shape(_band_path(plot, floors, plot.piled), style, name))


def _parts_scaled_to_used_tokens(one: Moment) -> dict[str, float]:
    """The parts so that they add up: what was dropped, of whatever, comes off all alike."""
    parts = {kind: tokens for kind, tokens in one.parts.items() if tokens > 0}
    scale = min(1.0, one.tokens / max(1, sum(parts.values())))
    return {kind: tokens * scale for kind, tokens in parts.items()}


def _add_composition_bands(plot: Plot, shown: Sequence[Moment]) -> None:
    parts = [_parts_scaled_to_used_tokens(moment) for moment in shown]
    for kind, name in NAMES.items():
        _add_band_to_plot_stack(plot, [each.get(kind, 0.0) for each in parts], f"fill {kind}", name)


def _add_compaction_marks(plot: Plot, shown: Sequence[Moment]) -> None:
    for at, (before, moment) in enumerate(itertools.pairwise(shown), 1):
        if before.segment != moment.segment:
            name = f"compacted before request {moment.number}"
            plot.marks.append(Mark(plot.x_of_column(at), "compaction", "", name))


def _add_marks_of_announced_tiers(plot: Plot, story: Story, shown: Sequence[Moment]) -> None:
    numbers = [moment.number for moment in shown]
    for notice in story.figures.messages:
        number = story.count_answered_by_time(notice.at)
        place = bisect_left(numbers, number)
        if number and place < len(numbers):
            name = f"request {number}: L{notice.tier} announced"
            plot.marks.append(Mark(plot.x_of_column(place + 0.5), "tier", f"L{notice.tier}", name))


def _step_path(plot: Plot, values: Sequence[float | None]) -> str:
    """A line that holds each value for the width of its column; a gap where there is none."""
    found: list[str] = []
    last = None
    for at, value in enumerate(values):
        if value is None:
            last = None
            continue
        y = plot.y_of_value(value)
        if y != last:
            found.append(f"M{plot.x_of_column(at)} {y}" if last is None else f"V{y}")
            last = y
        found.append(f"H{plot.x_of_column(at + 1)}")
    return "".join(found)


def _band_path(plot: Plot, lows: Sequence[float], highs: Sequence[float]) -> str:
    """Return what lies between two lines of steps."""
    if not highs:
        return ""
    back = "".join(
        f"V{plot.y_of_value(low)}H{plot.x_of_column(at)}"
        for at, low in reversed(list(enumerate(lows)))
    )
    return f"{_step_path(plot, highs)}{back}Z"
