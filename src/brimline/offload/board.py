"""The lines of an output that are chosen to be shown, and how they are written down. Pure."""

from __future__ import annotations

from brimline.offload import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    from brimline.offload.source import Source

Range = tuple[int, int]


class Pick:
    """A line, or a run of equal ones, as it is shown."""

    __slots__ = ("last", "text", "whole")

    def __init__(self, text: str, last: int, whole: bool) -> None:
        self.text = text
        # The position of the last line that it stands for.
        self.last = last
        # Whether these lines are shown to their ends.
        self.whole = whole


class Board:
    """The lines chosen so far, and what is left of the budget."""

    def __init__(self, source: Source, budget: int) -> None:
        self.source = source
        # `A-B: ` before and ` … ` after the text, and the newline.
        self.frame = 2 * len(str(source.total)) + 7
        self.budget = budget
        # What comes before the first line that is shown has a row of its own.
        self.left = budget - self.frame
        self.picks: dict[int, Pick] = {}
        self.taken: set[int] = set()
        self.opening: re.Pattern[str] | None = None

    def pick(self, position: int, width: int, last: int | None = None, note: str = "") -> bool:
        """Show a line, or a fold that ends with `last`; False where there is no room for it."""
        last = position if last is None else last
        if not self.taken.isdisjoint(range(position, last + 1)):
            return True
        line = signal.clean(self.source.lines[position])
        # The first line shows what the others begin with.
        bare = self.opening.sub("…", line, count=1) if self.opening and position else line
        text = signal.clip(bare, width)
        # What is left out after a fold has a row of its own, too.
        cost = len(text) + len(note) + self.frame * (2 if last > position else 1)
        if cost > self.left:
            return False
        self.left -= cost
        self.picks[position] = Pick(text + note, last, text == bare)
        self.taken.update(range(position, last + 1))
        return True

    def unseen(self) -> list[tuple[int, str]]:
        """Every line that is not shown to its end."""
        cut = {position for position, pick in self.picks.items() if not pick.whole}
        seen = self.taken - cut
        return [(i, line) for i, line in enumerate(self.source.lines) if i not in seen]

    def render(self, names: list[signal.Name]) -> tuple[str, list[Range]]:
        """Lines and names in their order, and the ranges of lines that are shown."""
        numbers, total = self.source.numbers, self.source.total
        order = sorted(self.picks)
        bounds = [*order[1:], None]
        start = numbers[order[0]] if order else total
        rows = [_row(0, start, "", _between(names, 0, order[0] if order else None))]
        kept: list[Range] = []
        for position, following in zip(order, bounds, strict=False):
            pick = self.picks[position]
            end = total if following is None else numbers[following]
            inside = _between(names, position, following)
            first, last = numbers[position], numbers[pick.last]
            kept.append((first + 1, last + 1))
            if last > first:
                rows.append(f"{first + 1}-{last + 1}: {pick.text}")
                rows.append(_row(last + 1, end, "", inside))
            else:
                rows.append(_row(first, end, pick.text, inside))
        return "\n".join([row for row in rows if row]), kept


def _between(names: list[signal.Name], first: int, following: int | None) -> list[str]:
    return [
        name.text
        for name in names
        if first <= name.line and (following is None or name.line < following)
    ]


def _row(start: int, end: int, text: str, names: list[str]) -> str:
    """One line of the preview; `end` is the number of the next line that is shown."""
    if end <= start:
        return ""
    label = str(start + 1) if end == start + 1 else f"{start + 1}-{end}"
    rest = " ".join(["…", *names]) if names or end > start + 1 or not text else ""
    return f"{label}: {text} {rest}".rstrip() if text else f"{label}: {rest}"
