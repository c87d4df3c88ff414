"""Rules that their authors marked `(ENFORCED)` or `(CRITICAL)`: found, told apart, fitted. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from brimline.rules.markdown import BLANK, CODE, COMMENT, TEXT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from brimline.rules.markdown import Document, Line
    from brimline.rules.model import Source

MARK = re.compile(r"\((?:ENFORCED|CRITICAL)\)")
_FULL_LINE_CHARACTERS = 60
_SENTENCE_GOES_ON = (",", ";", ":", "(", "-", "–", "—", "/", "&", "+")


class MarkedRule(NamedTuple):
    """One rule that must not be lost."""

    text: str
    """As written: a line with what it wraps onto, a list item, or a heading with its section."""
    path: str
    line: int
    """Where it begins, counted from 1."""


def marked_in(sources: Iterable[Source]) -> list[MarkedRule]:
    """The marked rules of files in their order, each text once."""
    found: dict[str, MarkedRule] = {}
    for source in sources:
        if source.document is None or source.excluded:
            continue
        for first, text in _marked_of(source.document):
            found.setdefault(" ".join(text.split()), MarkedRule(text, source.path, first))
    return list(found.values())


def fit(
    marked: Sequence[MarkedRule], budget_characters: int, overhead_characters: int = 1
) -> tuple[list[MarkedRule], list[MarkedRule]]:
    """Those that fit, in their order, and those that do not; none is shortened.

    A rule that is too long makes way for the shorter ones after it. Each costs its text and the
    overhead, by default a line end.
    """
    kept: list[MarkedRule] = []
    cut: list[MarkedRule] = []
    left = budget_characters
    for rule in marked:
        cost = len(rule.text) + overhead_characters
        (kept if cost <= left else cut).append(rule)
        left -= cost if cost <= left else 0
    return kept, cut


def _marked_of(document: Document) -> list[tuple[int, str]]:
    """The first line and the text of each marked passage; one inside another counts once."""
    lines = document.lines
    found: list[tuple[int, str]] = []
    done = -1
    for at, line in enumerate(lines):
        if at <= done or line.kind != TEXT or not MARK.search(line.plain):
            continue
        first, last = _passage(lines, at)
        first = max(first, done + 1)
        text = _text_of(lines[first : last + 1])
        if MARK.sub("", text).strip():
            found.append((lines[first].number, text))
        done = last
    return found


def _passage(lines: Sequence[Line], at: int) -> tuple[int, int]:
    """The first and the last line of what the mark at a line stands for."""
    line = lines[at]
    if line.heading:
        return _heading_start(lines, at), _section_end(lines, at)
    if line.items:
        return _item(lines, at)
    return _wrapped(lines, at)


def _heading_start(lines: Sequence[Line], at: int) -> int:
    while at and lines[at - 1].heading and lines[at - 1].block == lines[at].block:
        at -= 1
    return at


def _section_end(lines: Sequence[Line], at: int) -> int:
    """The last line before the next heading of the same or a higher level."""
    level, block, end = lines[at].heading, lines[at].block, at
    for index in range(at + 1, len(lines)):
        line = lines[index]
        if line.heading and line.heading <= level and line.block != block:
            break
        end = end if line.kind in (BLANK, COMMENT) else index
    return end


def _item(lines: Sequence[Line], at: int) -> tuple[int, int]:
    """The innermost list item around a line, with all that is nested in it."""
    number = lines[at].items[-1]
    first = at
    while first and number in lines[first - 1].items:
        first -= 1
    last = at
    for index in range(at + 1, len(lines)):
        if number not in lines[index].items or _is_stray(lines, first, index):
            break
        last = last if lines[index].kind in (BLANK, COMMENT) else index
    return first, last


def _is_stray(lines: Sequence[Line], first: int, index: int) -> bool:
    """Whether a line belongs to an item only because Markdown takes it in: it is not indented."""
    line = lines[index]
    margin = _margin(lines[first].text)
    stray = line.kind == TEXT and line.items[-1] == lines[first].number
    return stray and _margin(line.text) <= margin and not _wraps(lines[index - 1], line)


def _margin(text: str) -> int:
    return len(text) - len(text.lstrip())


def _wrapped(lines: Sequence[Line], at: int) -> tuple[int, int]:
    """A line with its neighbours of the same paragraph, as far as a sentence was wrapped."""
    first = last = at
    while first and _wraps(lines[first - 1], lines[first]):
        first -= 1
    while last + 1 < len(lines) and _wraps(lines[last], lines[last + 1]):
        last += 1
    if lines[last].text.rstrip(" *_").endswith(":"):
        last = _announced(lines, last)
    return first, last


def _wraps(one: Line, other: Line) -> bool:
    """Whether a sentence goes on from one line to the next; lines are often ended by hand."""
    if one.kind != TEXT or other.kind != TEXT or one.block != other.block:
        return False
    begins = other.text.lstrip(" >\t*_`\"'(")[:1]
    end = one.text.rstrip(" *_\"'`")
    full = len(end) >= _FULL_LINE_CHARACTERS and not end.endswith((".", "!", "?", "|"))
    bare = not MARK.sub("", one.plain).strip(" *_:>")
    return begins.islower() or end.endswith(_SENTENCE_GOES_ON) or full or bare


def _announced(lines: Sequence[Line], last: int) -> int:
    """The end of the list or the code that a line with a colon leads up to."""
    end = at = last
    while at + 1 < len(lines) and lines[at + 1].kind == BLANK:
        at += 1
    wanted = _is_code if at + 1 < len(lines) and lines[at + 1].kind == CODE else _is_listed
    while at + 1 < len(lines) and (wanted(lines[at + 1]) or lines[at + 1].kind == BLANK):
        at += 1
        end = end if lines[at].kind == BLANK else at
    return end


def _is_code(line: Line) -> bool:
    return line.kind == CODE


def _is_listed(line: Line) -> bool:
    return bool(line.items)


def _text_of(lines: Sequence[Line]) -> str:
    """The lines without comments, moved to the left together."""
    shown = [line.text.rstrip() for line in lines if line.kind != COMMENT]
    indent = _margin(shown[0]) if shown else 0
    moved = [row[indent:] if not row[:indent].strip() else row.lstrip() for row in shown]
    return "\n".join(moved).strip("\n")
