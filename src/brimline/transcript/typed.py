"""What happened in a session, row after row: requests, calls with results, compactions.

Rooms ask here and say what it means themselves. No text is kept, and no row.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brimline.fast import clock
from brimline.transcript import clienttools, measuring, pieces, read, row
from brimline.transcript.calls import Call
from brimline.transcript.clearings import Clearing, Clearings
from brimline.transcript.compactions import Links, Recorded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brimline.transcript.pieces import Entry
    from brimline.transcript.read import Progress
    from brimline.transcript.row import Spent, Usage


@dataclass(slots=True)
class Request:
    """One request of the main thread; of several rows of its reply the last tells the figures."""

    number: int
    id: str | None
    at: float
    model: str | None
    segment: int
    """How many compactions came before it."""
    is_final: bool
    """Whether what it put out was recorded in full; old clients keep a placeholder."""
    spent: Spent
    attached: Counter[str] | None
    """The kinds of what the client attached since the request before."""

    @property
    def tokens(self) -> int:
        """Its occupancy."""
        spent = self.spent
        return spent.input_tokens + spent.cache_read_tokens + spent.cache_written_tokens


@dataclass(slots=True)
class Row:
    """One row, as far as the rows before it tell what it is."""

    value: dict[str, Any]
    offset: int
    """Where its line begins in the file; -1 where nobody said so."""
    usage: Usage | None = None
    """Of the reply that it is part of."""
    request: Request | None = None
    """That of which it tells the figures."""
    is_telling: bool = True
    """Whether it can change what is sent."""
    is_boundary: bool = False
    is_new_compaction: bool = False
    """Whether a compaction begins here: a boundary and the summary behind it are one."""
    was_undone: bool = False
    """Where one begins, whether a resume would have undone the one before."""
    is_copy: bool = False
    """Whether it was only written again by a compaction."""
    is_from_elsewhere: bool = False
    """Whether it was written in another session first."""
    is_sent: bool = True
    """False for the second of two copies, of which the client sends the first."""
    calls: Sequence[Call] = ()
    """Those that it makes."""
    results: Sequence[row.Result] = ()
    """What it answers, on the main thread."""
    clearing: Clearing | None = None
    """What is told here to be left out: by the client of the next request, else of this one."""

    @property
    def name(self) -> str | None:
        """Its own; a fork's copy of it keeps that."""
        return row.uuid_of(self.value)

    @property
    def characters(self) -> int:
        """Roughly how many characters of it the model is sent."""
        return row.characters_model_is_sent(self.value)

    @property
    def preserved_ids_and_ends(self) -> tuple[frozenset[str], str | None, str | None]:
        """Of a compaction: rows that it kept, by name, and the first and last of a stretch."""
        return row.preserved_ids_and_ends(self.value)

    @property
    def entry(self) -> Entry:
        """What it adds to the context."""
        fields = self.value
        if not self.is_sent or not self.is_telling:
            return pieces.NOTHING
        if self.is_copy or row.is_rebuilt_by_mod(fields):
            fields = row.row_without_synthetic_model(fields)
        entry = pieces.entry_of_row(fields)
        return entry._replace(prompt=None) if self.is_copy else entry


class Session:
    """Takes the rows of a session one after the other."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.compactions: list[Recorded] = []
        # By id, in the order in which they were made; in subagents too, but for their results.
        self.calls: dict[str, Call] = {}
        # After how many requests thoughts were left out of all later ones, which, and by whom.
        self.lost_thinking: list[tuple[int, str]] = []
        self.folder: str | None = None  # in which it began
        self.title = ""  # by the client or the user
        self.links = Links()
        self._since = self._largest_before_tokens = 0
        self._is_open = False  # whether the last reply may go on
        self._counts: Any = None  # what its last row was billed for
        self._waits_for_summary = False
        self._attached: Counter[str] | None = None
        self._numbers: dict[str, int] = {}
        self._copies = read.Copies(has_past=True)
        self._copied: set[str] = set()
        self._clearings = Clearings()

    @property
    def clearings(self) -> list[Clearing]:
        """What was cleared, in order, with drops that nothing explains."""
        return self._clearings.with_drops_between(self.requests)

    @property
    def cut_by_client(self) -> set[str]:
        """The calls whose results the client itself leaves out of its requests."""
        return {call.id for call in self.calls.values() if call.cut_by_client}

    def go_on_from(
        self,
        requests: list[Request],
        compactions: list[Recorded],
        attached: Counter[str] | None,
        largest_before_tokens: int,
    ) -> None:
        """Take the rows behind those that told all this, by `measure_row` alone.

        Args:
            requests: all of them, or those since the last compaction.
            compactions: all of them.
            attached: the kinds of what was attached since the last request.
            largest_before_tokens: how full the window was before these requests.
        """
        self.requests, self.compactions, self._attached = requests, compactions, attached
        self._largest_before_tokens = largest_before_tokens
        before = [each for each in requests if each.segment < len(compactions)]
        self._since = len(before)
        self._is_open = len(before) < len(requests)
        is_bare = bool(compactions) and compactions[-1].summary_characters is None
        self._waits_for_summary = is_bare and not self._is_open

    @property
    def attached(self) -> Counter[str] | None:
        """The kinds of what was attached since the last request."""
        return self._attached

    @property
    def occupancies_since_compaction(self) -> list[int]:
        """Occupancy at each request since the last compaction, oldest first."""
        return [request.tokens for request in self.requests[self._since :]]

    @property
    def largest_occupancy_tokens(self) -> int:
        """The fullest the window ever was."""
        return max(0, self._largest_before_tokens, *[each.tokens for each in self.requests])

    def rows_of(self, path: str, progress: Progress = None) -> Iterator[Row]:
        """Read a session's file from its first row to its last.

        Raises:
            OSError: it cannot be read.
        """
        for offset, value in read.rows_with_offsets(path, progress=progress):
            yield self.read_row(value, offset)

    def read_row(self, value: dict[str, Any], offset: int = -1) -> Row:
        """Look at the next row."""
        kind, is_boundary = row.type_of(value), row.is_compaction_row(value)
        self.folder = self.folder or row.cwd_of(value)
        if kind not in row.TELLING and not is_boundary:
            self.title = row.title_of(value) or self.title
            self.links.read_row(value, is_boundary=False)
            return Row(value, offset, is_telling=False)
        compactions, cleared = len(self.compactions), len(self._clearings.told)
        usage = self.measure_row(value, is_boundary=is_boundary)
        found = Row(value, offset, usage, self.requests[-1] if usage else None)
        found.is_boundary = is_boundary
        if len(self.compactions) > compactions:
            found.is_new_compaction = True
            found.was_undone = self.links.would_resume_undo_compaction
        self.links.read_row(value, is_boundary=is_boundary)
        self._note_whether_copy(found)
        if kind == "assistant":
            self._note_calls(found)
        elif kind == "user":
            self._note_results(found)
        elif lost := row.describe_dropped_thinking(value):
            self.lost_thinking.append((len(self.requests), lost))
        if len(self._clearings.told) > cleared:
            found.clearing = self._clearings.told[-1]
        return found

    def measure_row(self, value: dict[str, Any], *, is_boundary: bool) -> Usage | None:
        """Look at the next row for requests and compactions alone: its usage, if it has one."""
        if is_boundary:
            self._note_compaction(value)
        elif usage := row.usage_of(value):
            self._note_request(usage, value)
            if usage.cleared_results:
                self._clearings.read_reply(value, self.requests[-1])
            return usage
        elif row.is_idle_compaction_notice(value):
            self._note_that_nobody_was_there()
        else:
            self._clearings.read_cut(value, self.calls, len(self.requests))
            self._note_attachment(value)
        return None

    def _note_attachment(self, value: dict[str, Any]) -> None:
        if isinstance(kind := row.attachment_of(value).get("type"), str):
            self._attached = self._attached or Counter()
            self._attached[kind] += 1

    def _note_that_nobody_was_there(self) -> None:
        self.compactions[-1:] = [each._replace(trigger="idle") for each in self.compactions[-1:]]

    def _note_request(self, usage: Usage, value: dict[str, Any]) -> None:
        """A reply: of several rows of one the last tells how large it was."""
        if self.compactions and self._since == len(self.requests):
            # What the next request really took wins over what the client expected it to take.
            self.compactions[-1] = self.compactions[-1]._replace(
                post_tokens=usage.prompt_tokens, rewritten_tokens=usage.fresh_tokens
            )
        self._waits_for_summary = False
        last = self.requests[-1] if self.requests else None
        name, counts = usage.message_id, row.message_of(value).get("usage")
        if last and self._is_open and name is not None and name == last.id:
            last.is_final |= row.has_final_usage(value)
            if self._counts != counts:
                last.spent, self._counts = row.spent_of(value), counts
            return
        at = clock.parse_utc(usage.timestamp) or (last.at if last else 0.0)
        number, segment = len(self.requests) + 1, len(self.compactions)
        self._counts = counts
        about = (row.has_final_usage(value), row.spent_of(value), self._attached)
        self.requests.append(Request(number, name, at, usage.model, segment, *about))
        self._attached, self._is_open = None, True

    def _note_compaction(self, value: dict[str, Any]) -> bool:
        """A boundary and the summary after it are one; old sessions have the summary only."""
        self._since, self._is_open = len(self.requests), False
        self._clearings.start_over()
        summary = row.blocks_sent_to_model(value) if row.is_summary(value) else None
        length = None if summary is None else row.content_characters(summary)
        if length is not None and self._waits_for_summary:
            self.compactions[-1] = self.compactions[-1]._replace(summary_characters=length)
            self._waits_for_summary = False
            return False
        name, at = row.uuid_of(value), clock.parse_utc(row.timestamp_text_of(value))
        name = name if name and name.isprintable() else None
        self.compactions.append(Recorded(name, at, *row.compaction_figures(value), length))
        self._waits_for_summary = length is None
        return True

    def _note_whether_copy(self, found: Row) -> None:
        value = found.value
        is_older = self._copies.is_copy(value)
        found.is_copy = is_older and self._copies.has_rows_before
        found.is_from_elsewhere = is_older and not found.is_copy
        if not found.is_copy:
            self._copied.clear()
            return
        # Of calls that came back at a resume the next compaction writes two copies; one is sent.
        calls = [call.id for call in row.any_thread_calls(value)] + row.answered_call_ids(value)
        name = f"{row.type_of(value)} {calls}"
        found.is_sent = not calls or name not in self._copied
        self._copied.add(name)

    def _number_of_request(self, value: dict[str, Any], *, is_measured: bool) -> int:
        """The number of the request that a reply answers; the rows of one reply share it."""
        name = None if row.is_sidechain(value) else row.message_id(value)
        if name is None or row.is_synthetic(value):
            return len(self.requests)
        if is_measured:
            return self._numbers.setdefault(name, len(self.requests))
        # The first rows of a reply may not measure it yet.
        return self._numbers.get(name, len(self.requests) + 1)

    def _note_calls(self, found: Row) -> None:
        number = self._number_of_request(found.value, is_measured=found.request is not None)
        segment = len(self.compactions)
        made = row.any_thread_calls(found.value)
        subjects = ((call, clienttools.subject_of_call(call.arguments)) for call in made)
        found.calls = [
            Call(call.id, call.name, subject, request=number, segment=segment)
            for call, subject in subjects
        ]
        for call in found.calls:
            known = self.calls.setdefault(call.id, call)
            if known.tool != call.tool and known.characters is not None:
                # Its result came first.
                known = known._replace(tool=call.tool, subject=call.subject, request=number)
                self.calls[call.id] = known

    def _note_results(self, found: Row) -> None:
        found.results = list(row.main_thread_results(found.value))
        segment = len(self.compactions)
        for result in found.results:
            sizes = [_count_utf8_bytes(text) for text in result.texts]
            known = self.calls.get(result.call_id)
            if known is None:
                known = Call(result.call_id, "", "", request=len(self.requests))
            if known.characters is None:
                marks = {"is_error": result.is_error, "is_marked": result.is_marked}
                size_bytes = sum(sizes) if sizes else None
                known = known.answered(result.text, **marks)
                known = known._replace(size_bytes=size_bytes, segment=segment)
            elif known.segment < segment:
                # A compaction has written it again, maybe as a line; of two copies one is sent.
                is_less = sum(sizes) < (known.size_bytes or 0)
                known = known._replace(segment=segment, moved_out=is_less)
            self.calls[known.id] = known


def measure(path: str, progress: Progress = None) -> Session:
    """Read a session's file for its requests and compactions alone: most lines are not parsed.

    Args:
        path: the session's file.
        progress: called with the number of bytes of each line.

    Raises:
        OSError: the file cannot be read.
    """
    found = Session()
    with read.open_transcript_file(path) as file:
        for _, value in measuring.rows_that_measure(file, progress=progress):
            found.measure_row(value, is_boundary=row.is_compaction_row(value))
    return found


def _count_utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
