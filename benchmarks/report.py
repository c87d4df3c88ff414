"""The page of results: one table of times and ratios, the targets, how to repeat it. Pure."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks import stats
from benchmarks.world import (
    BELOW,
    EMPTY,
    REPLACED_SIZES,
    precompact_name,
    quiet_name,
    replacing_name,
    size_name,
)

LARGEST_QUIET_RATIO = 1.25
LARGEST_GROWTH_RATIO = 1.1
LARGEST_REPLACING_RATIOS = (10, 40)
LARGEST_PRECOMPACT_RATIO = 15
_NO_FORECAST = (
    "Not part of this run. Point `BENCH_GROWTH` to a table of recorded segments and repeat it, "
    "or run `python benchmarks/forecast.py` on transcripts."
)


class Run(NamedTuple):
    """Everything the page tells."""

    python: str
    cores: int
    load_before: float
    load_after: float
    warmup: int
    sizes: list[int]
    skipped: list[str]
    seconds: dict[str, list[float]]
    forecast: str | None
    command: str


def render(run: Run, others: list[str] | None = None) -> str:
    """The page in Markdown, with what other benchmarks found behind it."""
    parts = [
        "# Results",
        "## What a hook costs",
        f"Made by `{run.command}`; do not edit.",
        _conditions(run),
        "\n".join(_table(run)),
        *run.skipped,
        "\n".join(_targets(run)),
        "### How it is measured",
        _METHOD,
        "## The forecast",
        f"```\n{run.forecast}\n```" if run.forecast else _NO_FORECAST,
        *(others or []),
    ]
    return "\n\n".join(parts) + "\n"


def _conditions(run: Run) -> str:
    return (
        f"{run.python}, {run.cores} cores, load {run.load_before:.1f} before the run and "
        f"{run.load_after:.1f} at its end (the run itself adds about 1). "
        f"{len(run.seconds[EMPTY])} rounds after {run.warmup} for warming up."
    )


_METHOD = """\
- Every round starts each process once, in a new order, by `posix_spawn`, and takes the time until \
it has ended. Standard input is a file with a real event, standard output a file that is checked \
after every start: a quiet hook printed nothing, a crossing printed one JSON document.
- All processes get the same environment, and all run on the interpreter that `brimline install` \
chooses. Hooks are started with the arguments that the installer writes.
- The ratio is to an empty interpreter of the same run. Its interval (95 %) comes from resampling \
whole rounds. No sample is dropped. Milliseconds depend on the machine and its load, ratios hardly.
- The empty interpreter shuts down in order and a hook leaves by `_exit`, so a hook that did \
nothing would be below 1.
- The status line is started without the shell that the client puts in front of it."""


def _table(run: Run) -> list[str]:
    lines = [
        "| what is started | median ms | p95 | min | × empty, medians | 95 % interval | minima |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    base = run.seconds[EMPTY]
    for name, seconds in run.seconds.items():
        found = stats.figures(seconds)
        times = f"{found.median_ms:.2f} | {found.p95_ms:.2f} | {found.min_ms:.2f}"
        ratio = stats.ratio(seconds, base)
        ratios = f"{ratio.of_medians:.2f} | {_interval(ratio)} | {ratio.of_minima:.2f}"
        lines.append(f"| {name} | {times} | {ratios if name != EMPTY else '1 | | 1'} |")
    return lines


def _targets(run: Run) -> list[str]:
    base = run.seconds[EMPTY]
    quiet = {size: run.seconds[quiet_name(size)] for size in run.sizes}
    dearest = max(
        [stats.ratio(seconds, base) for seconds in quiet.values()], key=lambda one: one.of_medians
    )
    lines = [
        "| target | found | |",
        "|---|---|---|",
        _target("quiet hook to empty interpreter, dearest size", dearest, LARGEST_QUIET_RATIO),
    ]
    if len(run.sizes) > 1:
        first, last = run.sizes[0], run.sizes[-1]
        growth = stats.ratio(quiet[last], quiet[first])
        label = f"quiet hook at {size_name(last)} to {size_name(first)}"
        lines.append(_target(label, growth, LARGEST_GROWTH_RATIO))
    below = stats.ratio(run.seconds[BELOW], base)
    lines.append(_target(f"{BELOW} to empty interpreter", below, LARGEST_QUIET_RATIO))
    for size, largest in zip(REPLACED_SIZES, LARGEST_REPLACING_RATIOS, strict=True):
        name = replacing_name(size)
        ratio = stats.ratio(run.seconds[name], base)
        lines.append(_target(f"{name} to empty interpreter", ratio, largest))
    largest = run.sizes[:2][-1]
    before = stats.ratio(run.seconds[precompact_name(largest)], base)
    name = f"{precompact_name(largest)} to empty interpreter"
    lines.append(_target(name, before, LARGEST_PRECOMPACT_RATIO))
    return lines


def _target(label: str, ratio: stats.Ratio, largest: float) -> str:
    verdict = "met" if ratio.of_medians <= largest else "**missed**"
    found = f"{ratio.of_medians:.2f} ({_interval(ratio)}), minima {ratio.of_minima:.2f}"
    return f"| {label}: at most {largest:g} | {found} | {verdict} |"


def _interval(ratio: stats.Ratio) -> str:
    return f"{ratio.low:.2f}–{ratio.high:.2f}"
