"""Replays recorded sessions with offloading: how much it saves, and what stays in sight.

A segment is what lies between two compactions; those whose fullest request held 100,000 tokens or
more are judged. Results are replaced by the product's own rules, previews and wording.
"""

from __future__ import annotations

import re
from functools import cache
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks import conversation
from brimline.gauge.reading import characters_per_token
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
BASELINE_CHARACTERS = 1_500
KEY = "sha256:" + "0" * 64

_RUN = re.compile(r"[A-Za-z0-9_~@.][A-Za-z0-9_./@~-]*[A-Za-z0-9_]")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{5,}")
_CODED = re.compile(r"[a-z0-9][A-Z]|_|\d|[A-Z]{2}")
_ALARM = re.compile(r"error|warn|fail|panic|exception|traceback|fatal", re.IGNORECASE)
_NUMBERING = re.compile(r"^ *\d+(?:→|\t)", re.MULTILINE)
_REMINDER = "\n<system-reminder>"


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


def load(paths: list[str]) -> list[Segment]:
    """Every segment of the transcripts and folders named, in order.

    Raises:
        OSError: a file cannot be read.
    """
    return [segment for path in conversation.files(paths) for segment in conversation.read(path)]


def judge(
    segments: list[Segment], make: Maker, rules: deciding.Rules = deciding.DEFAULT
) -> list[Score]:
    """Replace what the rules say, and look at what the assistant did next in full segments."""
    previewed: dict[str, set[str]] = {}
    scores = []
    for segment in segments:
        # A file that was shown as a preview passes the next time, also after a compaction.
        stubs = replay(segment, make, rules, previewed.setdefault(segment.session, set()))
        if segment.fullest_tokens >= FULLEST_TOKENS:
            scores.append(_score(segment, stubs))
    return scores


def replay(
    segment: Segment, make: Maker, rules: deciding.Rules, previewed: set[str]
) -> dict[int, str]:
    """The stub of each result that is replaced, as the model is shown it."""
    ratio = characters_per_token(segment.model)
    stubs: dict[int, str] = {}
    for index, item in enumerate(segment.items):
        if item.kind != "result" or item.is_fixed:
            continue
        content = content_of(item)
        if not deciding.decide(item.tool, item.tool_input, content, rules, previewed).replace:
            continue
        stub = make(item, content)
        if deciding.is_worth_it(content, stub, rules, ratio):
            stubs[index] = _as_shown(item, stub)
            if item.tool == "Read":
                previewed.add(str(item.tool_input.get("file_path")))
    return stubs


def _score(segment: Segment, stubs: dict[int, str]) -> Score:
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
    return Score(segment, stubs, tokens, uses, len(short))


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
