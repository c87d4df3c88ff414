"""What is in a session: rows, requests, compactions, bytes, context tokens, faults. One pass.

Bytes on the disk and tokens in the context are figures of different things and never mixed: most
bytes never reach the model, and nothing before the last compaction does.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from brimline.purge import weights
from brimline.purge.faults import Findings
from brimline.purge.faults_find import Finder
from brimline.purge.inspect_context import Context, ContextReader
from brimline.purge.inspect_results import LargeResult, RepeatedRead, ResultReader
from brimline.transcript import find, read
from brimline.transcript.compactions import Scan
from brimline.transcript.row import Usage, timestamp_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from brimline.transcript.compactions import Recorded
    from brimline.transcript.read import Line, Record

_BUFFER_BYTES = 1 << 20


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
            found.disk_bytes[weights.UNREADABLE] += len(line.raw) - used
        else:
            found.disk_bytes[weights.ENVELOPE] += len(line.raw) - used
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
        for kind, size_bytes in weights.spent(row, record.end - record.start):
            found.disk_bytes[kind] += size_bytes
        moment = timestamp_of(row)
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

    def _take_usage(self, usage: Usage) -> None:
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
