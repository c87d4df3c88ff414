"""What is in a session: rows, requests, compactions, bytes, context tokens, faults. One pass.

Bytes on the disk and tokens in the context are figures of different things and never mixed: most
bytes never reach the model, and nothing before the last compaction does but what it kept. The last
request measured the context exactly; what came since is estimated from the lengths of the texts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.gauge.composition import Composition, Injections
from brimline.gauge.context import Context, ContextReader
from brimline.session.faults import Finder, Findings
from brimline.session.survey import calls_in_reply, row_bytes
from brimline.transcript import find, read, row
from brimline.transcript.compactions import LOADED_WHOLE_BYTES, Scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from brimline.compaction.cold import Call
    from brimline.transcript.compactions import Recorded
    from brimline.transcript.read import Line, Progress, Record

ENVELOPE, UNREADABLE = "envelope", "unreadable"
# The rest is for the client alone.
REACH_THE_MODEL = frozenset(
    ("tool_result", "tool_input", "assistant", "thinking", "user", "summary", "attachment")
)
_WHOLE_ROWS = {"progress": "progress", "file-history-snapshot": "file_snapshot"}
_BLOCKS = {
    "tool_result": "tool_result",
    "tool_use": "tool_input",
    "thinking": "thinking",
    "redacted_thinking": "thinking",
}
LARGEST = 10
_SOURCE_CHARACTERS = 200


class LargeResult(NamedTuple):
    """One tool result, what its call was about, and the number of the request that called."""

    size_bytes: int
    tool: str | None
    source: str | None
    request: int
    call_id: str
    segment: int  # how many compactions came before it, or before it was last written again
    in_context: bool = False
    moved_out: bool = False  # whether a compaction left a line of it


@dataclass(slots=True)
class Inspection:
    """All that is known of a session."""

    session_id: str | None = None
    size_bytes: int = 0
    lines: int = 0
    types: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)  # by requests
    first_at: str | None = None
    last_at: str | None = None
    measured_at: str | None = None  # when the last request was answered
    turns: int = 0
    # Tokens of each request on the main thread, as the client recorded them.
    occupancies: list[int] = field(default_factory=list)
    compactions: list[Recorded] = field(default_factory=list)
    disk_bytes: Counter[str] = field(default_factory=Counter)  # by kind, adding up to the size
    context: Context = field(default_factory=lambda: Context(Composition()))
    largest: list[LargeResult] = field(default_factory=list)
    # After how many requests thoughts were left out of all later ones, which, and by whom.
    lost_thinking: list[tuple[int, str]] = field(default_factory=list)
    findings: Findings = field(default_factory=Findings)
    is_undone: bool = False  # whether a resume undoes the last compaction

    @property
    def resume_tokens(self) -> int:
        """What the first request of a resume takes, estimated, without its prompt."""
        context = self.context
        return context.next_tokens_if_uncompacted if self.is_undone else context.next_tokens


def inspect(path: str, progress: Progress = None) -> Inspection:
    """Look at a session file; `progress` is called with numbers of bytes read.

    Raises:
        OSError: it cannot be read.
    """
    found = inspect_given_lines(read.lines_of_file(path, progress))
    found.session_id = found.session_id or find.session_id_of(path)
    return found


def tally_injections(path: str, progress: Progress = None) -> Injections:
    """What hooks and the client put into a session beside the conversation.

    Raises:
        OSError: it cannot be read.
    """
    found = Injections()
    reader = ContextReader(lambda _, shares, __: found.add_new_injections_to_counts(shares))
    for fields in read.rows_of_file(path, progress=progress):
        reader.read_row(fields)
    reader.close()
    return found


def inspect_given_lines(lines: Iterable[Line]) -> Inspection:
    """Look at the lines of a session."""
    inspector = _Inspector()
    for line in lines:
        inspector.read_line(line)
    return inspector.close()


class _Inspector:
    def __init__(self) -> None:
        self.found = Inspection()
        self.finder = Finder()
        self.scan = Scan()
        self.context = ContextReader()
        self.results = _ResultReader()

    def read_line(self, line: Line) -> None:
        found = self.found
        found.size_bytes += len(line.raw)
        found.lines += not line.part
        self.finder.read_line(line)
        used = 0
        for record in line.records:
            used += record.end - record.start
            self._read_record(record)
        is_broken = line.problem in read.BROKEN
        found.disk_bytes[UNREADABLE if is_broken else ENVELOPE] += len(line.raw) - used

    def close(self) -> Inspection:
        found = self.found
        found.findings = self.finder.close()
        is_undone = self.context.links.would_resume_undo_compaction
        found.is_undone = is_undone and found.size_bytes < LOADED_WHOLE_BYTES
        found.compactions = self.scan.compactions
        found.occupancies = [request.tokens for request in self.scan.requests]
        found.models.update(request.model or "unknown" for request in self.scan.requests)
        found.turns, found.context = self.context.turns, self.context.close()
        found.largest = self.results.largest_results(self.context.segment)
        found.disk_bytes = +found.disk_bytes
        return found

    def _read_record(self, record: Record) -> None:
        value, found = record.value, self.found
        found.types[row.type_with_subtype(value)] += 1
        for kind, size_bytes in _kinds_and_bytes_of_row(value, record.end - record.start):
            found.disk_bytes[kind] += size_bytes
        moment = row.timestamp_text_of(value)
        if moment:
            found.first_at, found.last_at = found.first_at or moment, moment
        self.scan.read_row(value)
        entry = self.context.read_row(value)
        if entry and entry.usage:
            found.session_id = entry.usage.session_id or found.session_id
            found.measured_at = found.last_at
        requests = len(self.scan.requests)
        self.results.read_row(value, requests, self.context.segment)
        if lost := row.describe_dropped_thinking(value):
            found.lost_thinking.append((requests, lost))


class _ResultReader:
    """Keeps the results of the main thread, each once."""

    def __init__(self) -> None:
        self._calls: dict[str, Call] = {}
        self._results: dict[str, LargeResult] = {}

    def read_row(self, value: dict[str, Any], request: int, segment: int) -> None:
        if row.is_sidechain(value):
            return
        for call in calls_in_reply(value):
            self._calls[call.id] = call._replace(subject=call.subject[:_SOURCE_CHARACTERS])
        sizes: Counter[str] = Counter()
        for call_id, _, text in row.result_block_texts_at_paths(value):
            sizes[call_id] += len(text.encode("utf-8", "surrogatepass"))
        for call_id, size_bytes in sizes.items():
            origin = self._calls.pop(call_id, None)
            tool, source = (origin.tool, origin.subject or None) if origin else (None, None)
            result = LargeResult(size_bytes, tool, source, request, call_id, segment)
            known = self._results.setdefault(call_id, result)
            # A compaction has written it again, maybe as a line; of two copies the first is sent.
            if known.segment < segment:
                is_less = size_bytes < known.size_bytes
                self._results[call_id] = known._replace(segment=segment, moved_out=is_less)

    def largest_results(self, current_segment: int) -> list[LargeResult]:
        """The largest first, each with what the last compaction has made of it."""
        results = []
        by_size = sorted(self._results.values(), key=lambda result: -result.size_bytes)
        for result in by_size[:LARGEST]:
            is_there = result.segment == current_segment
            is_line = is_there and result.moved_out
            results.append(result._replace(in_context=is_there and not is_line, moved_out=is_line))
        return results


def _kinds_and_bytes_of_row(value: dict[str, Any], size_bytes: int) -> Iterator[tuple[str, int]]:
    """The kinds of bytes in a row, and how many of each; they add up to its size on the line."""
    kind = value.get("type")
    if row.subagent_id_of(value):
        yield "sidechain", size_bytes
    elif kind not in ("user", "assistant", "attachment") or row.is_bookkeeping_attachment(value):
        yield _WHOLE_ROWS.get(str(kind), "bookkeeping"), size_bytes
    else:
        left = size_bytes
        for part, inner in _kinds_and_parts_of_row(value):
            taken = min(left, _count_encoded_bytes(inner))
            left -= taken
            yield part, taken
        yield ENVELOPE, left


def _kinds_and_parts_of_row(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """What a message or an attachment consists of."""
    speaker = str(value.get("type"))
    if speaker == "attachment":
        return [(speaker, value.get("attachment"))]
    found = [("result_copy", value.get(row.COPY_FIELD))]
    content = row.message_of(value).get("content")
    if row.is_summary(value):
        return [*found, ("summary", content)]
    if not isinstance(content, list):
        return [*found, (speaker, content)]
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        found.append((_BLOCKS.get(str(kind), speaker), block))
    return found


def _count_encoded_bytes(value: Any) -> int:
    if value is None:
        return 0
    try:
        return len(row_bytes(value))
    except RecursionError:  # it was nested just deep enough to be read
        return 0
