"""What can be wrong with a session's structure, what each means, and how it is mended. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

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

    @property
    def is_left_alone(self) -> bool:
        """Whether more than one mend is possible, so that none is made."""
        return self.mend is None


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
