"""Prints what a replay with offloading found, and whether the target holds.

    python benchmarks/offload.py ~/.claude/projects
    BRIMLINE_CORPUS=folder python benchmarks/offload.py --budgets 1000 3000 --sessions --split

stub      mean characters that stand in for a result
saved     tokens that the fullest request would have held less, as a share of it: in the mean
          segment (`mean`, the target's measure), of all segments together (`all`), and of those in
          a window of 200,000 (`200k`)
kept      of the names that the assistant uses in its next 40 blocks, that occur in the replaced
          result and nowhere before it, the share that is still in the stub, or in another result
          (as replaced) before the use; `names` are paths, symbols and hashes of six characters or
          more in its texts and tool calls, `+thought` counts its thinking as well, `words` counts
          every word of six letters
used      how many such names there were
short     results that it would have had to fetch: a name was out of sight, or it changed a file
          that it had not read in any other way
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from benchmarks import replay
from benchmarks.replay import kept, mean_saved, saved
from brimline.gauge.window import DEFAULT_WINDOW_TOKENS
from brimline.offload import decide as deciding
from brimline.offload import preview as previews

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.conversation import Segment
    from benchmarks.replay import Score

TARGET_SAVED, TARGET_KEPT = 0.12, 0.80
DRAWS = 2_000
# What the split test chooses from: the largest preview of code, prose and diffs.
CEILINGS = (1_500, 2_000, 2_500, 3_000, 4_000, 5_000, 7_000)
SPLITS = 200
_HEADER = (
    f"{'':24}                ────── saved ──────  ──────── kept ────────\n"
    f"{'':24}results   stub    mean    all   200k  names +thought  words   used  short"
)


def main() -> int:
    """Print the comparison and, where asked for, sessions and split test."""
    arguments = _parser().parse_args()
    try:
        segments = replay.load(arguments.paths)
    except OSError as error:
        print(f"Cannot read {error.filename}: {error.strerror}.", file=sys.stderr)
        return 2
    rules = _rules(arguments.thresholds)
    shipped = replay.judge(segments, replay.make_product(), rules)
    if not shipped:
        print(f"No segment reached {replay.FULLEST_TOKENS:,} tokens.", file=sys.stderr)
        return 2
    sessions = sorted({score.segment.session for score in shipped})
    print(f"{len(shipped)} segments of {len(sessions)} sessions\n\n{_HEADER}")
    print(line("head + errors + tail", replay.judge(segments, replay.make_baseline, rules)))
    print(line("brimline", shipped))
    for budget in arguments.budgets:
        judged = replay.judge(segments, replay.make_product(budget=budget), rules)
        print(line(f"  {budget:,} characters", judged))
    if arguments.sessions:
        for session in sessions:
            print(line(f"  {session[:22]}", [s for s in shipped if s.segment.session == session]))
    if arguments.split:
        _print_split(segments, shipped, sessions, rules)
    missed = mean_saved(shipped) < TARGET_SAVED or kept(shipped) < TARGET_KEPT
    print(f"\n{_verdict(shipped, missed)}")
    return int(arguments.check and missed)


def line(name: str, scores: list[Score]) -> str:
    """One row of the table."""
    stubs = [len(stub) for s in scores for stub in s.stubs.values()]
    small = [s for s in scores if s.segment.fullest_tokens <= DEFAULT_WINDOW_TOKENS]
    parts = [kept(scores, measure) for measure in range(len(replay.MEASURES))]
    return (
        f"{name:24}{len(stubs):7}{fmean(stubs or [0]):7.0f}"
        f"{mean_saved(scores):8.1%}{saved(scores):7.1%}{saved(small):7.1%}"
        f"{parts[0]:7.2f}{parts[1]:9.2f}{parts[2]:7.2f}"
        f"{sum(s.uses[0][0] for s in scores):7}{sum(s.short for s in scores):7}"
    )


def interval(scores: list[Score], figure: Callable[[list[Score]], float]) -> tuple[float, float]:
    """Between what a figure lies in nine of ten samples, sessions drawn with replacement."""
    by_session: dict[str, list[Score]] = {}
    for score in scores:
        by_session.setdefault(score.segment.session, []).append(score)
    generator = random.Random(4)
    sessions = list(by_session.values())
    figures = sorted(
        figure([score for drawn in generator.choices(sessions, k=len(sessions)) for score in drawn])
        for _ in range(DRAWS)
    )
    return figures[DRAWS // 20], figures[-DRAWS // 20]


def _verdict(scores: list[Score], missed: bool) -> str:
    low, high = interval(scores, mean_saved)
    least, most = interval(scores, kept)
    return (
        f"Target {'missed' if missed else 'held'}: "
        f"{mean_saved(scores):.1%} saved ({low:.1%} to {high:.1%}) of {TARGET_SAVED:.0%}, "
        f"{kept(scores):.2f} kept ({least:.2f} to {most:.2f}) of {TARGET_KEPT:.2f}."
    )


def _print_split(
    segments: list[Segment], shipped: list[Score], sessions: list[str], rules: deciding.Rules
) -> None:
    """Choose the ceiling on one half of the sessions, judge it on the other, many times over."""
    measured = {}
    for ceiling in CEILINGS:
        measured[ceiling] = _judge_with(ceiling, segments, rules)
        print(line(f"  ceiling {ceiling:,}", measured[ceiling]))
    generator = random.Random(4)
    chosen, fixed = [], []
    for _ in range(SPLITS):
        half = set(generator.sample(sessions, len(sessions) // 2))
        ceiling = _smallest(measured, half)
        chosen.append([s for s in measured[ceiling] if s.segment.session not in half])
        fixed.append([s for s in shipped if s.segment.session not in half])
    print(f"\n{SPLITS} times: half of the sessions left out, the other half judged")
    for name, halves in (("ceiling from the first half", chosen), ("as shipped", fixed)):
        savings, shares = sorted(map(mean_saved, halves)), sorted(map(kept, halves))
        print(
            f"{name:28} mean saved {median(savings):.1%} (5 %: {savings[SPLITS // 20]:.1%}), "
            f"names kept {median(shares):.2f} (5 %: {shares[SPLITS // 20]:.2f})"
        )


def _judge_with(ceiling: int, segments: list[Segment], rules: deciding.Rules) -> list[Score]:
    shipped = dict(previews.BUDGETS)
    for kind, budget in shipped.items():
        if budget.share:
            previews.BUDGETS[kind] = previews.Budget(budget.floor, budget.share, ceiling)
    try:
        return replay.judge(segments, replay.make_product(), rules)
    finally:
        previews.BUDGETS.update(shipped)


def _smallest(measured: dict[int, list[Score]], half: set[str]) -> int:
    """The smallest ceiling that keeps the target with a margin on these sessions."""
    for ceiling, scores in measured.items():
        if kept([s for s in scores if s.segment.session in half]) >= TARGET_KEPT + 0.1:
            return ceiling
    return CEILINGS[-1]


def _rules(thresholds: list[int] | None) -> deciding.Rules:
    shipped = deciding.DEFAULT
    if not thresholds:
        return shipped
    inline, read = thresholds
    sizes = {tool: read if tool == "Read" else inline for tool in shipped.thresholds}
    return deciding.Rules(
        sizes,
        least_tokens=shipped.least_tokens,
        least_ratio=shipped.least_ratio,
        code_bytes=None,
    )


def _parser() -> argparse.ArgumentParser:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("BRIMLINE_CORPUS")
    parser.add_argument(
        "paths",
        nargs="*" if default else "+",
        default=[default] if default else None,
        help="transcripts or folders of transcripts (default: $BRIMLINE_CORPUS)",
    )
    numbers: dict[str, Any] = {"type": int, "metavar": "N"}
    parser.add_argument(
        "--budgets", nargs="+", default=[], help="fixed sizes to compare", **numbers
    )
    parser.add_argument("--thresholds", nargs=2, help="bytes: other tools, Read", **numbers)
    parser.add_argument("--sessions", action="store_true", help="a line for each session")
    parser.add_argument("--split", action="store_true", help="choose on a half, judge on the other")
    parser.add_argument("--check", action="store_true", help="exit 1 where a target is missed")
    return parser
