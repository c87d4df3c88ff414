"""What can be wrong with a session, what each fault means, and what its rows tell of one another.

Rows are foreign data: any JSON object is accepted, and what is not known of it is None. Pure.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.transcript import read
from brimline.transcript import row as shapes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.transcript.read import Line, Record

MERGED, FUSED, TORN = "merged_lines", "fused_line", "torn_last_line"
STRAY_MARK = "stray_byte_order_mark"
DANGLING, CYCLE = "dangling_parent", "parent_cycle"
ORPHAN, UNANSWERED = "orphan_result", "unanswered_call"
REPEATED, DIFFERING, SECOND_ROOT = "repeated_row", "differing_rows", "second_root"

MEANINGS = {
    MERGED: "several rows on one line: the client reads the first and loses the others",
    FUSED: "a broken piece and a whole row on one line: the client loses the row",
    TORN: "the last line breaks off: its row cannot be read",
    STRAY_MARK: "a byte order mark in the middle of the file: the client loses the row behind it",
    DANGLING: "the parent is not in the session: the client may lose all history before this row",
    CYCLE: "the chain of parents runs in a circle: the client may lose all history before it",
    ORPHAN: "a result without its call: the client leaves it out of its requests",
    UNANSWERED: "a call without its result: the client leaves it out of its requests",
    REPEATED: "the same row twice",
    DIFFERING: "two different rows with one id: the client reads the last",
    SECOND_ROOT: "a row without a parent in the middle: history before it is not in the context",
}

# Harmless: met in sound sessions, or put right by the client itself.
OPEN_CALL, CUT_CALL = "open_call", "call_cut_by_compaction"
ANSWER_FIRST, CHILD_FIRST = "result_before_call", "child_before_parent"
TIME_BACK, REPEATED_ANSWER = "time_runs_back", "repeated_result"
UNREADABLE, LONG = "unreadable_line", "long_line"

NOTES = {
    OPEN_CALL: "calls of the last reply without a result: the session runs, or ended there",
    CUT_CALL: "calls whose result a compaction cut off",
    ANSWER_FIRST: "results written before their call",
    CHILD_FIRST: "rows written before their parent",
    TIME_BACK: "timestamps before those of earlier rows",
    REPEATED_ANSWER: "results of calls that had one already; the client leaves them out",
    UNREADABLE: "lines that are no JSON; the client skips them",
    LONG: "lines too long to be looked into",
}

# How a fault is mended.
SPLIT, CUT, RELINK, DROP, STUB, ANSWER = "split", "cut", "relink", "drop", "stub", "answer"
UNMARK = "unmark"

# The main conversation; every other thread is named after its agent.
MAIN = ""
_UNNAMED_SIDECHAIN = "sidechain"
_LONGEST_ID = 256
_NAMED = re.compile(rb'"(?:uuid|id|tool_use_id)"\s*:\s*"([^"\\]{1,256})"')
# With these a row begins, whichever client wrote it.
_BEGINNINGS = re.compile(rb'\{"(?:parentUuid|logicalParentUuid|isSidechain|uuid|type)"')
# Every row has one of them, and nothing inside a row has one beside its `type`.
_MARKS = ("uuid", "sessionId", "leafUuid", "messageId")
_MOST_TRIES = 200


class Place(NamedTuple):
    """Where a row stands: its line, counted from 1, and which of the rows there, from 0."""

    line: int
    nth: int = 0


class Mend(NamedTuple):
    """What is to be done about a fault."""

    action: str
    parent: str | None = None
    """For `relink`: the id of the new parent; None makes the row the first of its thread. For
    `answer`: the id of the answer."""
    calls: tuple[str, ...] = ()
    """For `stub` and `answer`: the calls concerned."""
    moves: tuple[Place, ...] = ()
    """For `answer`: the rows that follow the call and have to follow the answer instead."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong."""

    kind: str
    place: Place
    detail: str = ""
    mend: Mend | None = None
    in_context: bool = True
    """Whether it stands after the last compaction, where it can matter to the next request."""


@dataclass(slots=True)
class Note:
    """Something unusual that needs no mending, counted; with the first lines where it is."""

    count: int = 0
    lines: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Findings:
    """All that was found, in the order of the file."""

    faults: list[Fault] = field(default_factory=list)
    notes: dict[str, Note] = field(default_factory=dict)
    rows: int = 0
    """JSON objects, whether they have an id or not."""

    @property
    def mendable(self) -> list[Fault]:
        """Those with exactly one mend."""
        return [fault for fault in self.faults if fault.mend]

    @property
    def left_alone(self) -> list[Fault]:
        """Those where a mend would be a guess."""
        return [fault for fault in self.faults if not fault.mend]


@dataclass(slots=True, eq=False)
class Row:
    """A row that has an id, as the others see it."""

    kind: str
    uuid: str
    parent_id: str | None
    thread: str
    message_id: str | None
    """Rows of one reply share it."""
    calls: tuple[str, ...]
    """The ids of the tool calls in it."""
    results: tuple[str, ...]
    """The ids of the calls that it answers."""
    is_answer: bool
    """Whether it holds results and nothing else."""
    is_boundary: bool
    moment: str
    asks: bool
    """Whether there are calls in it."""
    place: Place
    number: int = 0
    digest: int = 0
    is_exact: bool = True
    continues: bool = False
    """Whether it is a further part of the reply before it."""
    is_copy: bool = False
    """Whether an earlier row has its id."""
    is_contested: bool = False
    """Whether another row has its id, so that nothing is certain of either."""
    parent: Row | None = None
    """None for the first row of a thread, and for one that has lost its parent."""
    is_lost: bool = False
    has_child: bool = False
    is_crossed: bool = False
    """Whether it lies between a row and a parent that was written after it."""
    certain: Row | None = None
    """Where its parent did not come before it: the call that it answers, or the part before it."""
    before: tuple[Row, ...] = ()
    """And the rows before it on its thread, nearest first."""


def row_of(value: dict[str, Any]) -> Row | None:
    """How a row is tied to others; None for one without an id."""
    uuid, kind = _id(value.get("uuid")), _id(value.get("type")) or ""
    if uuid is None:
        return None
    message = value.get("message") if kind in ("user", "assistant") else None
    message = message if isinstance(message, dict) else {}
    content = message.get("content")
    content = content if isinstance(content, list) else []
    is_reply = kind == "assistant"
    calls = tuple(_ids(content, "tool_use", "id")) if is_reply else ()
    results = () if is_reply else tuple(_ids(content, "tool_result", "tool_use_id"))
    return Row(
        kind,
        uuid,
        _id(value.get(shapes.PARENT_FIELD)),
        _thread(value),
        _id(message.get("id")) if is_reply else None,
        calls,
        results,
        bool(results) and len(results) == len(content),
        shapes.is_boundary(value),
        shapes.timestamp_of(value) or "",
        bool(calls),
        Place(0),
    )


def ids_in(part: bytes) -> Iterator[str]:
    """Every id spelled out in bytes that nobody parses."""
    return (found.decode("utf-8", "replace") for found in _NAMED.findall(part))


def _ids(blocks: list[Any], kind: str, field: str) -> Iterator[str]:
    for block in blocks:
        if shapes.is_block(block, kind) and (found := _id(block.get(field))):
            yield found


def _thread(value: dict[str, Any]) -> str:
    if not value.get("isSidechain"):
        return MAIN
    return _id(value.get("agentId")) or _UNNAMED_SIDECHAIN


def _id(value: Any) -> str | None:
    return sys.intern(value) if isinstance(value, str) and 0 < len(value) <= _LONGEST_ID else None


class Whole(NamedTuple):
    """The rows of a line, and whether something else is on it too."""

    rows: tuple[Record, ...]
    is_broken: bool
    """Whether there is a piece that cannot be read."""
    broken_from: int
    """Where that piece begins, in bytes."""
    broken_to: int


def whole_rows(line: Line) -> Whole:
    """Take a line apart."""
    found = line.records
    if line.problem not in (read.TORN, read.INVALID):
        return Whole(found, is_broken=False, broken_from=0, broken_to=0)
    start = found[-1].end if found else 0
    behind = _behind(line, start)
    end = behind[0].start if behind else len(line.raw)
    return Whole((*found, *behind), is_broken=True, broken_from=start, broken_to=end)


def _behind(line: Line, start: int) -> tuple[Record, ...]:
    """The rows that reach from somewhere behind the start to the end of the line."""
    for tries, match in enumerate(_BEGINNINGS.finditer(line.raw, start + 1)):
        if tries == _MOST_TRIES:
            break
        at = match.start()
        rest = read.Line(line.number, line.offset + at, line.raw[at:])
        if rest.problem is None and all(_is_row(one.value) for one in rest.records):
            return tuple(
                one._replace(start=one.start + at, end=one.end + at) for one in rest.records
            )
    return ()


def _is_row(value: dict[str, Any]) -> bool:
    return isinstance(value.get("type"), str) and any(mark in value for mark in _MARKS)
