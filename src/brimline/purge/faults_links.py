"""Which rows have lost their parent, and which row it most surely was. Pure.

A row whose parent is missing is tied to the row before it on its thread: that is where the missing
one stood. A result belongs to its call, and a part of a reply to the part before it, whatever
stands in between. Where two conversations were written into one file at the same time, the row
before may be of either, and nothing is guessed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from brimline.purge import graph
from brimline.purge.graph import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from brimline.purge.graph import Graph

# How far back two conversations are followed to see where they parted.
_FAR = 300


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
        rows: the closed graph.
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
            rows.adopt(number, lost.parent.number if lost.parent else graph.ROOT)
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
        if flags & (graph.PROGRESS | graph.COPY):
            return False
        if flags & graph.TALK:
            return not flags & (graph.ANSWER | graph.CALL)
    return False
