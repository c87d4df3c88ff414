"""Instruction files as Markdown: which lines are text, code or comment, and how they nest. Pure.

Covers what decides whether a line counts: fences, indented code, code spans, comments, headings,
lists and quotes. `tests/rules/test_markdown.py` compares it with a full parser.
"""

from __future__ import annotations

import re
from typing import NamedTuple

TEXT, CODE, COMMENT, BLANK = "text", "code", "comment", "blank"

_QUOTE = re.compile(r" {0,3}>[ \t]?")
_FENCE = re.compile(r"(`{3,})([^`]*)$|(~{3,})(.*)$")
_ITEM = re.compile(r"([-*+]|\d{1,9}[.)])([ \t]+|$)")
_HEADING = re.compile(r"(#{1,6})(?:[ \t]|$)")
_UNDERLINE = re.compile(r"(=+|-+)[ \t]*$")
_RULER = re.compile(r"(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_BACKTICKS = re.compile(r"\\?`+")
_NOT_LINE_END = re.compile(r"[^\n]")
_CODE_INDENT = 4
_WIDEST_PADDING = 4
# Nobody writes lists in lists that deep; a line made of marks only would take forever.
_DEEPEST = 32


class Line(NamedTuple):
    """One line of a file."""

    number: int
    text: str
    kind: str
    plain: str
    """The text with code spans and comments blanked; nothing for code and comments."""
    heading: int
    """The level of the heading that this line is, or 0."""
    items: tuple[int, ...]
    """The lines with which the list items around this one begin, outermost first."""
    block: int
    """Lines of one paragraph, heading or code block share it."""


class Document(NamedTuple):
    """A file: what stands before the text, and the text."""

    front: tuple[str, ...]
    lines: tuple[Line, ...]

    @property
    def body(self) -> str:
        """What the client shows of it: no front matter, no comments that stand by themselves."""
        shown = [line.text for line in self.lines if line.kind != COMMENT]
        return "\n".join(shown).strip("\n")


def parse(text: str) -> Document:
    """Read a text whose lines end in `\\n`."""
    rows = text.split("\n")
    front = _front_matter(rows)
    skipped = len(front) + 2 if front is not None else 0
    reader = _Reader()
    for number, row in enumerate(rows[skipped:], skipped + 1):
        reader.take(number, row)
    return Document(tuple(front or ()), tuple(_with_plain_text(reader.lines)))


def _front_matter(rows: list[str]) -> list[str] | None:
    """The lines between two `---` at the very top."""
    if rows[0].rstrip() != "---":
        return None
    for at, row in enumerate(rows[1:], 1):
        if row.rstrip() == "---":
            return rows[1:at]
    return None


class _Container:
    """A quote, or a list item with the number of columns its content is indented by."""

    __slots__ = ("empty", "first", "width")

    def __init__(self, first: int = 0, width: int = 0, *, empty: bool = False) -> None:
        self.first = first  # the line an item begins with; 0 for a quote
        self.width = width
        self.empty = empty  # nothing has come after the item's marker yet


class _Reader:
    """Follows the blocks from line to line."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.containers: list[_Container] = []
        self.fence = ""
        self.in_comment = False
        self.in_paragraph = False
        self.block = 0

    def take(self, number: int, row: str) -> None:
        """Classify the next line."""
        rest, matched = self._match_containers(row.expandtabs(4))
        held = matched == len(self.containers)
        if not held and (self.fence or self.in_comment):
            self._close_to(matched)
            held = True
        if self.fence:
            self._in_fence(number, row, rest)
        elif self.in_comment:
            self._comment(number, row)
        elif not rest.strip():
            self._close_to(matched)
            self.in_paragraph = False
            self._add(number, row, BLANK)
        elif held and self._underlines(rest):
            self._make_heading(number, row, rest)
        else:
            self._open(number, row, rest, matched)

    def _match_containers(self, rest: str) -> tuple[str, int]:
        """What is left of a line inside the containers it belongs to, and how many those are."""
        for at, container in enumerate(self.containers):
            if not container.first:
                found = _QUOTE.match(rest)
                if not found:
                    return rest, at
                rest = rest[found.end() :]
            elif not rest.strip():
                if container.empty:
                    return rest, at
            elif _indent(rest) >= container.width:
                rest = rest[container.width :]
                container.empty = False
            else:
                return rest, at
        return rest, len(self.containers)

    def _in_fence(self, number: int, row: str, rest: str) -> None:
        self._add(number, row, CODE)
        inner = rest.strip()
        if len(inner) >= len(self.fence) and inner == self.fence[0] * len(inner):
            # Indented by four it is a line of the code.
            self.fence = self.fence if _indent(rest) >= _CODE_INDENT else ""

    def _open(self, number: int, row: str, rest: str, matched: int) -> None:
        """Begin what the line begins, or go on with the paragraph it wraps."""
        entered = False
        while True:
            held = matched == len(self.containers)
            found = self._container_at(number, rest, wraps=self.in_paragraph and held)
            if found is None:
                break
            if not entered:
                self._close_to(matched)
                entered = True
            container, rest = found
            self.containers.append(container)
            self.in_paragraph = False
        inner = rest.strip()
        if not inner:
            self._start(number, row, BLANK)
        elif self.in_paragraph and (_indent(rest) >= _CODE_INDENT or not _begins_leaf(inner)):
            self._add(number, row, TEXT)
        else:
            if not entered:
                self._close_to(matched)
            self._leaf(number, row, rest)

    def _container_at(
        self, number: int, rest: str, *, wraps: bool
    ) -> tuple[_Container, str] | None:
        """The quote or item that begins here, and what follows its mark."""
        if _indent(rest) >= _CODE_INDENT or len(self.containers) >= _DEEPEST:
            return None
        if quote := _QUOTE.match(rest):
            return _Container(), rest[quote.end() :]
        indent = _indent(rest)
        item = _ITEM.match(rest, indent)
        if not item or _RULER.match(rest.strip()):
            return None
        content = rest[item.end() :]
        if wraps and not _interrupts(item, content):
            return None
        padding = len(item[2])
        if not content.strip():
            return _Container(number, indent + len(item[1]) + 1, empty=True), ""
        if padding > _WIDEST_PADDING:
            content = " " * (padding - 1) + content
            padding = 1
        return _Container(number, indent + len(item[1]) + padding), content

    def _leaf(self, number: int, row: str, rest: str) -> None:
        """A fence, a comment, a heading, indented code or the first line of a paragraph."""
        inner = rest.strip()
        if _indent(rest) >= _CODE_INDENT:
            self._start(number, row, CODE)
        elif fence := _FENCE.match(inner):
            self._start(number, row, CODE)
            self.fence = fence[1] or fence[3]
        elif inner.startswith("<!--"):
            self.block += 1
            self.in_paragraph = False
            self._comment(number, row)
        elif heading := _HEADING.match(inner):
            self._start(number, row, TEXT, heading=len(heading[1]))
        else:
            self._start(number, row, TEXT, paragraph=not _RULER.match(inner))

    def _underlines(self, rest: str) -> bool:
        """Whether the line makes a heading of the paragraph above it."""
        return (
            self.in_paragraph
            and _indent(rest) < _CODE_INDENT
            and bool(_UNDERLINE.match(rest.strip()))
        )

    def _make_heading(self, number: int, row: str, rest: str) -> None:
        level = 1 if rest.strip().startswith("=") else 2
        for at in range(len(self.lines) - 1, -1, -1):
            if self.lines[at].block != self.block or self.lines[at].kind != TEXT:
                break
            self.lines[at] = self.lines[at]._replace(heading=level)
        self._add(number, row, TEXT)
        self.in_paragraph = False

    def _comment(self, number: int, row: str) -> None:
        """A comment that stands by itself; what follows its end on the line is text again."""
        start = 0 if self.in_comment else row.index("<!--") + 4
        end = row.find("-->", start)
        self.in_comment = end < 0
        rest = "" if self.in_comment else row[end + 3 :]
        if rest.strip():
            self._add(number, rest, TEXT)
        else:
            self._add(number, row, COMMENT)

    def _close_to(self, matched: int) -> None:
        """End the containers that the line does not belong to, and what is open in them."""
        if matched < len(self.containers):
            del self.containers[matched:]
            self.fence, self.in_comment, self.in_paragraph = "", False, False

    def _start(
        self, number: int, row: str, kind: str, *, heading: int = 0, paragraph: bool = False
    ) -> None:
        self.block += 1
        self.in_paragraph = paragraph
        self._add(number, row, kind, heading)

    def _add(self, number: int, row: str, kind: str, heading: int = 0) -> None:
        items = tuple(inside.first for inside in self.containers if inside.first)
        self.lines.append(Line(number, row, kind, "", heading, items, self.block))


def _with_plain_text(lines: list[Line]) -> list[Line]:
    """Blank code spans and comments, which may run over the lines of a block."""
    found: list[Line] = []
    at = 0
    while at < len(lines):
        end = at + 1
        if lines[at].kind == TEXT:
            while end < len(lines) and _same_block(lines[at], lines[end]):
                end += 1
            rows = _blanked("\n".join(line.text for line in lines[at:end])).split("\n")
            found += [
                line._replace(plain=row) for line, row in zip(lines[at:end], rows, strict=True)
            ]
        else:
            found.append(lines[at])
        at = end
    return found


def _same_block(one: Line, other: Line) -> bool:
    return other.kind == TEXT and one.block == other.block


def _blanked(text: str) -> str:
    """The text of a block with code spans and comments turned into spaces."""
    text = _without(text, code_spans(text)) if "`" in text else text
    return _without(text, _comment_spans(text)) if "<!--" in text else text


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    pieces, last = [], 0
    for start, end in spans:
        pieces += [text[last:start], _NOT_LINE_END.sub(" ", text[start:end])]
        last = end
    return "".join([*pieces, text[last:]])


def _comment_spans(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    start = text.find("<!--")
    while start >= 0 and (end := text.find("-->", start + 4)) >= 0:
        spans.append((start, end + 3))
        start = text.find("<!--", end + 3)
    return spans


def code_spans(text: str) -> list[tuple[int, int]]:
    """Where code spans are, backticks included: a run of them ends at the next run as long."""
    runs = [_run(found) for found in _BACKTICKS.finditer(text)]
    later: dict[int, list[int]] = {}
    for at in range(len(runs) - 1, -1, -1):
        start, end, _ = runs[at]
        later.setdefault(end - start, []).append(at)
    spans = []
    at = 0
    while at < len(runs):
        start, end, escaped = runs[at]
        opening = start + escaped
        same = later.get(end - opening, [])
        while same and same[-1] <= at:
            same.pop()
        if end > opening and same:
            at = same[-1]
            spans.append((opening, runs[at][1]))
        at += 1
    return spans


def _run(found: re.Match[str]) -> tuple[int, int, int]:
    """A run of backticks, and how many of them a backslash before it takes away."""
    escaped = found[0].startswith("\\")
    return found.start() + escaped, found.end(), int(escaped)


def _begins_leaf(inner: str) -> bool:
    """Whether a line cannot be the continuation of a paragraph."""
    return bool(
        _FENCE.match(inner)
        or _HEADING.match(inner)
        or _RULER.match(inner)
        or inner.startswith("<!--")
    )


def _interrupts(item: re.Match[str], content: str) -> bool:
    """Whether an item may follow a paragraph at once: not an empty one, and no number but 1."""
    return bool(content.strip()) and (item[1] in "-*+" or item[1][:-1] == "1")


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))
