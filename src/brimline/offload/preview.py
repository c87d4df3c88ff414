"""The part of a large output that is worth its place: a few lines, and the names in the rest. Pure.

A preview is made of lines that each begin with their number:

    58: func Open(path string) (*Store, error) {
    58-140: func Open(path string) (*Store, error) { … ErrLocked readIndex migrateIndex

The second form says that lines 59 to 140 are left out, and which names occur in them first. So
every line is either shown or inside a range that is written down. JSON and lists of paths are
described instead: no line of theirs is shown.
"""

from __future__ import annotations

from brimline.offload import shapes, signal
from brimline.offload.board import Board
from brimline.offload.source import Source, count_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.offload.board import Range

_SMALLEST_BUDGET = 200
# Of more than this the client itself shows no more than 2,000 characters: a preview that takes
# more than that would make matters worse.
_CLIENT_SHOWS_CHARACTERS = {"Bash": 30_000, "Grep": 20_000}
_NARROWEST_HEADING = 30
_LONG_LINE_CHARACTERS = 2_000
_LONG_LINES = (
    "\n(Lines are long: use --bytes A:B instead of --lines, or `store get KEY --find WORDS`.)"
)


class Preview:
    """What is shown of a text; lines are counted from 1, ranges include both ends."""

    __slots__ = ("kept", "kind", "omitted", "text")

    def __init__(
        self, text: str, kind: str, kept: tuple[Range, ...], omitted: tuple[Range, ...]
    ) -> None:
        self.text = text
        self.kind = kind
        # Lines that are shown; cut ones bear a `…`, folded ones their count.
        self.kept = kept
        self.omitted = omitted


class Budget:
    """How many characters a preview may take: a share of the text between two bounds."""

    __slots__ = ("ceiling", "floor", "share")

    def __init__(self, floor: int, share: float = 0.0, ceiling: int | None = None) -> None:
        self.floor = floor
        self.share = share
        self.ceiling = floor if ceiling is None else ceiling


class Plan:
    """Which lines of a kind of text are shown before its names."""

    __slots__ = ("alarms_share", "head", "heading_width", "headings_share", "tail", "width")

    def __init__(
        self,
        head: int,
        tail: int,
        width: int,
        headings_share: float = 0.0,
        heading_width: int = 0,
        alarms_share: float = 0.0,
    ) -> None:
        self.head = head
        self.tail = tail
        self.width = width
        self.headings_share = headings_share
        self.heading_width = heading_width
        self.alarms_share = alarms_share


# Names in source code and prose are often used next, those in JSON hardly ever.
# docs/explanation/offload.md has the measurements.
BUDGETS = {
    "code": Budget(1_500, 0.2, 5_000),
    "prose": Budget(1_500, 0.2, 5_000),
    "diff": Budget(1_500, 0.2, 5_000),
    "grep": Budget(1_500),
    "log": Budget(1_500),
    "paths": Budget(1_500),
    "json": Budget(1_000),
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
            hint = _hint(text, count_lines(text))
            allowed = _allowed("json", tool, len(text), budget) - len(hint)
            return _described(jsonshape.describe(documents, allowed) + hint, "json", text)
    source = Source(text)
    kind = shapes.kind_of(source.lines, tool, subject)
    allowed = _allowed(kind, tool, len(text), budget)
    if kind == "paths":
        from brimline.offload import pathlist

        return _described(pathlist.describe(source, allowed), kind, text)
    hint = _hint(text, source.total)
    board = Board(source, allowed - len(hint))
    _choose(board, _PLANS[kind], kind)
    names = _names(board, subject)
    if kind == "log":
        names = _fill_up(board, names, _PLANS[kind].width)
    shown, kept = board.render(signal.afford(names, board.left))
    return Preview(_encodable(shown + hint), kind, *_ranges(kept, source.total))


def _choose(board: Board, plan: Plan, kind: str) -> None:
    lines = board.source.lines
    filled = [position for position, line in enumerate(lines) if line.strip()]
    if plan.alarms_share:
        from brimline.offload import logs

        logs.choose(board, plan.alarms_share, plan.width)
    for position in [*filled[: plan.head], *filled[len(filled) - plan.tail :]]:
        board.pick(position, plan.width)
    if plan.headings_share:
        _choose_headings(board, plan, shapes.headings(lines, kind))


def _choose_headings(board: Board, plan: Plan, found: list[int]) -> None:
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


def _names(board: Board, subject: str) -> list[signal.Name]:
    shown = "\n".join([subject, *[pick.text for pick in board.picks.values()]])
    return signal.names(board.unseen(), shown)


def _fill_up(board: Board, names: list[signal.Name], width: int) -> list[signal.Name]:
    """Show more of a log's lines where its better names leave room; what is named after that."""
    from brimline.offload import logs

    names = [name for name in names if name.rank < signal.WORD]
    better = [name for name in names if name.rank <= signal.PATH]
    logs.fill(board, board.left - sum(len(name.text) + 1 for name in better), width)
    unseen = {position for position, _ in board.unseen()}
    return [name for name in names if name.line in unseen]


def _allowed(kind: str, tool: str, characters: int, budget: int | None) -> int:
    if budget is None:
        limits = BUDGETS[kind]
        budget = limits.floor
        if characters <= _CLIENT_SHOWS_CHARACTERS.get(tool, characters):
            budget = max(budget, min(limits.ceiling, int(limits.share * characters)))
    return max(_SMALLEST_BUDGET, budget)


def _hint(text: str, lines: int) -> str:
    """How to reach into lines that are too long to be asked for by their numbers."""
    states = lines + text.count("\r")
    return _LONG_LINES if len(text) > _LONG_LINE_CHARACTERS * states else ""


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
