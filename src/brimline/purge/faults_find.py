"""Finds what is wrong with a session in one pass over its lines; total on any bytes. Pure."""

from __future__ import annotations

import uuid
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.purge import faults, graph, links
from brimline.purge.faults import Fault, Findings, Mend, Note, Place
from brimline.purge.faults_links import Candidate, Hint, find_lost
from brimline.purge.faults_salvage import whole_rows
from brimline.transcript import read

if TYPE_CHECKING:
    from collections.abc import Iterable

    from brimline.purge.faults_links import Lost
    from brimline.purge.faults_salvage import Whole
    from brimline.purge.links import Links
    from brimline.transcript.read import Line, Record

_FIRST_LINES = 5
_CANDIDATES = 8
_OVERLAP_BYTES = 512
_MOST_UNPARSED_IDS = 100_000
_MASK = (1 << 64) - 1
_ANSWERS = uuid.UUID("5b0f4f6e-0f2b-5d6a-9d52-6a2b7c0e8f11")


def find(lines: Iterable[Line]) -> Findings:
    """Look at a whole session."""
    finder = Finder()
    for line in lines:
        finder.take(line)
    return finder.close()


def answer_uuid(call_row: str) -> str:
    """The id of the row that answers a call for which there is no answer."""
    return str(uuid.uuid5(_ANSWERS, call_row))


class _Asked(NamedTuple):
    number: int
    uuid: str
    thread: str


class _Told(NamedTuple):
    place: Place
    number: int
    exact: bool


class _Thread:
    """Where one conversation has got to."""

    def __init__(self) -> None:
        self.recent: deque[Candidate] = deque(maxlen=_CANDIDATES)
        self.reply_id: str | None = None
        self.open_calls: set[str] = set()
        self.latest = ""


class Finder:
    """Takes the lines of a session one after the other."""

    def __init__(self) -> None:
        self.rows = 0
        self.graph = graph.Graph()
        self._faults: list[Fault] = []
        self._notes: dict[str, Note] = {}
        self._threads: dict[str, _Thread] = {}
        self._hints: dict[int, Hint] = {}
        self._missing: dict[int, str] = {}
        self._contested: set[int] = set()
        self._roots: list[int] = []
        self._asked: dict[str, _Asked] = {}
        self._told: dict[str, _Told] = {}
        self._answered = graph.Numbers()
        self._cut_calls: set[str] = set()
        self._context_from = self._main_from = 0
        self._unparsed = _Unparsed()

    def take(self, line: Line) -> None:
        """Look at the next line."""
        if line.part is not None:
            if not line.part:
                self._note(faults.LONG, line.number)
            self._unparsed.take(line)
            return
        if line.problem == read.BLANK:
            return
        whole = whole_rows(line)
        self._take_shape(line, whole)
        for index, record in enumerate(whole.rows):
            self.rows += 1
            is_open = not line.is_ended and index == len(whole.rows) - 1
            self._take_row(line, index, record, is_open=is_open)

    def close(self) -> Findings:
        """Say what was found."""
        self.graph.close()
        lost = find_lost(self.graph, self._hints, self._is_elsewhere, self._contested)
        answers = self._take_unanswered({one.number for one in lost})
        for one in lost:
            self._take_lost(one, answers)
        self._take_orphans()
        self._take_roots()
        self._take_forward()
        context_line = (
            self.graph.lines[self._context_from] if self._context_from < len(self.graph) else 0
        )
        found = [
            fault if fault.place.line >= context_line else _out_of_context(fault)
            for fault in sorted(self._faults, key=lambda fault: fault.place)
        ]
        return Findings(found, self._notes, self.rows)

    def _take_shape(self, line: Line, whole: Whole) -> None:
        place = Place(line.number)
        if whole.rows and line.number > 1 and line.raw.startswith(read.BOM):
            self._faults.append(Fault(faults.STRAY_MARK, place, mend=Mend(faults.UNMARK)))
        if whole.rows and whole.is_broken:
            self._faults.append(Fault(faults.FUSED, place, mend=Mend(faults.SPLIT)))
        elif len(whole.rows) > 1:
            detail = f"{len(whole.rows)} rows"
            self._faults.append(Fault(faults.MERGED, place, detail, Mend(faults.SPLIT)))
        if not whole.is_broken or whole.broken_to < len(line.raw):
            return
        if not line.is_ended:
            detail = f"{len(line.raw) - whole.broken_from:,} bytes"
            self._faults.append(Fault(faults.TORN, place, detail, Mend(faults.CUT)))
        elif not whole.rows:
            self._note(faults.UNREADABLE, line.number)

    def _take_row(self, line: Line, index: int, record: Record, *, is_open: bool) -> None:
        row = links.links_of(record.value)
        if row.uuid is None:
            return
        place = Place(line.number, index)
        digest = hash(line.raw[record.start : record.end]) & _MASK
        earlier = self.graph.number_of(row.uuid)
        if earlier is not None:
            first = self.graph.lines[earlier]
            if self.graph.digests[earlier] == digest:
                self._faults.append(_repeated(place, first, is_open=is_open))
                return
            self._faults.append(_differing(place, first, row.uuid))
        thread = self._threads.setdefault(row.thread, _Thread())
        number = len(self.graph)
        if earlier is not None:
            self._contested |= {earlier, number}
        if row.thread == links.MAIN and not thread.recent:
            self._main_from = number
        self._take_links(row, thread, number)
        self._take_time(row, thread, line.number)
        flags = _flags(row, thread) | graph.COPY * (earlier is not None)
        self.graph.add(row.uuid, row.parent, row.thread, flags, digest)
        self.graph.place(line.number, index)
        self._take_pairs(row, thread, _Told(place, number, line.exact))
        if row.is_boundary:
            self._take_boundary(record.value, thread, number)
        if row.kind == "assistant":
            thread.reply_id = row.message_id
        elif row.kind == "user" and not row.is_answer:
            thread.reply_id = None
        if row.kind != links.PROGRESS or not thread.recent:
            thread.recent.appendleft(Candidate(number, row.uuid))

    def _take_links(self, row: Links, thread: _Thread, number: int) -> None:
        if row.parent is None:
            if row.thread == links.MAIN and not row.is_boundary and thread.recent:
                self._roots.append(number)
        elif self.graph.number_of(row.parent) is None:
            self._hints[number] = Hint(self._certain(row, thread), tuple(thread.recent))
            self._missing[number] = row.parent

    def _certain(self, row: Links, thread: _Thread) -> Candidate | None:
        """The row that must be the parent, from what a row holds."""
        for call in row.results:
            if call in self._asked:
                asked = self._asked[call]
                return Candidate(asked.number, asked.uuid)
        if _continues(row, thread) and thread.recent:
            return thread.recent[0]
        return None

    def _take_time(self, row: Links, thread: _Thread, line: int) -> None:
        moment = row.timestamp or ""
        if moment < thread.latest and moment:
            self._note(faults.TIME_BACK, line)
        thread.latest = max(thread.latest, moment)

    def _take_pairs(self, row: Links, thread: _Thread, told: _Told) -> None:
        starts_new = row.kind == "assistant" and not _continues(row, thread)
        if starts_new or (row.kind == "user" and not row.is_answer):
            thread.open_calls.clear()
        for call in row.calls:
            self._ask(call, row, thread, told)
        for call in row.results:
            self._answer(call, told)

    def _ask(self, call: str, row: Links, thread: _Thread, told: _Told) -> None:
        key = graph.key_of(call)
        if call in self._told:
            self._note(faults.ANSWER_FIRST, self._told.pop(call).place.line)
            self._answered.add(key, 0)
        elif self._answered.get(key) is None and call not in self._asked and row.uuid:
            self._asked[call] = _Asked(told.number, row.uuid, row.thread)
            thread.open_calls.add(call)

    def _answer(self, call: str, told: _Told) -> None:
        key = graph.key_of(call)
        if self._asked.pop(call, None):
            self._answered.add(key, 0)
        elif self._answered.get(key) is not None or call in self._told:
            self._note(faults.REPEATED_ANSWER, told.place.line)
        else:
            self._told[call] = told

    def _take_boundary(self, value: dict[str, Any], thread: _Thread, number: int) -> None:
        """Nothing before a compaction is in the context, but for what it says it kept."""
        kept = [self.graph.number_of(name) for name in links.preserved_by(value)]
        self._context_from = min([found for found in kept if found is not None], default=number)
        self._cut_calls |= thread.open_calls
        thread.open_calls.clear()

    def _take_unanswered(self, lost: set[int]) -> dict[int, str]:
        """The calls without a result; the rows of those that get one, with the answer's id."""
        answers: dict[int, str] = {}
        by_row: dict[int, list[str]] = {}
        for call, asked in self._asked.items():
            line = self.graph.lines[asked.number]
            if call in self._threads[asked.thread].open_calls:
                self._note(faults.OPEN_CALL, line)
            elif call in self._cut_calls:
                self._note(faults.CUT_CALL, line)
            elif not self._unparsed.may_hold(call):
                by_row.setdefault(asked.number, []).append(call)
                answers[asked.number] = answer_uuid(asked.uuid)
        moves = self._followers(answers.keys(), lost | self._contested)
        for number, calls in by_row.items():
            mend = Mend(faults.ANSWER, answers[number], tuple(calls), tuple(moves.get(number, ())))
            self._faults.append(
                Fault(faults.UNANSWERED, self._place(number), ", ".join(calls), mend)
            )
        return answers

    def _followers(self, numbers: Iterable[int], fixed: set[int]) -> dict[int, list[Place]]:
        wanted = frozenset(numbers)
        found: dict[int, list[Place]] = {}
        if wanted:
            for number, parent in enumerate(self.graph.parents):
                if parent in wanted and number not in fixed and self._follows(number, parent):
                    found.setdefault(parent, []).append(self._place(number))
        return found

    def _follows(self, number: int, parent: int) -> bool:
        """Whether a row is what came after a call, and no part or report of it."""
        apart = graph.SAME_REPLY | graph.ANSWER | graph.PROGRESS
        return not self.graph.flags[number] & apart and self.graph.same_thread(number, parent)

    def _take_lost(self, lost: Lost, answers: dict[int, str]) -> None:
        kind = faults.CYCLE if lost.in_cycle else faults.DANGLING
        place = self._place(lost.number)
        if lost.number in self._contested:
            self._faults.append(Fault(kind, place, "another row has its id too"))
            return
        if lost.choices:
            lines = ", ".join(str(self.graph.lines[number]) for number in sorted(lost.choices))
            what = "the wrong link may be in any of lines" if lost.in_cycle else "may follow lines"
            self._faults.append(Fault(kind, place, f"{what} {lines}"))
            return
        parent = lost.parent.uuid if lost.parent else None
        detail = "nothing stands before it"
        if lost.parent:
            detail = f"follows line {self.graph.lines[lost.parent.number]}"
            if lost.parent.number in answers and self._follows(lost.number, lost.parent.number):
                parent = answers[lost.parent.number]
        self._faults.append(Fault(kind, place, detail, Mend(faults.RELINK, parent)))

    def _take_orphans(self) -> None:
        by_row: dict[_Told, list[str]] = {}
        for call, told in self._told.items():
            if not self._unparsed.may_hold(call):
                by_row.setdefault(told, []).append(call)
        for told, calls in by_row.items():
            detail = ", ".join(calls)
            mend: Mend | None = Mend(faults.STUB, calls=tuple(calls))
            if told.number in self._contested:
                detail, mend = f"{detail}: another row has its id too", None
            elif not told.exact:
                detail, mend = f"{detail}: the line is not valid UTF-8", None
            self._faults.append(Fault(faults.ORPHAN, told.place, detail, mend))

    def _take_roots(self) -> None:
        for number in self._roots:
            is_late = self.graph.descends(self._main_from, number)
            if self.graph.has_child[number] and not is_late:
                detail = "a return to the start of the session, or a lost link"
                self._faults.append(Fault(faults.SECOND_ROOT, self._place(number), detail))

    def _take_forward(self) -> None:
        for number in self._hints:
            if number < self.graph.parents[number] < graph.MISSING:
                self._note(faults.CHILD_FIRST, self.graph.lines[number])

    def _is_elsewhere(self, number: int) -> bool:
        return self._unparsed.may_hold(self._missing[number])

    def _place(self, number: int) -> Place:
        return Place(self.graph.lines[number], self.graph.places.get(number, 0))

    def _note(self, kind: str, line: int) -> None:
        note = self._notes.setdefault(kind, Note())
        note.count += 1
        if len(note.lines) < _FIRST_LINES:
            note.lines.append(line)


class _Unparsed:
    """The ids on lines that are too long to be parsed."""

    def __init__(self) -> None:
        self._ids: set[int] = set()
        self._rest = b""

    def take(self, part: Line) -> None:
        """Look for ids; one may reach from one part into the next."""
        if len(self._ids) < _MOST_UNPARSED_IDS:
            self._ids.update(map(graph.key_of, links.ids_in(self._rest + part.raw)))
        self._rest = b"" if part.is_ended else part.raw[-_OVERLAP_BYTES:]

    def may_hold(self, name: str) -> bool:
        """Whether an id may be there; of too many ids nothing is known."""
        return len(self._ids) >= _MOST_UNPARSED_IDS or graph.key_of(name) in self._ids


def _continues(row: Links, thread: _Thread) -> bool:
    """Whether a row is a further part of the reply under way."""
    return row.message_id is not None and row.message_id == thread.reply_id


def _flags(row: Links, thread: _Thread) -> int:
    return (
        graph.ANSWER * row.is_answer
        | graph.PROGRESS * (row.kind == links.PROGRESS)
        | graph.CALL * bool(row.calls)
        | graph.SAME_REPLY * _continues(row, thread)
        | graph.TALK * (row.kind in ("user", "assistant"))
    )


def _repeated(place: Place, first: int, *, is_open: bool) -> Fault:
    detail = f"the same as in line {first}"
    if is_open:
        return Fault(faults.REPEATED, place, f"{detail}, and the last line may still be written")
    return Fault(faults.REPEATED, place, detail, Mend(faults.DROP))


def _differing(place: Place, first: int, name: str) -> Fault:
    detail = f"id {name}, also in line {first}: which of them is meant is not certain"
    return Fault(faults.DIFFERING, place, detail)


def _out_of_context(fault: Fault) -> Fault:
    return Fault(fault.kind, fault.place, fault.detail, fault.mend, in_context=False)
