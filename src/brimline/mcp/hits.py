"""What a query finds: the outputs of this project, each with the lines that fit best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline import clock
from brimline.mcp import pages, project
from brimline.store import fulltext, grep, layout, read, words
from brimline.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHORT_DIGITS = 12
_SOURCE_CHARACTERS = 60
_QUERY_CHARACTERS = 80
_PER_ANSWER = 10
_MOST_PER_ANSWER = 20
_LINES_PER_HIT = 5
_LINE_CHARACTERS = 240
_MINUTE_CHARACTERS = len("2026-01-08T15:49")
_HOW = {
    "all": "that hold",
    "some": "that hold some of (none holds all)",
    "inside": "that hold, as parts of words,",
}


def answer(home_dir: str, project_dir: str, query: str, asked: str, pattern: str) -> str:
    """The text for the model.

    Args:
        home_dir: the data folder.
        project_dir: the project whose outputs are searched.
        query: the words.
        asked: which hits, as `A:B`; empty for the first.
        pattern: a regular expression; empty for the lines that fit the query best.

    Raises:
        StoreError: the query, range or pattern is wrong, or the store cannot be read.
    """
    found = fulltext.search(home_dir, query, project.membership(project_dir))
    told = repr(pages.one_line(query, _QUERY_CHARACTERS))
    if not found.outputs and not found.pending:
        return "[brimline recall: no output of this project is stored yet]"
    if not found.keys:
        first = f"[brimline recall: none of {found.outputs:,} stored outputs holds {told}]"
        return "\n".join([first, *_notes(found)])
    count = len(found.keys)
    span = pages.span(asked, count, "hit") if asked else pages.Span(1, min(_PER_ANSWER, count))
    chosen = found.keys[span.first - 1 : span.last][:_MOST_PER_ANSWER]
    blocks = _blocks(home_dir, chosen, span.first, words.terms(query), pattern)
    last = span.first + len(blocks) - 1
    rest = f'; next: lines="{last + 1}:{min(last + _PER_ANSWER, count)}"' if last < count else ""
    shown = f"hits {span.first:,}-{last:,} of {count:,}"
    first = f"[brimline recall: {shown} {_HOW[found.how]} {told}{rest}]"
    return "\n".join([first, *blocks, *_notes(found)])


def short(key: str) -> str:
    """Enough of a key to find one output among more than any store holds."""
    return key[: len(layout.PREFIX) + _SHORT_DIGITS]


def named(key: str, meta: Mapping[str, Any]) -> str:
    """A key with where its content comes from."""
    tool, source, code = meta.get("tool"), meta.get("source"), meta.get("exit")
    known = [pages.one_line(tool, _SOURCE_CHARACTERS)] if isinstance(tool, str) else []
    if isinstance(source, str):
        known.append('"' + pages.one_line(source, _SOURCE_CHARACTERS).replace('"', "'") + '"')
    if isinstance(code, int):
        known.append(f"exit {code}")
    return f"{short(key)} ({' '.join(known)})" if known else short(key)


def moment(at: Any) -> str:
    """A time to the minute; empty where it is none."""
    if not isinstance(at, int | float):
        return ""
    try:
        return clock.format_utc(at)[:_MINUTE_CHARACTERS].replace("T", " ") + "Z"
    except (OverflowError, ValueError, OSError):  # no time that a calendar has
        return ""


def clipped(line: bytes, wanted: str, most: int) -> str:
    """A line, or of a long one the part around what is wanted."""
    text = pages.decoded(line)
    if len(text) <= most:
        return text
    place = max(0, text.casefold().find(wanted.casefold()) - most // 4) if wanted else 0
    before = "…" if place else ""
    return f"{before}{text[place : place + most]}… ({len(text):,} characters)"


def _blocks(
    home_dir: str, keys: list[str], first: int, wanted: list[str], pattern: str
) -> list[str]:
    """What is shown of each hit, as many as fit into one answer."""
    room = pages.ROOM
    blocks: list[str] = []
    for number, key in enumerate(keys, first):
        block = _hit(home_dir, number, key, wanted, pattern)
        room -= pages.width(block) + 1
        if room < 0:
            break
        blocks.append(block)
    return blocks


def _hit(home_dir: str, number: int, key: str, wanted: list[str], pattern: str) -> str:
    known = read.meta(home_dir, key)
    created, lines = moment(known.get("created")), known.get("lines")
    parts = [f"{number}. {named(key, known)}", *([created] if created else [])]
    if isinstance(lines, int):
        parts.append(f"{lines:,} lines")
    try:
        data = read.get(home_dir, key, touch=False)
    except StoreError:
        return ", ".join([*parts, "cannot be read any more"])
    return "\n".join([", ".join(parts), *_lines(data, wanted, pattern)])


def _lines(data: bytes, wanted: list[str], pattern: str) -> list[str]:
    if pattern:
        rows = [row for group in grep.grep(data, pattern) for row in group]
        picked = [(row.number, row.text) for row in rows[:_LINES_PER_HIT]]
        rest = len(rows) - len(picked)
    else:
        lines = grep.split(data[: fulltext.HEAD_BYTES])
        texts = [pages.decoded(line) for line in lines]
        best = words.best_lines(texts, wanted, _LINES_PER_HIT)
        picked = [(number + 1, lines[number]) for number in best]
        rest = 0
    sought = pattern or wanted[0]
    shown = [f"   {number}: {clipped(text, sought, _LINE_CHARACTERS)}" for number, text in picked]
    return [*shown, f"   and {rest:,} more that match"] if rest else shown


def _notes(found: fulltext.Found) -> list[str]:
    """What was not searched."""
    megabytes = fulltext.HEAD_BYTES // 1_000_000
    cases = (
        (found.pending, "were not searched for lack of time: ask again, the search goes on"),
        (found.binary, "are binary and were not searched"),
        (found.shortened, f"are large: only the first {megabytes} MB of each were searched"),
        (found.too_large, "are too large to be searched"),
        (found.damaged, "are damaged"),
    )
    return [f"Stored outputs that {told}: {count:,}." for count, told in cases if count]
