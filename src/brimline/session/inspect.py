"""What is in a session: rows, requests, compactions, context tokens, faults. One pass.

Most of a session's bytes never reach the model, and nothing before the last compaction does but
what it kept. The last request measured the context exactly; what came since is estimated from the
lengths of the texts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from brimline.gauge.composition import Composition
from brimline.gauge.context import Context, ContextReader
from brimline.session.faults import Finder, Findings
from brimline.transcript import find, read, row
from brimline.transcript.compactions import LOADED_WHOLE_BYTES
from brimline.transcript.typed import Session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from brimline.transcript.calls import Call
    from brimline.transcript.clearings import Clearing
    from brimline.transcript.compactions import Recorded
    from brimline.transcript.read import Line, Progress, Record

LARGEST = 10


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
    context: Context = field(default_factory=lambda: Context(Composition()))
    largest: list[Call] = field(default_factory=list)  # by the sizes of their results
    # After how many requests thoughts were left out of all later ones, which, and by whom.
    lost_thinking: list[tuple[int, str]] = field(default_factory=list)
    clearings: list[Clearing] = field(default_factory=list)
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
        self.session = Session()
        self.context = ContextReader()

    def read_line(self, line: Line) -> None:
        found = self.found
        found.size_bytes += len(line.raw)
        found.lines += not line.part
        self.finder.read_line(line)
        for record in line.records:
            self._read_record(record, line.offset)

    def close(self) -> Inspection:
        found, session = self.found, self.session
        found.findings = self.finder.close()
        is_undone = session.links.would_resume_undo_compaction
        found.is_undone = is_undone and found.size_bytes < LOADED_WHOLE_BYTES
        found.compactions, found.lost_thinking = session.compactions, session.lost_thinking
        found.clearings = session.clearings
        found.occupancies = [request.tokens for request in session.requests]
        found.models.update(request.model or "unknown" for request in session.requests)
        found.turns, found.context = self.context.turns, self.context.close()
        results = [call for call in session.calls.values() if call.size_bytes is not None]
        found.largest = sorted(results, key=lambda call: -(call.size_bytes or 0))[:LARGEST]
        return found

    def _read_record(self, record: Record, offset: int) -> None:
        value, found = record.value, self.found
        found.types[row.type_with_subtype(value)] += 1
        moment = row.timestamp_text_of(value)
        if moment:
            found.first_at, found.last_at = found.first_at or moment, moment
        present = self.session.read_row(value, offset)
        self.context.read_row(present)
        if present.usage:
            found.session_id = present.usage.session_id or found.session_id
            found.measured_at = found.last_at
