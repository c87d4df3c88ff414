"""Finds the whole rows on a line, also behind a piece that broke off. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.transcript import read

if TYPE_CHECKING:
    from brimline.transcript.read import Line, Record

# With these a row begins, whichever client wrote it.
_BEGINNINGS = re.compile(rb'\{"(?:parentUuid|logicalParentUuid|isSidechain|uuid|type)"')
# Every row has one of them, and nothing inside a row has one beside its `type`.
_MARKS = ("uuid", "sessionId", "leafUuid", "messageId")
_MOST_TRIES = 200


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
