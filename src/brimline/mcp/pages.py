"""Cuts content into answers that the client passes on whole. Pure.

The client shows an MCP answer of up to 50,000 characters, and puts a longer one into a file.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from brimline.store.errors import StoreError

# With the first line; the rest of the way to the client's limit is for its own additions.
LARGEST_CHARACTERS = 30_000
_FRAME_CHARACTERS = 1_000
ROOM = LARGEST_CHARACTERS - _FRAME_CHARACTERS
_MOST_DIGITS = 12
_RANGE = re.compile(
    r"\s*(?P<first>-?\d+)?(?:@(?P<after>\d+))?\s*(?P<colon>:)?\s*(?P<last>-?\d+)?\s*", re.ASCII
)
_DASHED = re.compile(r"\s*(\d+)\s*-\s*(\d+)\s*", re.ASCII)


class Span(NamedTuple):
    """Lines that are asked for, counted from 1, both ends included."""

    first: int
    last: int
    skipped: int = 0
    """Characters of the first line that were shown before."""


class Page(NamedTuple):
    """As much as fits into one answer."""

    text: str
    last: int
    """The last line that is shown, whole or in part."""
    rest: str = ""
    """What to ask for next; empty where all is shown."""
    part: tuple[int, int, int] | None = None
    """Of a line too long for one answer: the first and last character shown, and its length."""


def span(asked: str, count: int, what: str = "line") -> Span:
    """The lines, or whatever else is counted, that `A:B`, `A:`, `:B`, `A` or `A-B` asks for.

    Numbers below 0 count from the end, and `A@C` begins at a character of a line.

    Raises:
        StoreError: it is no range, or begins behind the last line.
    """
    dashed = _DASHED.fullmatch(asked)
    found = _RANGE.fullmatch(f"{dashed[1]}:{dashed[2]}" if dashed else asked)
    ends = [found["first"], found["last"]] if found else [None, None]
    if found is None or not any(ends) or any(len(end or "") > _MOST_DIGITS for end in ends):
        raise StoreError(f"{asked[:40]!r} is no range of {what}s: write A:B, A: or :B")
    first = _position(ends[0], 1, count)
    last = _position(ends[1], count, count) if found["colon"] else first
    if first > count:
        raise StoreError(f"there is no {what} {first:,}: the last one is {count:,}")
    if last < first:
        raise StoreError(f"{asked!r} asks for no {what}s: it ends before it begins")
    return Span(first, min(last, count), int((found["after"] or "1")[:_MOST_DIGITS]) - 1)


def fill(lines: list[bytes], asked: Span, room: int = ROOM) -> Page:
    """The lines of a span, as many as fit; the first one is cut where it alone is too long."""
    shown: list[str] = []
    for number in range(asked.first, asked.last + 1):
        whole = decoded(lines[number - 1])
        text = whole[asked.skipped :] if number == asked.first else whole
        if width(text) + 1 > room:
            if shown:
                return Page("\n".join(shown), number - 1, f"{number}:{asked.last}")
            return _part(whole, asked, cut(text, room))
        room -= width(text) + 1
        shown.append(text)
    return Page("\n".join(shown), asked.last)


def decoded(line: bytes) -> str:
    """A line as text; bytes that are no UTF-8 become visible."""
    return line.decode("utf-8", "backslashreplace")


def width(text: str) -> int:
    """How many characters the client counts: those of UTF-16, of which rarer ones take two."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, room: int) -> str:
    """The beginning of a text that the client counts as no longer than `room`."""
    piece = text[:room]
    while (over := width(piece) - room) > 0:
        piece = piece[: -((over + 1) // 2)]
    return piece


def one_line(text: str, most: int) -> str:
    """A text on one line, shortened in its middle: a path tells most at its end."""
    flat = " ".join(text.split())
    if len(flat) <= most:
        return flat
    tail = most // 2
    return f"{flat[: most - tail - 1]}…{flat[-tail:]}"


def _part(whole: str, asked: Span, piece: str) -> Page:
    end = asked.skipped + len(piece)
    part = (asked.skipped + 1, end, len(whole))
    return Page(piece, asked.first, f"{asked.first}@{end + 1}:{asked.last}", part)


def _position(text: str | None, default: int, count: int) -> int:
    if text is None:
        return default
    number = int(text)
    return max(1, count + 1 + number if number < 0 else number)
