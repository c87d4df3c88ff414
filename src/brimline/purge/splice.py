"""Puts late lines where they belong: the content of a session's next file, from those before."""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from brimline.purge import disk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.purge.journal import Old

TAIL_BYTES = 4096
_BUFFER_BYTES = 1 << 20


class Part(NamedTuple):
    """A former file, and how far it is to be carried over now."""

    old: Old
    descriptor: int
    end: int


class Point(NamedTuple):
    """How far a file was copied, and the bytes just before, by which a change is noticed."""

    offset: int
    tail: bytes


def point_at(descriptor: int, offset: int) -> Point:
    """The place of an offset."""
    begin = max(0, offset - TAIL_BYTES)
    return Point(offset, disk.read_at(descriptor, offset - begin, begin))


def compose(session: int, parts: list[Part], new: int) -> tuple[list[Old], Point]:
    """Write the session with late lines in their places; complete lines of the session only.

    Returns the former files as they are in the new one, and how far the session was copied.
    """
    at, shift, moved = 0, 0, []
    for old, descriptor, end in parts:
        disk.copy(session, at, old.position, new)
        disk.copy(descriptor, old.carried, end, new)
        anchor = old.anchor + shift
        moved.append(replace(old, anchor=anchor, carried=end))
        at, shift = old.position, shift + end - old.carried
    stop = disk.after_last_line_break(session, at, disk.size(session))
    point = point_at(session, stop)
    disk.copy(session, at, stop, new)
    return [marked(old, new) for old in moved], point


def marked(old: Old, session: int) -> Old:
    """The same place, with the mark by which it is known again."""
    return replace(old, mark=disk.checksum_before(session, old.anchor))


def is_anchored(old: Old, descriptor: int, session: int) -> bool:
    """Whether a former file's lines are where the journal says: others may change a session too."""
    return (
        disk.size(descriptor) >= old.carried
        and disk.size(session) >= old.position
        and disk.checksum_before(session, old.anchor) == old.mark
        and disk.same(descriptor, old.start, session, old.anchor, old.carried - old.start)
    )


def missing(old: Old, descriptor: int, end: int, session: int) -> list[tuple[int, int]]:
    """The lines of a former file up to `end` that the session does not hold, as ranges."""
    wanted = Counter([digest for digest, _, _ in _lines(descriptor, old.start, end)])
    for digest, _, _ in _lines(session, 0, disk.size(session)):
        if wanted[digest] > 0:
            wanted[digest] -= 1
    ranges = []
    for digest, begin, stop in reversed(list(_lines(descriptor, old.start, end))):
        if wanted[digest] > 0:
            wanted[digest] -= 1
            ranges.append((begin, stop))
    return ranges[::-1]


def _lines(descriptor: int, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """The digest and the range of each line."""
    source = disk.Source(descriptor, end)
    source.seek(start)
    with io.BufferedReader(source, _BUFFER_BYTES) as stream:
        for line in stream:
            digest = hashlib.blake2b(line.rstrip(b"\r\n"), digest_size=16).digest()
            yield digest, start, start + len(line)
            start += len(line)
