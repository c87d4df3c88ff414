"""What is in a session: rows, requests, compactions, bytes, context tokens, faults. One pass.

Bytes on the disk and tokens in the context are figures of different things and never mixed: most
bytes never reach the model, and nothing before the last compaction does.
"""

from __future__ import annotations

import heapq
import itertools
import json
import os
from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.session.context import Context, ContextReader
from brimline.session.faults import Finder, Findings
from brimline.session.survey import calls_in, texts_in
from brimline.transcript import find, read
from brimline.transcript import row as shapes
from brimline.transcript.compactions import Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from brimline.session.survey import Call
    from brimline.transcript.compactions import Recorded
    from brimline.transcript.read import Line, Record

_BUFFER_BYTES = 1 << 20
ENVELOPE, UNREADABLE = "envelope", "unreadable"
# The rest is for the client alone.
REACH_THE_MODEL = frozenset(
    ("tool_result", "tool_input", "assistant", "thinking", "user", "summary", "attachment")
)
_WHOLE_ROWS = {
    "progress": "progress",
    "file-history-snapshot": "file_snapshot",
    "api-request": "request_copy",
    "api-request-shape": "request_copy",
    "api-request-blob": "request_copy",
}
_BLOCKS = {
    "tool_result": "tool_result",
    "tool_use": "tool_input",
    "thinking": "thinking",
    "redacted_thinking": "thinking",
}
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
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


@dataclass(slots=True)
class Inspection:
    """All that is known of a session."""

    session_id: str | None = None
    size_bytes: int = 0
    lines: int = 0
    longest_line_bytes: int = 0
    types: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    """By requests."""
    first_at: str | None = None
    last_at: str | None = None
    measured_at: str | None = None
    """When the last request was answered."""
    turns: int = 0
    occupancies: array[int] = field(default_factory=lambda: array("q"))
    """Tokens of each request on the main thread, as the client recorded them."""
    compactions: list[Recorded] = field(default_factory=list)
    disk_bytes: Counter[str] = field(default_factory=Counter)
    """By kind; they add up to the size."""
    context: Context = field(default_factory=Context)
    largest: list[LargeResult] = field(default_factory=list)
    repeated: list[RepeatedRead] = field(default_factory=list)
    findings: Findings = field(default_factory=Findings)

    @property
    def requests(self) -> int:
        """How many there were on the main thread."""
        return len(self.occupancies)


def inspect(path: str, progress: Callable[[int], None] | None = None) -> Inspection:
    """Look at a session file.

    Args:
        path: the session's file.
        progress: called with numbers of bytes read.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb", buffering=_BUFFER_BYTES) as file:
        found = inspect_lines(read.lines(file, os.fstat(file.fileno()).st_size), progress)
    found.session_id = found.session_id or find.session_id_of(path)
    return found


def inspect_lines(
    lines: Iterable[Line], progress: Callable[[int], None] | None = None
) -> Inspection:
    """Look at the lines of a session."""
    inspector = _Inspector()
    for line in lines:
        inspector.take(line)
        if progress:
            progress(len(line.raw))
    return inspector.close()


class _Inspector:
    def __init__(self) -> None:
        self.found = Inspection()
        self.finder = Finder()
        self.compactions = Scan()
        self.context = ContextReader()
        self.results = ResultReader()
        self.message_id: object = None

    def take(self, line: Line) -> None:
        found = self.found
        found.size_bytes += len(line.raw)
        found.lines += not line.part
        self.finder.take(line)
        used = 0
        for record in line.records:
            used += record.end - record.start
            self._take_row(record)
        if line.problem in (read.TORN, read.INVALID, read.TOO_LONG):
            found.disk_bytes[UNREADABLE] += len(line.raw) - used
        else:
            found.disk_bytes[ENVELOPE] += len(line.raw) - used
        if line.part is None:
            found.longest_line_bytes = max(found.longest_line_bytes, len(line.raw))

    def close(self) -> Inspection:
        found = self.found
        found.findings = self.finder.close()
        found.compactions = self.compactions.compactions
        found.context = self.context.close()
        found.largest = self.results.largest(since=self.context.segment)
        found.repeated = self.results.repeated()
        found.disk_bytes = +found.disk_bytes
        return found

    def _take_row(self, record: Record) -> None:
        row, found = record.value, self.found
        found.types[_type(row)] += 1
        for kind, size_bytes in spent(row, record.end - record.start):
            found.disk_bytes[kind] += size_bytes
        moment = shapes.timestamp_of(row)
        if moment:
            found.first_at, found.last_at = found.first_at or moment, moment
        self.compactions.take(row)
        entry = self.context.take(row)
        if entry and entry.prompt is not None:
            found.turns += 1
        if entry and entry.usage:
            self._take_usage(entry.usage)
            found.measured_at = moment or found.last_at
        self.results.take(row, len(found.occupancies), self.context.segment)

    def _take_usage(self, usage: shapes.Usage) -> None:
        found = self.found
        if usage.session_id:
            found.session_id = usage.session_id
        if usage.message_id is not None and usage.message_id == self.message_id:
            found.occupancies[-1] = usage.prompt_tokens
            return
        self.message_id = usage.message_id
        found.occupancies.append(usage.prompt_tokens)
        found.models[usage.model or "unknown"] += 1


def _type(row: dict[str, Any]) -> str:
    kind, subtype = row.get("type"), row.get("subtype")
    name = kind if isinstance(kind, str) else "without a type"
    return f"{name}/{subtype}" if isinstance(subtype, str) else name


class ResultReader:
    """Takes the rows of a session one after the other."""

    def __init__(self) -> None:
        self._calls: dict[str, Call] = {}
        self._heap: list[tuple[int, int, LargeResult]] = []
        self._order = itertools.count()
        self._files: dict[str, _File] = {}

    def take(self, row: dict[str, Any], request: int, segment: int) -> None:
        """Look at the next row of the main thread; others are passed over."""
        if shapes.is_sidechain(row):
            return
        for call in calls_in(row):
            source = call.source[:_SOURCE_CHARACTERS] if call.source else call.source
            self._calls[call.id] = call._replace(source=source)
        sizes: Counter[str] = Counter()
        failed = set()
        for text in texts_in(row):
            sizes[text.call_id] += text_bytes(text.text)
            if not text.is_content:
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


def spent(row: dict[str, Any], size_bytes: int) -> Iterator[tuple[str, int]]:
    """The kinds of bytes in a row, and how many of each; they add up to its size.

    Args:
        row: any JSON object of a session.
        size_bytes: how many bytes it takes on its line.
    """
    kind = row.get("type")
    if row.get("isSidechain"):
        yield "sidechain", size_bytes
    elif kind in ("user", "assistant"):
        yield from _within(size_bytes, _message(row))
    elif kind == "attachment":
        yield from _within(size_bytes, [("attachment", row.get("attachment"))])
    else:
        yield _WHOLE_ROWS.get(str(kind), "bookkeeping"), size_bytes


def text_bytes(text: str) -> int:
    """How many bytes a text takes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _within(size_bytes: int, found: list[tuple[str, Any]]) -> Iterator[tuple[str, int]]:
    """The parts, and what is left around them."""
    left = size_bytes
    for kind, value in found:
        taken = min(left, _value_bytes(value))
        left -= taken
        yield kind, taken
    yield ENVELOPE, left


def _message(row: dict[str, Any]) -> list[tuple[str, Any]]:
    found = [("result_copy", row["toolUseResult"])] if "toolUseResult" in row else []
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    speaker = str(row.get("type"))
    if row.get("isCompactSummary") is True:
        return [*found, ("summary", content)]
    if not isinstance(content, list):
        return [*found, (speaker, content)]
    return found + [(_block_kind(block, speaker), block) for block in content]


def _block_kind(block: Any, speaker: str) -> str:
    return _BLOCKS.get(str(block.get("type")), speaker) if isinstance(block, dict) else speaker


def _value_bytes(value: Any) -> int:
    if value is None:
        return 0
    try:
        return text_bytes(_encode(value))
    except RecursionError:  # it was nested just deep enough to be read
        return 0
