"""An instruction file line by line: what is text, what is code or comment, where things begin.

As much of Markdown as decides whether a line counts, by the standard library: hooks read with it.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

TEXT, CODE, COMMENT, BLANK = "text", "code", "comment", "blank"

_QUOTE = re.compile(r"^(?: {0,3}> ?)+")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?: {1,4}|$)")
_HEADING = re.compile(r"(#{1,6})(?: |$)")
_NO_TEXT = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|<!--.*?-->")
_IMPORT = re.compile(r"(?:^|(?<=[\s*_]))@((?:[^\s\\]|\\ )+)")
_FIRST = re.compile(r"[a-zA-Z0-9._~/-]")
_CODE_INDENT = 4
# A longer line is data; code spans are looked for in its beginning only.
_LONGEST_LINE = 4_000


class Line(NamedTuple):
    """One line of a file."""

    number: int
    text: str
    kind: str
    plain: str = ""
    """Of a text: what is neither code nor comment."""
    heading: int = 0
    """Of a heading: its level."""
    indent: int = 0
    is_item: bool = False


class Import(NamedTuple):
    """A place where a file asks for another."""

    line: int
    written: str
    path: str
    """Absolute, not resolved."""


def parse_front_and_lines(text: str) -> tuple[list[str], list[Line]]:
    """The front matter of a text, and its other lines."""
    rows = text.split("\n")
    ends = [at for at, row in enumerate(rows) if row.rstrip() == "---"][:2]
    skipped = ends[1] + 1 if len(ends) > 1 and ends[0] == 0 else 0
    reader = _Reader()
    lines = [
        reader.classify_line(number, row) for number, row in enumerate(rows[skipped:], skipped + 1)
    ]
    return rows[1 : max(1, skipped - 1)], lines


def text_shown_by_client(lines: Iterable[Line]) -> str:
    """What the client shows of a file: no front matter, no comments that stand by themselves."""
    return "\n".join([line.text for line in lines if line.kind != COMMENT]).strip("\n")


def imports_in_lines(lines: Iterable[Line], path: str, user_home: str) -> list[Import]:
    """Every `@path` of a file, in order, each target once, as the client finds them."""
    found: dict[str, Import] = {}
    for line in lines:
        for match in _IMPORT.finditer(line.plain):
            written = match[1].partition("#")[0].rstrip("*_").replace("\\ ", " ")
            target = _absolute_path_of_import(written, os.path.dirname(path), user_home)
            if target:
                found.setdefault(target, Import(line.number, written, target))
    return list(found.values())


class _Reader:
    """Goes from line to line and knows what is open."""

    def __init__(self) -> None:
        self.fence = ""
        self.in_comment = False
        self.in_paragraph = False
        self.in_list = False

    def classify_line(self, number: int, row: str) -> Line:
        """Classify the next line."""
        rest = _QUOTE.sub("", row.expandtabs(4), count=1)
        inner = rest.strip()
        indent = len(rest) - len(rest.lstrip(" "))
        if self.in_comment or (not self.fence and inner.startswith("<!--")):
            return self._classify_line_in_comment(number, row, inner)
        if not inner:
            self.in_paragraph = False
            return Line(number, row, CODE if self.fence else BLANK)
        is_indented = indent >= _CODE_INDENT and not self.in_paragraph and not self.in_list
        if not self.fence and not is_indented:
            return self._classify_text_or_fence(number, row, inner, indent)
        if self.fence and len(inner) >= len(self.fence) and set(inner) == {self.fence[0]}:
            self.fence = ""
        return Line(number, row, CODE, indent=indent)

    def _classify_text_or_fence(self, number: int, row: str, inner: str, indent: int) -> Line:
        item = _ITEM.match(inner)
        content = inner[item.end() :] if item else inner
        self.in_list = bool(item or (self.in_list and (indent or self.in_paragraph)))
        fence = _FENCE.match(content)
        if fence:
            self.fence = fence[1] or fence[2]
            self.in_paragraph = False
            return Line(number, row, CODE, indent=indent, is_item=bool(item))
        heading = _HEADING.match(content)
        self.in_paragraph = not heading
        level = len(heading[1]) if heading else 0
        return Line(number, row, TEXT, _without_code_and_comments(row), level, indent, bool(item))

    def _classify_line_in_comment(self, number: int, row: str, inner: str) -> Line:
        """A comment that stands by itself; what follows its end on the line is text again."""
        start = 0 if self.in_comment else 4
        _, end, after = inner[start:].partition("-->")
        self.in_comment = not end
        if after.strip():
            return Line(number, after, TEXT, _without_code_and_comments(after))
        return Line(number, row, COMMENT)


def _without_code_and_comments(row: str) -> str:
    return _NO_TEXT.sub(" ", row[:_LONGEST_LINE])


def _absolute_path_of_import(written: str, folder: str, user_home: str) -> str:
    if not _FIRST.match(written) or "\0" in written or not written.strip("/"):
        return ""
    if written.startswith("~"):
        return os.path.normpath(user_home + written[1:]) if written[1:2] == "/" else ""
    return os.path.normpath(os.path.join(folder, written))
