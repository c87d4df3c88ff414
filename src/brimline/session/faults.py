"""Finds what is wrong with a session in one pass over its lines; total on any bytes. Pure.

A row whose parent is missing is tied to the row before it on its thread: that is where the missing
one stood. A result belongs to its call, and a part of a reply to the part before it, whatever
stands in between. Where two mends are possible nothing is guessed.
"""

from __future__ import annotations

import re
import sys
import uuid
from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.transcript import read
from brimline.transcript.read import Line
from brimline.transcript.row import (
    BEGINNING,
    PROGRESS,
    as_text,
    is_compaction_row,
    is_summary,
    message_id,
    message_of,
    numbered_blocks,
    parent_of,
    preserved_ids_and_ends,
    subagent_id_of,
    type_of,
    uuid_of,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from brimline.transcript.read import Record

MERGED, DANGLING = "merged_lines", "dangling_parent"
ORPHAN, UNANSWERED = "orphan_result", "unanswered_call"
DIFFERING = "differing_rows"
UNDONE, CUT_OFF = "undone_compaction", "cut_off_compaction"

MEANINGS = {
    MERGED: "several rows on one line: the client reads the first and loses the others",
    DANGLING: "the parent is not in the session: the client may lose all history before this row",
    ORPHAN: "a result without its call: the client leaves it out of its requests",
    UNANSWERED: "a call without its result: the client leaves it out of its requests",
    DIFFERING: "two different rows with one id: the client reads the last",
    UNDONE: "a mod's compaction that a resume undoes: its rows lead back to those before it",
    CUT_OFF: "a compaction that was cut off: a resume lacks what should stand behind it",
}

# Harmless: met in sound sessions, or put right by the client itself.
OPEN_CALL, CUT_CALL = "open_call", "call_cut_by_compaction"
CHILD_FIRST, REPEATED = "child_before_parent", "repeated_row"
UNREADABLE, LONG = "unreadable_line", "long_line"

NOTES = {
    OPEN_CALL: "calls of the last reply without a result: the session runs, or ended there",
    CUT_CALL: "calls whose result a compaction cut off",
    CHILD_FIRST: "rows written before their parent",
    REPEATED: "rows that stand there twice; the client reads one",
    UNREADABLE: "lines that are not JSON; the client skips them",
    LONG: "lines too long to be looked into: what is missing elsewhere may be there",
}

# How rows begin; inside a JSON text its quotes would be escaped.
_ROW_START = re.compile(BEGINNING)
_TRIED_STARTS = 20
# How a fault is mended.
SPLIT, RELINK, STUB, ANSWER, ANCHOR = "split", "relink", "stub", "answer", "anchor"

# The main conversation; every other thread is named after its agent.
_MAIN = ""
_LONGEST_ID = 256
_CANDIDATES = 8
_ANSWERS = uuid.UUID("5b0f4f6e-0f2b-5d6a-9d52-6a2b7c0e8f11")


class Place(NamedTuple):
    """Where a row stands: its line, counted from 1, and which of the rows there, from 0."""

    line: int
    nth: int = 0


class Mend(NamedTuple):
    """What is to be done about a fault."""

    action: str
    parent: str | None = None  # for `relink`, the id of the new one; for `answer`, the answer's id
    calls: tuple[str, ...] = ()  # for `stub` and `answer`; for `anchor`, the rows that stay
    moves: tuple[Place, ...] = ()  # rows that follow a call and have to follow its answer instead
    after: Place | None = None  # where an answer goes: behind the last part of the reply


class Fault(NamedTuple):
    """One thing that is wrong."""

    kind: str
    place: Place
    detail: str = ""
    mend: Mend | None = None
    in_context: bool = True  # after the last compaction, where it matters to the next request


@dataclass(slots=True)
class Findings:
    """All that was found, in the order of the file; `rows` counts JSON objects, with id or not."""

    faults: list[Fault] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)  # what needs no mending, how often
    rows: int = 0
    copies: dict[Place, list[Place]] = field(default_factory=dict)  # where a row stands again

    @property
    def mendable_faults(self) -> list[Fault]:
        """Those with exactly one mend."""
        return [fault for fault in self.faults if fault.mend]

    @property
    def faults_left_alone(self) -> list[Fault]:
        """Those where a mend would be a guess."""
        return [fault for fault in self.faults if not fault.mend]


def find_faults(lines: Iterable[Line]) -> Findings:
    """Look at a whole session."""
    finder = Finder()
    for line in lines:
        finder.read_line(line)
    return finder.close()


def uuid_of_made_answer(call_row: str) -> str:
    """The id of the row that answers a call for which there is no answer."""
    return str(uuid.uuid5(_ANSWERS, call_row))


@dataclass(slots=True, eq=False)
class _Row:
    """A row that has an id, as the others see it."""

    kind: str
    uuid: str
    place: Place
    number: int
    digest: int
    parent_id: str | None = None
    thread: str = ""
    message_id: str | None = None  # rows of one reply share it
    results: tuple[str, ...] = ()  # the calls that it answers
    is_answer: bool = False  # whether it holds results and nothing else
    is_exact: bool = True
    continues: bool = False  # whether it is a further part of the reply before it
    is_contested: bool = False  # whether another row has its id: nothing is certain of either
    parent: _Row | None = None
    # Where its parent did not come before it: what must be the parent, from what the row holds,
    # and the rows before it on its thread, nearest first.
    certain: _Row | None = None
    before: tuple[_Row, ...] = ()


class _Thread:
    """Where one conversation has got to."""

    def __init__(self) -> None:
        self.recent: deque[_Row] = deque(maxlen=_CANDIDATES)
        self.reply_id: str | None = None
        self.open_calls: set[str] = set()

    def note_row(self, row: _Row) -> None:
        """Note that it has got to a row."""
        if row.kind == "assistant":
            self.reply_id = row.message_id
        elif row.kind == "user" and not row.is_answer:
            self.reply_id = None
        if row.kind != PROGRESS or not self.recent:
            self.recent.appendleft(row)


def rows_on_line(line: Line) -> tuple[Record, ...]:
    """The rows on a line, also those that a client appended to what another had not ended."""
    raw, records, problem = line.raw, list(line.records), line.problem
    while problem == read.TORN:
        starts = _ROW_START.finditer(raw, records[-1].end + 1 if records else 1)
        tries = ((match.start(), Line(line.number, 0, raw[match.start() :])) for match in starts)
        fits = (pair for pair in islice(tries, _TRIED_STARTS) if _begins_with_row(pair[1]))
        behind = next(fits, None)
        if behind is None:
            break
        at, rest = behind
        records += [read.Record(at + row.start, at + row.end, row.value) for row in rest.records]
        problem = rest.problem
    return tuple(records)


def _begins_with_row(line: Line) -> bool:
    """Whether a text begins with a row, and is rows up to its end or to another broken piece."""
    first = line.records[0] if line.records else None
    if first is None or first.start or line.problem not in (None, read.TORN):
        return False
    return uuid_of(first.value) is not None


class Finder:
    """Takes the lines of a session one after the other."""

    def __init__(self) -> None:
        self._found = Findings()
        self._rows: list[_Row] = []
        self._by_id: dict[str, _Row] = {}
        self._threads: dict[str, _Thread] = {}
        self._asked: dict[str, _Row] = {}
        self._told: dict[str, _Row] = {}
        self._answered: set[int] = set()
        self._cut_calls: set[str] = set()
        self._context_from = 0
        self._boundary: _Row | None = None
        self._before_boundary: _Row | None = None
        self._results_since: set[str] = set()
        self._above_early: set[int] = set()
        self._is_bare = False  # whether nothing holds the last compaction

    def read_line(self, line: Line) -> None:
        """Look at the next line."""
        if line.part is not None:
            if not line.part:
                self._found.notes[LONG] += 1
            return
        is_broken = line.problem in (read.TORN, read.INVALID)
        records = rows_on_line(line)
        if len(records) > 1 or (records and is_broken):
            detail = f"{len(records)} row" + "s" * (len(records) > 1)
            detail += " and a broken piece" * is_broken
            self._add_fault(MERGED, Place(line.number), detail, Mend(SPLIT))
        elif is_broken:
            self._found.notes[UNREADABLE] += 1
        for index, record in enumerate(records):
            self._found.rows += 1
            self._check_row(line, Place(line.number, index), record)

    def close(self) -> Findings:
        """Say what was found."""
        early = []
        for row in self._rows:
            row.parent = self._by_id.get(row.parent_id) if row.parent_id else None
            if row.parent and row.parent.number > row.number:
                self._found.notes[CHILD_FIRST] += 1
                early.append(row)
        for row in early:
            self._note_rows_above_early(row)
        if LONG not in self._found.notes:
            answers = self._find_unanswered_calls()
            self._find_missing_parents(answers)
            self._find_orphan_results()
        self._find_broken_compaction()
        found = self._found
        found.faults = [
            fault if fault.place.line >= self._context_from else fault._replace(in_context=False)
            for fault in sorted(found.faults, key=lambda fault: fault.place)
        ]
        return found

    def _check_row(self, line: Line, place: Place, record: Record) -> None:
        value = record.value
        name = _id_if_valid(uuid_of(value))
        if name is None:
            return
        kind = sys.intern(type_of(value))
        calls = list(_block_ids(value, "tool_use", "id")) if kind == "assistant" else []
        data = line.raw[record.start : record.end]
        row = _Row(kind, name, place, len(self._rows), hash(data))
        row.parent_id, row.thread = _id_if_valid(parent_of(value)), subagent_id_of(value)
        if kind == "assistant":
            row.message_id = _id_if_valid(message_id(value))
        elif kind == "user":
            row.results = tuple(_block_ids(value, "tool_result", "tool_use_id"))
            row.is_answer = 0 < len(row.results) == len(message_of(value).get("content", ()))
        row.is_exact = line.exact or data.decode("utf-8", "ignore").encode() == data
        if self._note_id_tell_if_copy(row):
            return
        self._rows.append(row)
        thread = self._threads.setdefault(row.thread, _Thread())
        row.continues = row.message_id is not None and row.message_id == thread.reply_id
        is_boundary = is_compaction_row(value)
        self._note_lost_parent(row, thread)
        self._pair_calls_with_results(row, thread, calls)
        if is_boundary:
            self._note_boundary(value, thread, row)
        thread.note_row(row)

    def _note_id_tell_if_copy(self, row: _Row) -> bool:
        """Note a row that stands there a second time; another with its id makes both doubtful."""
        earlier = self._by_id.setdefault(row.uuid, row)
        if earlier is row:
            return False
        if earlier.digest == row.digest:
            self._found.notes[REPEATED] += 1
            self._found.copies.setdefault(earlier.place, []).append(row.place)
            return True
        line = earlier.place.line
        detail = f"id {row.uuid}, also in line {line}: which of them is meant is not certain"
        self._add_fault(DIFFERING, row.place, detail)
        row.is_contested = earlier.is_contested = True
        return False

    def _note_lost_parent(self, row: _Row, thread: _Thread) -> None:
        if row.parent_id is not None and row.parent_id not in self._by_id:
            asked = [self._asked[call] for call in row.results if call in self._asked]
            same_reply = [thread.recent[0]] if row.continues and thread.recent else []
            row.certain = next(iter([*asked, *same_reply]), None)
            row.before = tuple(thread.recent)

    def _pair_calls_with_results(self, row: _Row, thread: _Thread, calls: list[str]) -> None:
        starts_new = row.kind == "assistant" and not row.continues
        if starts_new or (row.kind == "user" and not row.is_answer):
            thread.open_calls.clear()
        for call in calls:
            self._note_call(call, row, thread)
        self._results_since.update(row.results)
        for call in row.results:
            if self._asked.pop(call, None):
                self._answered.add(hash(call))
            elif hash(call) not in self._answered:
                self._told.setdefault(call, row)

    def _note_call(self, call: str, row: _Row, thread: _Thread) -> None:
        """Note a call, whose result may stand before it."""
        if call in self._told:
            del self._told[call]
            self._answered.add(hash(call))
        elif hash(call) not in self._answered and call not in self._asked:
            self._asked[call] = row
            thread.open_calls.add(call)

    def _note_boundary(self, value: dict[str, Any], thread: _Thread, row: _Row) -> None:
        """Nothing before a compaction is in the context, but for what it says it kept."""
        names = preserved_ids_and_ends(value)[0]
        self._is_bare = not names and not is_summary(value)
        kept = [self._by_id[name].place.line for name in names & self._by_id.keys()]
        self._context_from = min([row.place.line, *kept])
        self._cut_calls |= thread.open_calls
        thread.open_calls.clear()
        self._boundary, self._before_boundary = row, next(iter(thread.recent), None)
        self._results_since.clear()

    def _find_broken_compaction(self) -> None:
        """The last compaction, where nothing holds it: cut off, or undone by a resume."""
        boundary = self._boundary
        if boundary is None or not self._is_bare:
            return
        if self._is_compaction_cut_off():
            detail = "`brimline session restore --before-compaction` takes the session back"
            self._add_fault(CUT_OFF, boundary.place, detail)
        elif self._leads_back_before(boundary):
            self._add_undone_compaction_fault(boundary)

    def _is_compaction_cut_off(self) -> bool:
        """Whether the last result before the compaction is not behind it, not even as a line."""
        before = _row_and_parents(self._before_boundary)
        last = next((row.results for row in before if row.results), None)
        return last is not None and self._results_since.isdisjoint(last)

    def _leads_back_before(self, boundary: _Row) -> bool:
        """Whether a row behind it hangs on one before it, or is of the same reply."""
        own = [row for row in self._rows if row.thread == _MAIN]
        names = [(row.uuid, row.message_id) for row in own if row.number < boundary.number]
        before = set(chain.from_iterable(names)) - {None}
        behind = [row for row in own if row.number >= boundary.number]
        return any(row.parent_id in before or row.message_id in before for row in behind)

    def _add_undone_compaction_fault(self, boundary: _Row) -> None:
        """A compaction by handle: its boundary has to name the rows that it kept."""
        kept = [row.uuid for row in self._rows[boundary.number + 1 :] if row.thread == _MAIN]
        mend = Mend(ANCHOR, calls=tuple(kept)) if boundary.is_exact else None
        self._add_fault(UNDONE, boundary.place, "", mend)

    def _find_unanswered_calls(self) -> dict[int, str]:
        """The calls without a result; the rows of those that get one, with the answer's id."""
        by_row: dict[int, list[str]] = {}
        for call, row in self._asked.items():
            if call in self._threads[row.thread].open_calls:
                self._found.notes[OPEN_CALL] += 1
            elif call in self._cut_calls:
                self._found.notes[CUT_CALL] += 1
            else:
                by_row.setdefault(row.number, []).append(call)
        ends = {row.message_id: row.place for row in self._rows} if by_row else {}
        followers = self._rows_to_move_behind_answers(by_row) if by_row else {}
        answers = {}
        for number, calls in by_row.items():
            row = self._rows[number]
            answers[number] = uuid_of_made_answer(row.uuid)
            end = ends[row.message_id] if row.message_id else row.place
            moved = tuple(followers.get(number, ()))
            mend = Mend(ANSWER, answers[number], tuple(calls), moved, end)
            self._add_fault(UNANSWERED, row.place, ", ".join(calls), mend)
        return answers

    def _rows_to_move_behind_answers(self, numbers: Container[int]) -> dict[int, list[Place]]:
        """The rows that come after some calls, and have to come after their answers instead."""
        found: dict[int, list[Place]] = {}
        for row in self._rows:
            parent = row.parent
            if parent and parent.number in numbers and _must_follow_answer(row, parent):
                found.setdefault(parent.number, []).append(row.place)
        return found

    def _find_missing_parents(self, answers: dict[int, str]) -> None:
        """The rows whose parent is missing, and the one that takes its place."""
        for row in self._rows:
            if row.parent_id is None or row.parent:
                continue
            if doubt := _why_row_unchangeable(row):
                self._add_fault(DANGLING, row.place, doubt)
                continue
            parent = row.parent = self._row_in_place_of_parent(row)
            if row.number in self._above_early:
                self._note_rows_above_early(row)
            if parent is None:
                self._add_fault(DANGLING, row.place, "nothing stands before it", Mend(RELINK))
                continue
            is_behind_answer = parent.number in answers and _must_follow_answer(row, parent)
            name = answers[parent.number] if is_behind_answer else parent.uuid
            detail = f"follows line {parent.place.line}"
            self._add_fault(DANGLING, row.place, detail, Mend(RELINK, name))

    def _row_in_place_of_parent(self, lost: _Row) -> _Row | None:
        """The row that takes the place of a missing parent."""
        before = [lost.certain, *[_early_child_or_self(row, lost.before) for row in lost.before]]
        may_be_below = lost.number in self._above_early
        fits = (r for r in before if r and not (may_be_below and lost in _row_and_parents(r)))
        return next(fits, None)

    def _note_rows_above_early(self, early: _Row) -> None:
        """Note what stands above a row that came before its parent.

        No other row can be above one that comes before it.
        """
        above = early.parent
        while above and above.number not in self._above_early:
            self._above_early.add(above.number)
            above = above.parent

    def _find_orphan_results(self) -> None:
        by_row: dict[int, list[str]] = {}
        for call, row in self._told.items():
            by_row.setdefault(row.number, []).append(call)
        for number, calls in by_row.items():
            row = self._rows[number]
            doubt = _why_row_unchangeable(row)
            detail = ", ".join(calls) + (f": {doubt}" if doubt else "")
            mend = None if doubt else Mend(STUB, calls=tuple(calls))
            self._add_fault(ORPHAN, row.place, detail, mend)

    def _add_fault(self, kind: str, place: Place, detail: str, mend: Mend | None = None) -> None:
        self._found.faults.append(Fault(kind, place, detail, mend))


def _id_if_valid(name: str | None) -> str | None:
    return sys.intern(name) if name and len(name) <= _LONGEST_ID else None


def _block_ids(value: dict[str, Any], kind: str, field: str) -> Iterator[str]:
    for _, block in numbered_blocks(value, kind):
        if found := _id_if_valid(as_text(block.get(field))):
            yield found


def _why_row_unchangeable(row: _Row) -> str | None:
    """Return why a row cannot be changed."""
    if row.is_contested:
        return "another row has its id too"
    return None if row.is_exact else "the line is not valid UTF-8"


def _must_follow_answer(row: _Row, call: _Row) -> bool:
    """Whether a row is what came after a call, and no part or report of it, and may be moved."""
    is_apart = row.continues or row.is_answer or row.kind == PROGRESS
    return not is_apart and not _why_row_unchangeable(row) and row.thread == call.thread


def _early_child_or_self(nearest: _Row, before: tuple[_Row, ...]) -> _Row:
    """The row that already follows the nearest one: results may be written before their call."""
    late = [one for one in before if one.parent is nearest and one.number < nearest.number]
    return late[0] if late else nearest


def _row_and_parents(row: _Row | None) -> Iterator[_Row]:
    """A row, its parent, the parent of that and so on; parents may run in a circle."""
    seen = set()
    while row and row.number not in seen:
        yield row
        seen.add(row.number)
        row = row.parent
