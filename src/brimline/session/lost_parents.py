"""Which rows of a session have lost their parent, and which row it most surely was. Pure.

Ids are kept as 64-bit hashes: two alike are expected once in millions of large sessions. A row
whose parent is missing is tied to the row before it on its thread: that is where the missing one
stood. A result belongs to its call, and a part of a reply to the part before it, whatever stands in
between. Where two conversations were written into one file at the same time, the row before may be
of either, and nothing is guessed.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Container

# In place of a parent's number.
ROOT, MISSING = 0xFFFF_FFFF, 0xFFFF_FFFE
# What is worth remembering of a row, as bits.
ANSWER, PROGRESS, CALL, SAME_REPLY, TALK, COPY = 1, 2, 4, 8, 16, 32

_MOST_THREADS = 0xFFFF
# How far back two conversations are followed to see where they parted.
_FAR = 300


class Graph:
    """Every row that has an id, numbered in the order of the file."""

    def __init__(self) -> None:
        self.lines = array("I")
        self.flags = array("B")
        self.digests = array("Q")
        self._numbers: dict[int, int] = {}
        self._parent_keys = array("q")
        self._threads = array("H")
        self._thread_numbers: dict[str, int] = {}
        self.places: dict[int, int] = {}
        """The position on the line of rows that are not the first there."""
        self.parents = array("I")
        self.has_child = bytearray()
        self._crossed = bytearray()
        """Which rows lie between a row and a parent that was written after it."""

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.lines)

    def number_of(self, uuid: str) -> int | None:
        """The row with an id, as far as it was added."""
        return self._numbers.get(hash(uuid))

    def add(self, uuid: str, parent: str | None, thread: str, flags: int, digest: int) -> None:
        """Append a row; of several with one id the first keeps it."""
        self._numbers.setdefault(hash(uuid), len(self.flags))
        self._parent_keys.append(hash(parent) if parent else 0)
        count = len(self._thread_numbers)
        number = self._thread_numbers.setdefault(thread, min(count, _MOST_THREADS))
        self._threads.append(number)
        self.flags.append(flags)
        self.digests.append(digest)

    def place(self, line: int, index: int) -> None:
        """Say where the row just added stands."""
        if index:
            self.places[len(self.lines)] = index
        self.lines.append(line)

    def close(self) -> None:
        """Look up every parent, once all rows are there."""
        get = self._numbers.get
        self.parents = array("I", bytes(4 * len(self)))
        self.has_child = bytearray(len(self))
        self._crossed = bytearray(len(self))
        farthest = -1
        for number, key in enumerate(self._parent_keys):
            found = get(key) if key else ROOT
            self.parents[number] = MISSING if found is None else found
            self._crossed[number] = farthest >= number
            if key and found is not None:
                self.has_child[found] = 1
                farthest = max(farthest, found if found >= number else -1)

    def adopt(self, number: int, parent: int) -> None:
        """Give a row another parent."""
        self.parents[number] = parent
        if parent < MISSING:
            self.has_child[parent] = 1

    def same_thread(self, one: int, other: int) -> bool:
        """Whether two rows belong to the same conversation."""
        return self._threads[one] == self._threads[other]

    def ancestors(self, number: int, most: int) -> list[int]:
        """A row and those above it, nearest first; it ends where a cycle closes."""
        found: list[int] = []
        seen: set[int] = set()
        while number < MISSING and number not in seen and len(found) < most:
            seen.add(number)
            found.append(number)
            number = self.parents[number]
        return found

    def descends(self, number: int, other: int) -> bool:
        """Whether a row comes below another."""
        if number < other and not self._crossed[other]:
            return False  # without a link forward nothing comes below what comes later
        for _ in range(len(self)):
            if number >= MISSING or number == other:
                break
            number = self.parents[number]
        return number == other

    def cycles(self) -> list[list[int]]:
        """The rows of each cycle, first in the file first; no row is in two of them."""
        found: list[list[int]] = []
        if all(parent < number or parent >= MISSING for number, parent in enumerate(self.parents)):
            return found
        state = bytearray(len(self))
        for start in range(len(self)):
            path = []
            number = start
            while number < MISSING and not state[number]:
                state[number] = 1
                path.append(number)
                number = self.parents[number]
            if number < MISSING and state[number] == 1:
                found.append(sorted(path[path.index(number) :]))
            for row in path:
                state[row] = 2
        return found


class Candidate(NamedTuple):
    """A row that may be the parent of another."""

    number: int
    uuid: str


class Hint(NamedTuple):
    """What was known about a row when its parent was not to be found before it."""

    certain: Candidate | None
    """The call that it answers, or the part of the reply before it."""
    before: tuple[Candidate, ...]
    """The rows before it on its thread, nearest first."""


class Lost(NamedTuple):
    """A row without its parent, and what may take the parent's place."""

    number: int
    parent: Candidate | None
    """None: nothing stands before it, so it is the first."""
    choices: tuple[int, ...] = ()
    """Where there are any, none is chosen: the rows that may be the parent, or, in a cycle, those
    whose link may be the wrong one."""
    in_cycle: bool = False


def find_lost(
    rows: Graph,
    hints: dict[int, Hint],
    is_elsewhere: Callable[[int], bool],
    contested: Container[int],
) -> list[Lost]:
    """Every row that needs another parent, in the order of the file; `rows` is mended on the way.

    Args:
        rows: the closed
        hints: for every row whose parent did not come before it.
        is_elsewhere: whether the missing parent of a row may stand on a line nobody parsed.
        contested: rows that share their id with a different one, of which nothing is certain.
    """
    found = []
    cyclic = _wrong_links(rows)
    missing = {n for n in hints if rows.parents[n] == MISSING and not is_elsewhere(n)}
    for number in sorted(missing | cyclic.keys()):
        if number in contested:
            lost = Lost(number, None, (number,), number in cyclic)
        elif number in cyclic:
            lost = _choose(rows, number, hints.get(number), cyclic[number])
        else:
            lost = _choose(rows, number, hints[number], ())
        found.append(lost)
        if not lost.choices:
            rows.adopt(number, lost.parent.number if lost.parent else ROOT)
    return found


def _wrong_links(rows: Graph) -> dict[int, tuple[int, ...]]:
    """One row of each cycle, with all the rows whose link may be the wrong one."""
    wrong = {}
    for cycle in rows.cycles():
        forward = [number for number in cycle if rows.parents[number] >= number]
        wrong[forward[0]] = tuple(forward)
    return wrong


def _choose(rows: Graph, number: int, hint: Hint | None, wrong: tuple[int, ...]) -> Lost:
    in_cycle = rows.parents[number] != MISSING
    if len(wrong) > 1 or hint is None:
        return Lost(number, None, wrong or (number,), in_cycle)
    if hint.certain and not rows.descends(hint.certain.number, number):
        return Lost(number, hint.certain, (), in_cycle)
    for nearest in hint.before:
        if not rows.descends(nearest.number, number):
            candidate = _last_of(rows, nearest, hint.before)
            rivals = _rivals(rows, candidate.number)
            choices = (candidate.number, *rivals) if rivals else ()
            return Lost(number, None if rivals else candidate, choices, in_cycle)
    return Lost(number, None, (), in_cycle)


def _last_of(rows: Graph, nearest: Candidate, before: tuple[Candidate, ...]) -> Candidate:
    """The row that already follows the nearest one: results may be written before their call."""
    for other in before:
        if rows.parents[other.number] == nearest.number and other.number < nearest.number:
            return other
    return nearest


def _rivals(rows: Graph, nearest: int) -> list[int]:
    """The ends of other conversations that were being written along with this one."""
    path = rows.ancestors(nearest, _FAR)
    above = {number: place for place, number in enumerate(path)}
    lowest = min(path)
    found = []
    for number in range(nearest - 1, max(lowest, nearest - _FAR), -1):
        if rows.has_child[number] or number in above or not rows.same_thread(number, nearest):
            continue
        if not _is_tip(rows, number):
            continue
        fork = next((above[row] for row in rows.ancestors(number, _FAR) if row in above), len(path))
        began = min(path[:fork], default=nearest)
        if number > began:
            found.append(number)
    return found


def _is_tip(rows: Graph, number: int) -> bool:
    """Whether a conversation ended here.

    With a call none does, and results of parallel calls are left behind as a rule.
    """
    for row in rows.ancestors(number, _FAR):
        flags = rows.flags[row]
        if flags & (PROGRESS | COPY):
            return False
        if flags & TALK:
            return not flags & (ANSWER | CALL)
    return False
