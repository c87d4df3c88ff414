"""The lines of an output that are looked at: all, or of a huge one both ends and the alarms. Pure.

Looking at every line of 10 MB takes longer than all the rest of a hook, so the middle of a huge
text is only searched for the words of `alarms`.
"""

from __future__ import annotations

from brimline.offload import alarms, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Of a text larger than both together: this much from its start, and this much from its end.
_HEAD_CHARACTERS = 120_000
_TAIL_CHARACTERS = 60_000
_LONGEST_LINE_CHARACTERS = 40_000
_ANY_TEXT = ("utf-8", "surrogatepass")


class Source:
    """Lines that are looked at, and the number of each, counted from 0."""

    def __init__(self, text: str) -> None:
        self.total = count_lines(text)
        self.numbers: Sequence[int] = range(self.total)
        # How often a line was drawn over the one before it, where that is not to be seen in it; by
        # number.
        self._redraws: dict[int, int] = {}
        if len(text) > _HEAD_CHARACTERS + _TAIL_CHARACTERS:
            text = self._without_redraws(text)
        if len(text) <= _HEAD_CHARACTERS + _TAIL_CHARACTERS:
            self.lines = text.split("\n")[: self.total]
        else:
            self.lines, self.numbers = _ends(text, self.total)
        # How many characters of a line are not looked at; by position.
        self.beyond: dict[int, int] = {}
        for position, line in enumerate(self.lines):
            if len(line) > _LONGEST_LINE_CHARACTERS:
                self._shorten(position, line)

    @property
    def is_whole(self) -> bool:
        """Whether every line is looked at."""
        return len(self.lines) == self.total

    def redraws_of(self, position: int) -> int:
        """How often a line was drawn anew: a progress bar, in most cases."""
        return self._redraws.get(self.numbers[position]) or signal.redraws(self.lines[position])

    def _without_redraws(self, text: str) -> str:
        """A text with the last state of each line."""
        if "\r" not in text or text.count("\r") == text.count("\r\n"):
            return text
        lines = text.split("\n")
        for number, line in enumerate(lines):
            if "\r" in line:
                lines[number] = self._last_state(number, line)
        return "\n".join(lines)

    def _last_state(self, number: int, line: str) -> str:
        redraws = signal.redraws(line)
        if redraws:
            self._redraws[number] = redraws
        return signal.last_state(line) if redraws else line

    def _shorten(self, position: int, line: str) -> None:
        last = self._last_state(self.numbers[position], line)
        self.lines[position] = last[:_LONGEST_LINE_CHARACTERS]
        if len(last) > _LONGEST_LINE_CHARACTERS:
            self.beyond[position] = len(last) - _LONGEST_LINE_CHARACTERS


def count_lines(text: str) -> int:
    """How many lines a text has, a last one without its newline included."""
    return text.count("\n") + bool(text and not text.endswith("\n"))


def _ends(text: str, total: int) -> tuple[list[str], list[int]]:
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
    """Lines between two offsets that hold an alarming word, by their numbers from `number` on."""
    # As bytes: there, lower case keeps every offset and takes a fraction of the time.
    raw = text.encode(*_ANY_TEXT)
    if len(raw) != len(text):
        start, end = (len(text[:place].encode(*_ANY_TEXT)) for place in (start, end))
    lines = {}
    for offset in alarms.offsets(raw.lower(), start, end):
        number += raw.count(b"\n", start, offset)
        start = offset
        line_end = raw.find(b"\n", offset)
        lines[number] = raw[offset : line_end if line_end >= 0 else None].decode(*_ANY_TEXT)
    return lines
