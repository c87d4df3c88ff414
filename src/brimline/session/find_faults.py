"""Finds what is wrong with a session in one pass over its lines; total on any bytes. Pure."""

from __future__ import annotations

import uuid
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from brimline.session import faults, lost_parents
from brimline.session.faults import Fault, Findings, Mend, Note, Place
from brimline.transcript import read
from brimline.transcript import row as shapes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from brimline.session.faults import Row, Whole
    from brimline.session.lost_parents import Lost
    from brimline.transcript.read import Line, Record

_FIRST_LINES = 5
_CANDIDATES = 8
_OVERLAP_BYTES = 512
_MOST_UNPARSED_IDS = 100_000
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


class _Thread:
    """Where one conversation has got to."""

    def __init__(self) -> None:
        self.recent: deque[Row] = deque(maxlen=_CANDIDATES)
        self.reply_id: str | None = None
        self.open_calls: set[str] = set()
        self.latest = ""


class Finder:
    """Takes the lines of a session one after the other."""

    def __init__(self) -> None:
        self.rows = 0
        self._rows: list[Row] = []
        self._by_id: dict[str, Row] = {}
        self._faults: list[Fault] = []
        self._notes: dict[str, Note] = {}
        self._threads: dict[str, _Thread] = {}
        self._roots: list[Row] = []
        self._asked: dict[str, Row] = {}
        self._told: dict[str, Row] = {}
        self._answered: set[int] = set()
        self._cut_calls: set[str] = set()
        self._context_from: Row | None = None
        self._main_first: Row | None = None
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
        whole = faults.whole_rows(line)
        self._take_shape(line, whole)
        for index, record in enumerate(whole.rows):
            self.rows += 1
            is_open = not line.is_ended and index == len(whole.rows) - 1
            self._take_row(line, index, record, is_open=is_open)

    def close(self) -> Findings:
        """Say what was found."""
        lost_parents.link(self._rows, self._by_id)
        forward = [row for row in self._rows if row.parent and row.parent.number > row.number]
        lost = lost_parents.find_lost(
            self._rows, lambda row: self._unparsed.may_hold(row.parent_id or "")
        )
        answers = self._take_unanswered({one.row.number for one in lost})
        for one in lost:
            self._take_lost(one, answers)
        self._take_orphans()
        for row in self._roots:
            is_late = lost_parents.descends(self._main_first, row, len(self._rows))
            if row.has_child and not is_late:
                detail = "a return to the start of the session, or a lost link"
                self._faults.append(Fault(faults.SECOND_ROOT, row.place, detail))
        for row in forward:
            if row.parent and row.parent.number > row.number:
                self._note(faults.CHILD_FIRST, row.place.line)
        context_line = self._context_from.place.line if self._context_from else 0
        found = [
            fault if fault.place.line >= context_line else replace(fault, in_context=False)
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
        row = faults.row_of(record.value)
        if row is None:
            return
        row.place, row.number, row.is_exact = Place(line.number, index), len(self._rows), line.exact
        row.digest = hash(line.raw[record.start : record.end])
        earlier = self._by_id.setdefault(row.uuid, row)
        if earlier is not row:
            self._take_again(row, earlier, is_open=is_open)
            if earlier.digest == row.digest:
                return
        thread = self._threads.setdefault(row.thread, _Thread())
        row.continues = row.message_id is not None and row.message_id == thread.reply_id
        if row.thread == faults.MAIN and not thread.recent:
            self._main_first = row
        self._take_links(row, thread)
        if row.moment and row.moment < thread.latest:
            self._note(faults.TIME_BACK, line.number)
        thread.latest = max(thread.latest, row.moment)
        self._rows.append(row)
        self._take_pairs(row, thread)
        # There may be hundreds of thousands, and nobody asks for these again.
        row.calls, row.results, row.moment = (), (), ""
        if row.is_boundary:
            self._take_boundary(record.value, thread, row)
        if row.kind == "assistant":
            thread.reply_id = row.message_id
        elif row.kind == "user" and not row.is_answer:
            thread.reply_id = None
        if row.kind != shapes.PROGRESS or not thread.recent:
            thread.recent.appendleft(row)

    def _take_again(self, row: Row, earlier: Row, *, is_open: bool) -> None:
        first = earlier.place.line
        if earlier.digest != row.digest:
            detail = f"id {row.uuid}, also in line {first}: which of them is meant is not certain"
            self._faults.append(Fault(faults.DIFFERING, row.place, detail))
            row.is_copy = row.is_contested = earlier.is_contested = True
            return
        detail = f"the same as in line {first}"
        mend = None if is_open else Mend(faults.DROP)
        detail += ", and the last line may still be written" if is_open else ""
        self._faults.append(Fault(faults.REPEATED, row.place, detail, mend))

    def _take_links(self, row: Row, thread: _Thread) -> None:
        if row.parent_id is None:
            if row.thread == faults.MAIN and not row.is_boundary and thread.recent:
                self._roots.append(row)
        elif row.parent_id not in self._by_id or row.parent_id == row.uuid:
            # What must be the parent, from what the row holds.
            asked = [self._asked[call] for call in row.results if call in self._asked]
            same_reply = [thread.recent[0]] if row.continues and thread.recent else []
            row.certain = next(iter([*asked, *same_reply]), None)
            row.before = tuple(thread.recent)

    def _take_pairs(self, row: Row, thread: _Thread) -> None:
        starts_new = row.kind == "assistant" and not row.continues
        if starts_new or (row.kind == "user" and not row.is_answer):
            thread.open_calls.clear()
        for call in row.calls:
            if call in self._told:
                self._note(faults.ANSWER_FIRST, self._told.pop(call).place.line)
                self._answered.add(hash(call))
            elif hash(call) not in self._answered and call not in self._asked:
                self._asked[call] = row
                thread.open_calls.add(call)
        for call in row.results:
            if self._asked.pop(call, None):
                self._answered.add(hash(call))
            elif hash(call) in self._answered or call in self._told:
                self._note(faults.REPEATED_ANSWER, row.place.line)
            else:
                self._told[call] = row

    def _take_boundary(self, value: dict[str, Any], thread: _Thread, row: Row) -> None:
        """Nothing before a compaction is in the context, but for what it says it kept."""
        preserved = shapes.preserved(value)
        kept = (
            [self._by_id[name] for name in preserved[0] if name in self._by_id] if preserved else []
        )
        self._context_from = min(kept, default=row, key=lambda one: one.number)
        self._cut_calls |= thread.open_calls
        thread.open_calls.clear()

    def _take_unanswered(self, lost: set[int]) -> dict[int, str]:
        """The calls without a result; the rows of those that get one, with the answer's id."""
        by_row: dict[int, list[str]] = {}
        for call, row in self._asked.items():
            if call in self._threads[row.thread].open_calls:
                self._note(faults.OPEN_CALL, row.place.line)
            elif call in self._cut_calls:
                self._note(faults.CUT_CALL, row.place.line)
            elif not self._unparsed.may_hold(call):
                by_row.setdefault(row.number, []).append(call)
        moves: dict[int, list[Place]] = {}
        for row in self._rows if by_row else []:
            parent = row.parent
            is_free = row.number not in lost and not row.is_contested
            if parent and parent.number in by_row and is_free and _follows(row, parent):
                moves.setdefault(parent.number, []).append(row.place)
        answers = {number: answer_uuid(self._rows[number].uuid) for number in by_row}
        for number, calls in by_row.items():
            mend = Mend(faults.ANSWER, answers[number], tuple(calls), tuple(moves.get(number, ())))
            place = self._rows[number].place
            self._faults.append(Fault(faults.UNANSWERED, place, ", ".join(calls), mend))
        return answers

    def _take_lost(self, lost: Lost, answers: dict[int, str]) -> None:
        mend = None
        if lost.row.is_contested:
            detail = "another row has its id too"
        elif lost.choices:
            lines = ", ".join(str(line) for line in sorted(row.place.line for row in lost.choices))
            what = "the wrong link may be in any of lines" if lost.in_cycle else "may follow lines"
            detail = f"{what} {lines}"
        elif lost.parent is None:
            detail, mend = "nothing stands before it", Mend(faults.RELINK)
        else:
            detail = f"follows line {lost.parent.place.line}"
            answer = answers.get(lost.parent.number) if _follows(lost.row, lost.parent) else None
            mend = Mend(faults.RELINK, answer or lost.parent.uuid)
        kind = faults.CYCLE if lost.in_cycle else faults.DANGLING
        self._faults.append(Fault(kind, lost.row.place, detail, mend))

    def _take_orphans(self) -> None:
        by_row: dict[int, list[str]] = {}
        for call, row in self._told.items():
            if not self._unparsed.may_hold(call):
                by_row.setdefault(row.number, []).append(call)
        for number, calls in by_row.items():
            row, detail = self._rows[number], ", ".join(calls)
            mend: Mend | None = Mend(faults.STUB, calls=tuple(calls))
            if row.is_contested:
                detail, mend = f"{detail}: another row has its id too", None
            elif not row.is_exact:
                detail, mend = f"{detail}: the line is not valid UTF-8", None
            self._faults.append(Fault(faults.ORPHAN, row.place, detail, mend))

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
            self._ids.update(map(hash, faults.ids_in(self._rest + part.raw)))
        self._rest = b"" if part.is_ended else part.raw[-_OVERLAP_BYTES:]

    def may_hold(self, name: str) -> bool:
        """Whether an id may be there; of too many ids nothing is known."""
        return len(self._ids) >= _MOST_UNPARSED_IDS or hash(name) in self._ids


def _follows(row: Row, parent: Row) -> bool:
    """Whether a row is what came after a call, and no part or report of it."""
    is_apart = row.continues or row.is_answer or row.kind == shapes.PROGRESS
    return not is_apart and row.thread == parent.thread
