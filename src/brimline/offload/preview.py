"""The part of a large output that is worth its place: a few lines, and the names in the rest. Pure.

A preview is made of lines that each begin with their number:

    58: func Open(path string) (*Store, error) {
    58-140: func Open(path string) (*Store, error) { … ErrLocked readIndex migrateIndex

The second form says that lines 59 to 140 are left out, and which names occur in them first. So
every line is either shown or inside a range that is written down. JSON and lists of paths are
described instead: no line of theirs is shown.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from brimline.offload import pathlist, shapes, signal
from brimline.offload.source import Source, count_lines

if TYPE_CHECKING:
    import re

_SMALLEST_BUDGET = 200
_NARROWEST_HEADING = 30
_FOLD_FROM_LINES = 3
_MOST_FOLDS = 4

Range = tuple[int, int]


class Preview(NamedTuple):
    """What is shown of a text; lines are counted from 1, ranges include both ends."""

    text: str
    kind: str
    kept: tuple[Range, ...]
    """Lines that are shown; cut ones bear a `…`, folded ones their count."""
    omitted: tuple[Range, ...]


class Budget(NamedTuple):
    """How many characters a preview may take: a share of the text between two bounds."""

    floor: int
    share: float
    ceiling: int


class Plan(NamedTuple):
    """Which lines of a kind of text are shown before its names."""

    head: int
    tail: int
    width: int
    headings_share: float = 0.0
    heading_width: int = 0
    alarms_share: float = 0.0


# Names in source code and prose are often used next, those in JSON hardly ever.
# docs/explanation/offload.md has the measurements.
BUDGETS = {
    "code": Budget(1_500, 0.2, 5_000),
    "prose": Budget(1_500, 0.2, 5_000),
    "diff": Budget(1_500, 0.2, 5_000),
    "grep": Budget(1_500, 0.0, 1_500),
    "log": Budget(1_500, 0.0, 1_500),
    "paths": Budget(1_500, 0.0, 1_500),
    "json": Budget(1_000, 0.0, 1_000),
}
_PLANS = {
    "code": Plan(2, 1, 120, headings_share=0.3, heading_width=90),
    "prose": Plan(3, 2, 160, headings_share=0.3, heading_width=90),
    "diff": Plan(1, 1, 120, headings_share=0.3, heading_width=90),
    "grep": Plan(1, 1, 140, headings_share=0.5, heading_width=140),
    "log": Plan(3, 4, 160, alarms_share=0.45),
}


def make_preview(
    text: str, tool: str = "", subject: str = "", budget: int | None = None
) -> Preview:
    """Choose what to show of an output.

    Args:
        text: the output as the tool gave it.
        tool: the tool's name.
        subject: the file that was read, or the command that ran.
        budget: the most characters to use; without it the kind of text decides.
    """
    if shapes.is_binary(text):
        return _described(f"Binary data, not shown ({len(text):,} characters).", "binary", text)
    if shapes.may_be_json(text, tool, subject):
        from brimline.offload import jsonshape

        documents = jsonshape.documents_of(text.lstrip())
        if documents:
            allowed = _allowed("json", len(text), budget)
            return _described(jsonshape.describe(documents, allowed), "json", text)
    source = Source(text)
    kind = shapes.kind_of(source.lines, tool, subject)
    allowed = _allowed(kind, len(text), budget)
    if kind == "paths":
        return _described(pathlist.describe(source.lines, source.total, allowed), kind, text)
    board = _Board(source, allowed)
    _choose(board, _PLANS[kind], kind)
    names = _names(board, subject)
    if kind == "log":
        names = [name for name in names if name.rank < signal.WORD]
        better = [name for name in names if name.rank <= signal.PATH]
        _fill(board, board.left - sum(len(name.text) + 1 for name in better), _PLANS[kind].width)
        unseen = {position for position, _ in board.unseen()}
        names = [name for name in names if name.line in unseen]
    return board.render(kind, signal.afford(names, board.left))


class _Pick(NamedTuple):
    text: str
    last: int
    """The position of the last line that it stands for."""
    whole: bool
    """Whether these lines are shown to their ends."""


class _Board:
    """The lines chosen so far, and what is left of the budget."""

    def __init__(self, source: Source, budget: int) -> None:
        self.source = source
        # `A-B: ` before and ` … ` after the text, and the newline.
        self.frame = 2 * len(str(source.total)) + 7
        self.budget = budget
        # What comes before the first line that is shown has a row of its own.
        self.left = budget - self.frame
        self.picks: dict[int, _Pick] = {}
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
        self.picks[position] = _Pick(text + note, last, text == bare)
        self.taken.update(range(position, last + 1))
        return True

    def unseen(self) -> list[tuple[int, str]]:
        """Every line that is not shown to its end."""
        cut = {position for position, pick in self.picks.items() if not pick.whole}
        seen = self.taken - cut
        return [(i, line) for i, line in enumerate(self.source.lines) if i not in seen]

    def render(self, kind: str, names: list[signal.Name]) -> Preview:
        """Write lines and names down in their order."""
        numbers, total = self.source.numbers, self.source.total
        order = sorted(self.picks)
        bounds = [*order[1:], None]
        start = numbers[order[0]] if order else total
        rows = [_row(0, start, "", _between(names, 0, order[0] if order else None))]
        kept = []
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
        text = "\n".join([row for row in rows if row])
        return Preview(_encodable(text), kind, *_ranges(kept, total))


def _choose(board: _Board, plan: Plan, kind: str) -> None:
    lines = board.source.lines
    filled = [position for position, line in enumerate(lines) if line.strip()]
    if plan.alarms_share:
        board.opening = signal.shared_opening([lines[position] for position in filled])
        _choose_folds(board, plan.width)
        _choose_alarms(board, plan)
    for position in [*filled[: plan.head], *filled[len(filled) - plan.tail :]]:
        board.pick(position, plan.width)
    if plan.headings_share:
        _choose_headings(board, plan, shapes.headings(lines, kind))


def _choose_headings(board: _Board, plan: Plan, found: list[int]) -> None:
    """Show all headings, narrower if they are many; if they are too many, the outer ones."""
    if not found:
        return
    lines = board.source.lines
    first_of = {lines[position]: position for position in reversed(found)}
    found = sorted(first_of.values(), key=lambda i: (shapes.depth(lines[i]), i))
    allowed = min(board.left, int(board.budget * plan.headings_share))
    width = max(_NARROWEST_HEADING, allowed // len(found) - board.frame)
    limit = board.left - allowed
    for position in found:
        if board.left <= limit or not board.pick(position, min(plan.heading_width, width)):
            break


def _choose_alarms(board: _Board, plan: Plan) -> None:
    """Show what failed, once per message, however often it came."""
    limit = board.left - int(board.budget * plan.alarms_share)
    lines = board.source.lines
    loud: dict[str, list[tuple[int, int]]] = {}
    for weight, position in signal.alarms(lines):
        form = signal.alike(signal.clean(lines[position][: 4 * plan.width]))
        loud.setdefault(form, []).append((-weight, position))
    for messages in sorted(loud.values()):
        note = f" (+{len(messages) - 1} alike)" if len(messages) > 1 else ""
        if board.left <= limit or not board.pick(messages[0][1], plan.width, note=note):
            break


def _choose_folds(board: _Board, width: int) -> None:
    """Show the longest runs of equal lines, each as one line with its count."""
    lines, numbers = board.source.lines, board.source.numbers
    runs, start = [], 0
    for position in range(1, len(lines) + 1):
        if (
            position < len(lines)
            and lines[position] == lines[start]
            and numbers[position] == numbers[position - 1] + 1
        ):
            continue
        if position - start >= _FOLD_FROM_LINES and lines[start].strip():
            runs.append((start - position, start, position - 1))
        start = position
    for length, first, last in sorted(runs)[:_MOST_FOLDS]:
        board.pick(first, width, last, f" (×{-length})")


def _fill(board: _Board, room: int, width: int) -> None:
    """Use room that names leave for more lines, from both ends in turn, none like another."""
    lines, reserved = board.source.lines, board.left - room
    shown = {signal.alike(lines[position]) for position in board.picks}
    free = deque(i for i, line in enumerate(lines) if line.strip() and i not in board.taken)
    from_end = False
    while free and board.left > reserved + width + board.frame:
        position = free.pop() if from_end else free.popleft()
        form = signal.alike(lines[position])
        if form not in shown:
            shown.add(form)
            board.pick(position, width)
            from_end = not from_end


def _names(board: _Board, subject: str) -> list[signal.Name]:
    shown = "\n".join([subject, *[pick.text for pick in board.picks.values()]])
    return signal.names(board.unseen(), shown)


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


def _allowed(kind: str, characters: int, budget: int | None) -> int:
    if budget is None:
        floor, share, ceiling = BUDGETS[kind]
        budget = max(floor, min(ceiling, int(share * characters)))
    return max(_SMALLEST_BUDGET, budget)


def _described(description: str, kind: str, text: str) -> Preview:
    return Preview(_encodable(description), kind, *_ranges([], count_lines(text)))


def _ranges(kept: list[Range], total: int) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
    """Neighbouring ranges joined, and what lies between them."""
    joined: list[Range] = []
    for first, last in kept:
        if joined and joined[-1][1] + 1 == first:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    omitted, following = [], 1
    for first, last in [*joined, (total + 1, total + 1)]:
        if first > following:
            omitted.append((following, first - 1))
        following = last + 1
    return tuple(joined), tuple(omitted)


def _encodable(text: str) -> str:
    """Half a character of UTF-16, as broken output may hold, cannot be written as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")
