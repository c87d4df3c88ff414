"""Which rows of a session have lost their parent, and which row it most surely was. Pure.

A row whose parent is missing is tied to the row before it on its thread: that is where the missing
one stood. A result belongs to its call, and a part of a reply to the part before it, whatever
stands in between. Where two conversations were written into one file at the same time, the row
before may be of either, and nothing is guessed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from brimline.session.faults import Row

# How far back two conversations are followed to see where they parted.
_FAR = 300


class Lost(NamedTuple):
    """A row without its parent, and what may take the parent's place."""

    row: Row
    parent: Row | None
    """None: nothing stands before it, so it is the first."""
    choices: tuple[Row, ...] = ()
    """Where there are any, none is chosen: the rows that may be the parent, or, in a cycle, those
    whose link may be the wrong one."""
    in_cycle: bool = False


def link(rows: list[Row], by_id: dict[str, Row]) -> None:
    """Look up every parent, once all rows are there."""
    farthest = -1
    for row in rows:
        row.is_crossed = farthest >= row.number
        if row.parent_id:
            row.parent = by_id.get(row.parent_id)
            row.is_lost = row.parent is None
        if row.parent:
            row.parent.has_child = True
            if row.parent.number >= row.number:
                farthest = max(farthest, row.parent.number)


def find_lost(rows: list[Row], is_elsewhere: Callable[[Row], bool]) -> list[Lost]:
    """Every row that needs another parent, in the order of the file; they are mended on the way.

    Args:
        rows: all of them, linked.
        is_elsewhere: whether the missing parent of a row may stand on a line nobody parsed.
    """
    found = []
    cyclic = _wrong_links(rows)
    missing = [row for row in rows if row.is_lost and not is_elsewhere(row)]
    wanted = {row.number: row for row in [*missing, *[wrong[0] for wrong in cyclic.values()]]}
    for number in sorted(wanted):
        row = wanted[number]
        if row.is_contested:
            lost = Lost(row, None, (row,), number in cyclic)
        else:
            lost = _choose(rows, row, cyclic.get(number, ()))
        found.append(lost)
        if not lost.choices:
            row.parent, row.is_lost = lost.parent, False
            if lost.parent:
                lost.parent.has_child = True
    return found


def descends(row: Row | None, other: Row, most: int) -> bool:
    """Whether a row is another one, or comes below it."""
    if row and row.number < other.number and not other.is_crossed:
        return False  # without a link forward nothing comes below what comes later
    for _ in range(most):
        if row is None or row is other:
            break
        row = row.parent
    return row is other


def _wrong_links(rows: list[Row]) -> dict[int, tuple[Row, ...]]:
    """By one row of each cycle, all the rows whose link may be the wrong one, that one first."""
    wrong: dict[int, tuple[Row, ...]] = {}
    if all(row.parent is None or row.parent.number < row.number for row in rows):
        return wrong
    state = bytearray(len(rows))
    for start in rows:
        path: list[Row] = []
        row: Row | None = start
        while row and not state[row.number]:
            state[row.number] = 1
            path.append(row)
            row = row.parent
        if row and state[row.number] == 1:
            cycle = sorted(path[path.index(row) :], key=lambda one: one.number)
            forward = [one for one in cycle if one.parent and one.parent.number >= one.number]
            wrong[forward[0].number] = tuple(forward)
        for one in path:
            state[one.number] = 2
    return wrong


def _choose(rows: list[Row], row: Row, wrong: tuple[Row, ...]) -> Lost:
    in_cycle = not row.is_lost
    if len(wrong) > 1:
        return Lost(row, None, wrong, in_cycle)
    most = len(rows)
    if row.certain and not descends(row.certain, row, most):
        return Lost(row, row.certain, (), in_cycle)
    for nearest in row.before:
        if not descends(nearest, row, most):
            candidate = _last_of(nearest, row.before)
            rivals = _rivals(rows, candidate)
            choices = (candidate, *rivals) if rivals else ()
            return Lost(row, None if rivals else candidate, choices, in_cycle)
    return Lost(row, None, (), in_cycle)


def _last_of(nearest: Row, before: tuple[Row, ...]) -> Row:
    """The row that already follows the nearest one: results may be written before their call."""
    for other in before:
        if other.parent is nearest and other.number < nearest.number:
            return other
    return nearest


def _rivals(rows: list[Row], nearest: Row) -> list[Row]:
    """The ends of other conversations that were being written along with this one."""
    path = _ancestors(nearest)
    above = {row.number: place for place, row in enumerate(path)}
    found = []
    for number in range(nearest.number - 1, max(min(above), nearest.number - _FAR), -1):
        row = rows[number]
        if row.has_child or number in above or row.thread != nearest.thread or not _is_tip(row):
            continue
        forks = [above[one.number] for one in _ancestors(row) if one.number in above]
        parted = path[: forks[0] if forks else len(path)]
        if number > min([one.number for one in parted], default=nearest.number):
            found.append(row)
    return found


def _is_tip(row: Row) -> bool:
    """Whether a conversation ended here.

    With a call none does, and results of parallel calls are left behind as a rule.
    """
    for one in _ancestors(row):
        if one.kind == "progress" or one.is_copy:
            return False
        if one.kind in ("user", "assistant"):
            return not one.is_answer and not one.asks
    return False


def _ancestors(row: Row) -> list[Row]:
    """A row and those above it, nearest first; it ends where a cycle closes."""
    found: dict[int, Row] = {}
    current: Row | None = row
    while current and current.number not in found and len(found) < _FAR:
        found[current.number] = current
        current = current.parent
    return list(found.values())
