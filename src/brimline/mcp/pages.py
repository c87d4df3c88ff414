"""Cuts content into answers that the client passes on whole. Pure.

The client shows an MCP answer of up to 50,000 characters, and puts a longer one into a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from brimline.store.contents import Span

# With the first line; the rest of the way to the client's limit is for its own additions.
LARGEST_CHARACTERS = 30_000
_FRAME_CHARACTERS = 1_000
ROOM = LARGEST_CHARACTERS - _FRAME_CHARACTERS


class Page(NamedTuple):
    """As much as fits into one answer."""

    text: str
    last: int
    """The last line that is shown, whole or in part."""
    rest: str = ""
    """What to ask for next; empty where all is shown."""
    part: tuple[int, int, int] | None = None
    """Of a line too long for one answer: the first and last character shown, and its length."""


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
