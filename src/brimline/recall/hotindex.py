"""The lines of the index: a topic's own, and what moves to the archive when there is no room. Pure.

An entry is a line with the indented lines below it; the last one is the oldest.
"""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

from brimline.foreign import flatten

INDEX, ARCHIVE = "MEMORY.md", "archive.md"
# The client loads no more than this of the index.
MOST_LINES, MOST_BYTES = 200, 25_000
LINE_CHARACTERS = 200
_NAME_CHARACTERS = 60
_LINK = re.compile(r"^\s*[-*] \[((?:\\.|[^\\])*?)\]\(([^)\s]+)\)")
_ENTRY = re.compile(r"[-*+] |\d+[.)] ")
_ARCHIVED = f"- [Older entries]({ARCHIVE}) — what the index has no room for"
# In this order they move: entries, headings, what is said below a line that stays; such lines.
_OLDER, _HEADING, _BELOW, _STAYS = range(4)


class _Block(NamedTuple):
    """Lines that move together; those of the lowest rank move first, the last of them before."""

    rank: int
    lines: list[str]


def file_linked_by_line(line: str) -> str:
    """The file that a line of the index leads to, if any."""
    match = _LINK.match(line)
    return match[2] if match else ""


def lines_with_topic(lines: list[str], file: str, name: str, description: str) -> list[str]:
    """The index with the line of a topic: in its place, else before all other entries."""
    label = re.sub(r"([\[\]\\])", r"\\\1", flatten(name, _NAME_CHARACTERS))
    own = flatten(f"- [{label}]({file}) — {description}", LINE_CHARACTERS)
    for at, line in enumerate(lines):
        if file_linked_by_line(line) == file:
            return [*lines[:at], own, *lines[at + 1 :]]
    first = _index_of_first_entry(lines)
    return [*lines[:first], own, *lines[first:]]


def lines_without_topic(lines: list[str], file: str) -> list[str]:
    """The index without the lines that name a topic."""
    return [line for line in lines if file_linked_by_line(line) != file]


def split_off_oldest_beyond_limits(lines: list[str], own: str) -> tuple[list[str], list[list[str]]]:
    """The lines that fit, and the oldest entries, which do not; the line of one topic stays."""
    if len(lines) <= MOST_LINES and total_line_bytes_with_crlf(lines) <= MOST_BYTES:
        return lines, []
    blocks = _group_lines_that_move_together(lines, own)
    if not any(file_linked_by_line(block.lines[0]) == ARCHIVE for block in blocks):
        blocks.append(_Block(_STAYS, [_ARCHIVED]))
    moved = _positions_of_blocks_to_move(blocks)
    kept = [line for at, one in enumerate(blocks) if at not in moved for line in one.lines]
    return kept, [_without_blank_lines_at_end(blocks[at].lines) for at in sorted(moved)]


def _positions_of_blocks_to_move(blocks: list[_Block]) -> set[int]:
    """The places of the oldest blocks without which the rest fits."""
    count = sum(len(block.lines) for block in blocks)
    taken = sum(total_line_bytes_with_crlf(block.lines) for block in blocks)
    moved = set[int]()
    for at in sorted(range(len(blocks)), key=lambda at: (blocks[at].rank, -at)):
        if (count <= MOST_LINES and taken <= MOST_BYTES) or blocks[at].rank == _STAYS:
            break
        moved.add(at)
        count, taken = (
            count - len(blocks[at].lines),
            taken - total_line_bytes_with_crlf(blocks[at].lines),
        )
    return moved


def archive_with_moved(lines: list[str], moved: list[list[str]]) -> list[str]:
    """The archive with entries of the index before its own, those that it has already once."""
    fresh = [entry for entry in moved if _join_to_text(entry) not in _join_to_text(lines)]
    head = lines.index("---", 1) + 1 if lines[:1] == ["---"] and "---" in lines[1:] else 0
    first = head + _index_of_first_entry(lines[head:])
    return [*lines[:first], *itertools.chain(*fresh), *lines[first:]]


def total_line_bytes_with_crlf(lines: list[str]) -> int:
    """Return how many bytes the lines take at most: the end of one may take two."""
    return sum(len(line.encode("utf-8", "surrogateescape")) + 2 for line in lines)


def _index_of_first_entry(lines: list[str]) -> int:
    return next((at for at, line in enumerate(lines) if _ENTRY.match(line.lstrip())), len(lines))


def _group_lines_that_move_together(lines: list[str], own: str) -> list[_Block]:
    """The lines in their order, by what moves together."""
    blocks: list[_Block] = []
    for line in lines:
        if file_linked_by_line(line) in (own, ARCHIVE):
            blocks.append(_Block(_STAYS, [line]))
        elif blocks and (not line.strip() or line[:1].isspace()):
            if blocks[-1].rank == _STAYS:
                blocks.append(_Block(_BELOW, []))
            blocks[-1].lines.append(line)
        else:
            blocks.append(_Block(_HEADING if line.startswith("#") else _OLDER, [line]))
    return blocks


def _join_to_text(lines: list[str]) -> str:
    return "\n".join(["", *lines, ""])


def _without_blank_lines_at_end(lines: list[str]) -> list[str]:
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines
