"""The lines of an output that are looked at: all, or of a huge one both ends and the alarms. Pure.

Looking at every line of 10 MB takes longer than all the rest of a hook, so the middle of a huge
text is searched for a few words only.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Of a text larger than both together: this much from its start, and this much from its end.
_HEAD_CHARACTERS = 120_000
_TAIL_CHARACTERS = 60_000
_LONGEST_LINE_CHARACTERS = 40_000
_ALARMS = ("FAIL", "rror:", "ERROR", "panic:", "Traceback", "fatal", "arning:")
_MOST_ALARMS = 60


class Source:
    """Lines that are looked at, and the number of each, counted from 0."""

    def __init__(self, text: str) -> None:
        self.total = count_lines(text)
        if len(text) <= _HEAD_CHARACTERS + _TAIL_CHARACTERS:
            lines = text.split("\n")[: self.total]
            self.numbers: Sequence[int] = range(self.total)
        else:
            lines, self.numbers = _ends(text, self.total)
        self.lines = [line[:_LONGEST_LINE_CHARACTERS] for line in lines]


def count_lines(text: str) -> int:
    """How many lines a text has, a last one without its newline included."""
    return text.count("\n") + bool(text and not text.endswith("\n"))


def _ends(text: str, total: int) -> tuple[list[str], list[int]]:
    # Offsets instead of parts: a copy of 10 MB takes as long as a search in it.
    end = len(text) - text.endswith("\n")
    head_end = text.rfind("\n", 0, _HEAD_CHARACTERS) + 1 or text.find("\n", 0, end) + 1 or end
    head = text[:head_end].removesuffix("\n").split("\n")
    tail_start = text.find("\n", max(head_end, end - _TAIL_CHARACTERS), end) + 1
    # A last line that is longer than all that is looked at is looked at from its beginning.
    tail_start = tail_start or max(head_end, text.rfind("\n", 0, end) + 1)
    tail = text[tail_start:end].split("\n") if tail_start < end else []
    between = _alarming(text, head_end, tail_start, len(head))
    numbers = [*range(len(head)), *between, *range(total - len(tail), total)]
    return [*head, *between.values(), *tail], numbers


def _alarming(text: str, start: int, end: int, number: int) -> dict[int, str]:
    """Lines between two offsets that hold an alarming word, found without cutting up the rest."""
    offsets: set[int] = set()
    for word in _ALARMS:
        at, found = text.find(word, start, end), 0
        while at >= 0 and found < _MOST_ALARMS:
            offsets.add(max(start, text.rfind("\n", start, at) + 1))
            found += 1
            line_end = text.find("\n", at, end)
            at = text.find(word, line_end, end) if line_end >= 0 else -1
    lines = {}
    for offset in sorted(offsets):
        number += text.count("\n", start, offset)
        start = offset
        line_end = text.find("\n", offset)
        lines[number] = text[offset : line_end if line_end >= 0 else len(text)]
    return lines
