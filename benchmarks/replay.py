"""Replays recorded sessions with offloading: how much it saves, and what stays in sight.

    python benchmarks/offload.py ~/.claude/projects
    BRIMLINE_CORPUS=folder python benchmarks/offload.py --budgets 1000 3000 --sessions --split

A segment is what lies between two compactions; those whose fullest request held 100,000 tokens or
more are judged. Results are replaced by the product's own rules, previews and wording.

stub      mean characters that stand in for a result
saved     tokens that the fullest request would have held less, as a share of it: of all segments
          together (`all`), of the mean segment, and of segments in a window of 200,000 (`200k`)
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
import re
import sys
from functools import cache
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks import conversation
from brimline.gauge.reading import characters_per_token
from brimline.gauge.window import DEFAULT_WINDOW_TOKENS
from brimline.offload import decide as deciding
from brimline.offload import preview as previews
from brimline.offload.reference import reference
from brimline.offload.source import count_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.conversation import Item, Segment

    Maker = Callable[[Item, str], str]
    Names = Callable[[str], frozenset[str]]

FULLEST_TOKENS = 100_000
HORIZON_BLOCKS = 40
TARGET_SAVED, TARGET_KEPT = 0.12, 0.80
BASELINE_CHARACTERS = 1_500
# What the split test chooses from: the largest preview of code, prose and diffs.
CEILINGS = (1_500, 2_000, 2_500, 3_000, 4_000, 5_000, 7_000)
SPLITS = 200
KEY = "sha256:" + "0" * 64

_RUN = re.compile(r"[A-Za-z0-9_~@.][A-Za-z0-9_./@~-]*[A-Za-z0-9_]")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{5,}")
_CODED = re.compile(r"[a-z0-9][A-Z]|_|\d|[A-Z]{2}")
_ALARM = re.compile(r"error|warn|fail|panic|exception|traceback|fatal", re.IGNORECASE)
_NUMBERING = re.compile(r"^ *\d+(?:→|\t)", re.MULTILINE)
_REMINDER = "\n<system-reminder>"
_HEADER = (
    f"{'':24}                ────── saved ──────  ──────── kept ────────\n"
    f"{'':24}results   stub     all   mean   200k  names +thought  words   used  short"
)


class Score(NamedTuple):
    """What replacing did to one segment."""

    segment: Segment
    stubs: dict[int, str]
    saved_tokens: float
    uses: list[tuple[int, int]]
    """Names needed and names in sight, by measure."""
    short: int


@cache
def identifiers(text: str) -> frozenset[str]:
    """Paths, symbols and hashes of six characters or more, whole and in their parts."""
    found = set()
    for run in _RUN.findall(text):
        if len(run) >= 6 and ("/" in run or "." in run[:-1] or _CODED.search(run)):
            found.add(run)
        found.update(word for word in _WORD.findall(run) if _CODED.search(word))
    return frozenset(found)


@cache
def words(text: str) -> frozenset[str]:
    """Every word of six letters or more."""
    return frozenset(_WORD.findall(text))


# What counts as a name, and whether thinking counts as use.
MEASURES = ((identifiers, False), (identifiers, True), (words, False))


def main() -> int:
    """Print the comparison and, where asked for, sessions and split test."""
    arguments = _parser().parse_args()
    try:
        segments = load(arguments.paths)
    except OSError as error:
        print(f"Cannot read {error.filename}: {error.strerror}.", file=sys.stderr)
        return 2
    if not segments:
        print(f"No segment reached {FULLEST_TOKENS:,} tokens.", file=sys.stderr)
        return 2
    sessions = sorted({segment.session for segment in segments})
    rules = _rules(arguments.thresholds)
    print(f"{len(segments)} segments of {len(sessions)} sessions\n\n{_HEADER}")
    print(line("head + errors + tail", judge(segments, make_baseline, rules)))
    shipped = judge(segments, make_product(), rules)
    print(line("brimline", shipped))
    for budget in arguments.budgets:
        print(line(f"  {budget:,} characters", judge(segments, make_product(budget=budget), rules)))
    if arguments.sessions:
        for session in sessions:
            print(line(f"  {session[:22]}", [s for s in shipped if s.segment.session == session]))
    if arguments.split:
        _print_split(shipped, sessions, rules)
    missed = saved(shipped) < TARGET_SAVED or kept(shipped) < TARGET_KEPT
    return int(arguments.check and missed)


def load(paths: list[str]) -> list[Segment]:
    """Every segment that is full enough, of the transcripts and folders named.

    Raises:
        OSError: a file cannot be read.
    """
    return [
        segment
        for path in conversation.files(paths)
        for segment in conversation.read(path)
        if segment.fullest_tokens >= FULLEST_TOKENS
    ]


def judge(
    segments: list[Segment], make: Maker, rules: deciding.Rules = deciding.DEFAULT
) -> list[Score]:
    """Replace what the rules say, and look at what the assistant did next."""
    scores = []
    for segment in segments:
        stubs = replay(segment, make, rules)
        saved_characters = sum(
            len(segment.items[index].text) - len(stub)
            for index, stub in stubs.items()
            if index < segment.fullest_at
        )
        counts = [_count(segment, stubs, names, thinking) for names, thinking in MEASURES]
        uses = [_total(each) for each in counts]
        short = {index for index, (needed, found) in counts[0].items() if found < needed}
        short |= {index for index in stubs if _changed_unseen(segment, index)}
        tokens = saved_characters / characters_per_token(segment.model)
        scores.append(Score(segment, stubs, tokens, uses, len(short)))
    return scores


def replay(segment: Segment, make: Maker, rules: deciding.Rules) -> dict[int, str]:
    """The stub of each result that is replaced, as the model is shown it."""
    ratio = characters_per_token(segment.model)
    stubs: dict[int, str] = {}
    seen: set[str] = set()
    for index, item in enumerate(segment.items):
        if item.kind != "result" or item.is_fixed:
            continue
        content = content_of(item)
        if deciding.decide(item.tool, item.tool_input, content, rules, seen).replace:
            stub = make(item, content)
            if deciding.is_worth_it(content, stub, rules, ratio):
                stubs[index] = _as_shown(item, stub)
        if item.tool == "Read":
            seen.add(str(item.tool_input.get("file_path")))
    return stubs


def content_of(item: Item) -> str:
    """What the hook is given: of a file its content, without what the client puts around it."""
    if item.tool != "Read":
        return item.text
    return _NUMBERING.sub("", item.text.partition(_REMINDER)[0])


def _as_shown(item: Item, stub: str) -> str:
    """The client numbers the lines of a stub as it does those of a file, and adds its reminder."""
    if item.tool != "Read":
        return stub
    match = _NUMBERING.match(item.text)
    numbering = match[0] if match else ""
    _, reminder, rest = item.text.partition(_REMINDER)
    return "\n".join([numbering + row for row in stub.split("\n")]) + reminder + rest


def _count(
    segment: Segment, stubs: dict[int, str], names: Names, thinking: bool
) -> dict[int, tuple[int, int]]:
    """For each replaced result: how many of its names were used soon, and how many in sight."""
    items, counts, scanned = segment.items, {}, 0
    earlier: set[str] = set()
    for index in sorted(stubs):
        earlier.update(*[names(item.text) for item in items[scanned:index]])
        scanned = index
        fresh, visible = set(names(items[index].text) - earlier), set(names(stubs[index]))
        needed = found = blocks = 0
        for later in range(index + 1, len(items)):
            item = items[later]
            if item.kind == "result":
                visible |= names(stubs.get(later, item.text))
            elif item.kind != "other":
                blocks += 1
                if blocks > HORIZON_BLOCKS:
                    break
                if item.kind != "thinking" or thinking:
                    used = names(item.text) & fresh
                    needed, found = needed + len(used), found + len(used & visible)
                    fresh -= used
        counts[index] = (needed, found)
    return counts


def _total(counts: dict[int, tuple[int, int]]) -> tuple[int, int]:
    return sum(needed for needed, _ in counts.values()), sum(found for _, found in counts.values())


def _changed_unseen(segment: Segment, index: int) -> bool:
    """Whether the file of a replaced Read was changed soon after, without another look at it."""
    path, blocks = segment.items[index].tool_input.get("file_path"), 0
    for item in segment.items[index + 1 :] if segment.items[index].tool == "Read" else ():
        if item.kind == "result" and item.tool_input.get("file_path") == path:
            return item.tool in ("Edit", "MultiEdit", "Write")
        blocks += item.kind in ("text", "thinking", "call")
        if blocks > HORIZON_BLOCKS:
            break
    return False


def make_product(**options: Any) -> Maker:
    """What brimline puts in place of a result."""

    def make(item: Item, content: str) -> str:
        asked = item.tool_input
        source = str(asked.get("file_path") or asked.get("command") or asked.get("pattern") or "")
        meta = {
            "key": KEY,
            "bytes": len(content.encode("utf-8", "replace")),
            "lines": count_lines(content),
            "exit": 0 if item.tool == "Bash" else None,
            "tool": item.tool,
            "source": source,
        }
        return reference(meta, previews.make_preview(content, item.tool, source, **options))

    return make


def make_baseline(item: Item, content: str) -> str:
    """The plain alternative: the head, lines that sound alarming, the tail."""
    rows = content.split("\n")
    head = _fitting(rows, BASELINE_CHARACTERS * 2 // 5)
    tail = _fitting(rows[head:][::-1], BASELINE_CHARACTERS * 3 // 10)
    between = rows[head : len(rows) - tail]
    ends = [*rows[:head], *rows[len(rows) - tail :]]
    alarms = [row[:200] for row in between if _ALARM.search(row)]
    alarms = alarms[: _fitting(alarms, BASELINE_CHARACTERS - sum(len(row) + 1 for row in ends))]
    start = content[: BASELINE_CHARACTERS // 2] if not head else ""
    shown = [start, *rows[:head], "…", *alarms, "…", *rows[len(rows) - tail :]]
    return "\n".join([f"[brimline] {item.tool}, {KEY}", *shown, f"brimline store get {KEY}"])


def _fitting(rows: list[str], room: int) -> int:
    """How many of the rows fit."""
    for count, row in enumerate(rows):
        room -= len(row) + 1
        if room < 0:
            return count
    return len(rows)


def _print_split(judged: list[Score], sessions: list[str], rules: deciding.Rules) -> None:
    """Choose the ceiling on one half of the sessions, judge it on the other, many times over."""
    segments = [score.segment for score in judged]
    shipped = dict(previews.BUDGETS)
    measured = {}
    for ceiling in CEILINGS:
        for kind, budget in shipped.items():
            if budget.share:
                previews.BUDGETS[kind] = budget._replace(ceiling=ceiling)
        measured[ceiling] = judge(segments, make_product(), rules)
        print(line(f"  ceiling {ceiling:,}", measured[ceiling]))
    previews.BUDGETS.update(shipped)
    generator = random.Random(4)
    chosen, fixed = [], []
    for _ in range(SPLITS):
        half = set(generator.sample(sessions, len(sessions) // 2))
        ceiling = _smallest(measured, half)
        chosen.append([s for s in measured[ceiling] if s.segment.session not in half])
        fixed.append([s for s in judged if s.segment.session not in half])
    print(f"\n{SPLITS} times: half of the sessions left out, the other half judged")
    for name, halves in (("ceiling from the first half", chosen), ("as shipped", fixed)):
        savings, shares = sorted(map(mean_saved, halves)), sorted(map(kept, halves))
        print(
            f"{name:28} mean saved {median(savings):.1%} (5 %: {savings[SPLITS // 20]:.1%}), "
            f"names kept {median(shares):.2f} (5 %: {shares[SPLITS // 20]:.2f})"
        )


def _smallest(measured: dict[int, list[Score]], half: set[str]) -> int:
    """The smallest ceiling that keeps the target with a margin on these sessions."""
    for ceiling, scores in measured.items():
        if kept([s for s in scores if s.segment.session in half]) >= TARGET_KEPT + 0.1:
            return ceiling
    return CEILINGS[-1]


def line(name: str, scores: list[Score]) -> str:
    """One row of the table."""
    stubs = [len(stub) for s in scores for stub in s.stubs.values()]
    small = [s for s in scores if s.segment.fullest_tokens <= DEFAULT_WINDOW_TOKENS]
    parts = [kept(scores, measure) for measure in range(len(MEASURES))]
    return (
        f"{name:24}{len(stubs):7}{fmean(stubs or [0]):7.0f}"
        f"{saved(scores):8.1%}{mean_saved(scores):7.1%}{saved(small):7.1%}"
        f"{parts[0]:7.2f}{parts[1]:9.2f}{parts[2]:7.2f}"
        f"{sum(s.uses[0][0] for s in scores):7}{sum(s.short for s in scores):7}"
    )


def saved(scores: list[Score]) -> float:
    """Tokens saved of all that the fullest requests held."""
    whole = sum(s.segment.fullest_tokens for s in scores)
    return sum(s.saved_tokens for s in scores) / whole if whole else 0.0


def mean_saved(scores: list[Score]) -> float:
    """The same with every segment counting alike."""
    return fmean([s.saved_tokens / s.segment.fullest_tokens for s in scores] or [0.0])


def kept(scores: list[Score], measure: int = 0) -> float:
    """The share of needed names in sight; 1 where nothing was needed."""
    needed = sum(s.uses[measure][0] for s in scores)
    return sum(s.uses[measure][1] for s in scores) / needed if needed else 1.0


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
        counts_numbering=shipped.counts_numbering,
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


if __name__ == "__main__":
    sys.exit(main())
