"""The largest results of a session, and the files that were read again. Pure."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.purge import parts, weights

if TYPE_CHECKING:
    from brimline.purge.parts import Call

LARGEST = 10
MOST_REPEATED = 20
_SOURCE_CHARACTERS = 200
_RANGES = 64
_READ = "Read"


class LargeResult(NamedTuple):
    """One tool result."""

    size_bytes: int
    tool: str | None
    source: str | None
    """The file, command or address that the call was about."""
    request: int
    """The number of the request that made the call."""
    segment: int
    in_context: bool = False


class RepeatedRead(NamedTuple):
    """A file that was read more than once, in whole or in part."""

    file: str
    reads: int
    repeated_reads: int
    """Those that brought in lines which an earlier one had brought in."""
    repeated_bytes: int


@dataclass(slots=True)
class _File:
    reads: int = 0
    repeated_reads: int = 0
    repeated_bytes: int = 0
    ranges: list[tuple[int, int]] = field(default_factory=list)


class ResultReader:
    """Takes the rows of a session one after the other."""

    def __init__(self) -> None:
        self._calls: dict[str, Call] = {}
        self._heap: list[tuple[int, int, LargeResult]] = []
        self._order = itertools.count()
        self._files: dict[str, _File] = {}

    def take(self, row: dict[str, Any], request: int, segment: int) -> None:
        """Look at the next row of the main thread; others are passed over."""
        if parts.is_sidechain(row):
            return
        for call in parts.calls(row):
            source = call.source[:_SOURCE_CHARACTERS] if call.source else call.source
            self._calls[call.id] = call._replace(source=source)
        sizes: Counter[str] = Counter()
        failed = set()
        for text in parts.result_texts(row):
            sizes[text.call_id] += weights.text_bytes(text.text)
            if text.is_error or parts.is_unchanged_notice(text.text):
                failed.add(text.call_id)
        for call_id, size_bytes in sizes.items():
            asked = self._calls.pop(call_id, None)
            self._rank(asked, size_bytes, request, segment)
            if asked and call_id not in failed:
                self._take_read(asked, size_bytes)

    def largest(self, since: int) -> list[LargeResult]:
        """The largest first; `since` is the number of compactions, after which they count."""
        found = sorted(self._heap, key=lambda entry: (-entry[0], -entry[1]))
        return [one._replace(in_context=one.segment == since) for _, _, one in found]

    def repeated(self) -> list[RepeatedRead]:
        """The files whose lines were read again, the most bytes first."""
        found = [
            RepeatedRead(name, file.reads, file.repeated_reads, file.repeated_bytes)
            for name, file in self._files.items()
            if file.repeated_reads
        ]
        return sorted(found, key=lambda one: (-one.repeated_bytes, one.file))[:MOST_REPEATED]

    def _rank(self, call: Call | None, size_bytes: int, request: int, segment: int) -> None:
        if len(self._heap) == LARGEST and size_bytes <= self._heap[0][0]:
            return
        tool, source = (call.name, call.source) if call else (None, None)
        found = LargeResult(size_bytes, tool, source, request, segment)
        # Of two alike the earlier stays.
        entry = (size_bytes, -next(self._order), found)
        if len(self._heap) < LARGEST:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heapreplace(self._heap, entry)

    def _take_read(self, call: Call, size_bytes: int) -> None:
        if call.name != _READ or not call.file:
            return
        file = self._files.setdefault(call.file, _File())
        file.reads += 1
        first, end = call.lines
        if any(first < other_end and other < end for other, other_end in file.ranges):
            file.repeated_reads += 1
            file.repeated_bytes += size_bytes
        if len(file.ranges) < _RANGES:
            file.ranges.append(call.lines)
