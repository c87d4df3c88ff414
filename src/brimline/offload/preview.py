"""The part of a large output that is worth its place: a few lines, and the names in the rest. Pure.

A preview is made of lines that each begin with their number:

    58: func Open(path string) (*Store, error) {
    58-140: func Open(path string) (*Store, error) { … ErrLocked readIndex migrateIndex

The second form says that lines 59 to 140 are left out, and which names occur in them first. So
every line is either shown or inside a range that is written down. JSON and lists of paths are
described instead, and of a diff the changed lines are shown as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from brimline.offload import kinds, names

if TYPE_CHECKING:
    from collections.abc import Sequence

# Of more than this the client itself shows no more than 2,000 characters: a preview that takes
# more than that would make matters worse.
_CLIENT_SHOWS_CHARACTERS = {"Bash": 30_000, "Grep": 20_000}
DIFF_CHARACTERS = 25_000
_FILES_CHARACTERS = 1_000
_NARROWEST_HEADING = 30
_LONG_LINE_CHARACTERS = 2_000
_LONG_LINES = "\n(Lines are long: ask for --bytes A:B instead of --lines.)"
# Of a text larger than both together: this much from its start, and this much from its end.
_HEAD_CHARACTERS = 120_000
_TAIL_CHARACTERS = 60_000
_LONGEST_LINE_CHARACTERS = 40_000
_CHANGED_FILE = re.compile(r"diff --git .* b/(.*)|\+\+\+ (?:b/)?(\S+)|Index: (.*)")


class Preview(NamedTuple):
    """What is shown of a text."""

    text: str
    kind: str
    numbered: bool = False
    """Whether it is made of numbered lines, of which some are left out."""


class Plan(NamedTuple):
    """How much of a kind of text is shown: characters, then which lines before its names."""

    floor: int
    share: float
    """Of the text's characters, from `floor` up to `ceiling`."""
    ceiling: int
    head: int
    tail: int
    width: int
    headings_share: float = 0.0
    heading_width: int = 0


# Names in source code and prose are often used next, those in JSON hardly ever.
# docs/explanation/offload.md has the measurements.
_LOG = Plan(1_500, 0.0, 1_500, 3, 4, 160)
PLANS = {
    kinds.CODE: Plan(1_500, 0.2, 5_000, 2, 1, 120, 0.3, 90),
    kinds.PROSE: Plan(1_500, 0.2, 5_000, 3, 2, 160, 0.3, 90),
    kinds.FOUND: Plan(1_500, 0.0, 1_500, 1, 1, 140, 0.5, 140),
    kinds.LOG: _LOG,
    kinds.DUMP: _LOG,
    kinds.PATHS: _LOG,
    kinds.JSON: Plan(1_000, 0.0, 1_000, 3, 4, 160),
}


def make_preview(text: str, source: Source, kind: str, tool: str, subject: str) -> Preview:
    """Choose what to show of an output.

    Args:
        text: the output as the tool gave it.
        source: its lines.
        kind: what `kinds.kind_of` takes it for.
        tool: the tool's name.
        subject: the file that was read, or the command that ran.
    """
    if kind == kinds.BINARY:
        return Preview(f"Binary data, not shown ({len(text):,} characters).", kind)
    if kind == kinds.DIFF:
        return Preview(changed_lines(text), kind)
    # Such lines are too long to be asked for by their numbers.
    hint = (
        _LONG_LINES if len(text) > _LONG_LINE_CHARACTERS * (source.total + text.count("\r")) else ""
    )
    plan = PLANS[kind]
    allowed = plan.floor
    if len(text) <= _CLIENT_SHOWS_CHARACTERS.get(tool, len(text)):
        allowed = max(allowed, min(plan.ceiling, int(plan.share * len(text))))
    allowed -= len(hint)
    if kind in (kinds.JSON, kinds.PATHS):
        from brimline.offload import dumps

        described = dumps.describe(text, source, kind, allowed)
        if described:
            return Preview(described + hint, kind)
        kind = kinds.LOG
    board = Board(source, allowed)
    found = _choose(board, PLANS[kind], kind, subject)
    return Preview(board.render(names.afford(found, board.left)) + hint, kind, numbered=True)


def changed_lines(text: str, budget: int = DIFF_CHARACTERS) -> str:
    """The changed lines of a diff under their files and hunks, and how many are missing."""
    shown: list[str] = []
    missing: dict[str, int] = {}
    file, in_hunk, left = "", False, budget - _FILES_CHARACTERS
    for line in text.split("\n"):
        header = None if in_hunk and line.startswith("+++") else _CHANGED_FILE.match(line)
        if header:
            file, in_hunk = next(filter(None, header.groups())), False
        elif line.startswith("@@"):
            in_hunk = True
        elif in_hunk and line[:1] not in ("+", "-"):
            in_hunk = line[:1] in (" ", "\\", "")
        if (in_hunk and line[:1] not in ("+", "-", "@")) or line.startswith(("index ", "--- a/")):
            continue
        left -= len(line) + 1
        if left >= 0:
            shown.append(line)
        elif in_hunk and not line.startswith("@@"):
            missing[file] = missing.get(file, 0) + 1
    rest = (
        "nothing is missing"
        if not missing
        else f"{sum(missing.values()):,} changed lines are missing"
    )
    files = names.clip(
        ", ".join(f"{name} ({count})" for name, count in missing.items()), _FILES_CHARACTERS // 2
    )
    return "\n".join(
        [*shown, f"[changed lines only, without context; {rest}{': ' if files else ''}{files}]"]
    )


def _choose(board: Board, plan: Plan, kind: str, subject: str) -> list[names.Name]:
    """Show both ends and what stands out; the names in what is not shown."""
    lines = board.source.lines
    is_log = kind in (kinds.LOG, kinds.DUMP)
    if is_log:
        from brimline.offload import logs

        logs.choose_alarms(board, plan.width)
    filled = [position for position, line in enumerate(lines) if line.strip()]
    for position in [*filled[: plan.head], *filled[len(filled) - plan.tail :]]:
        board.pick(position, plan.width)
    found = kinds.headings(lines, kind) if plan.headings_share else []
    # All headings, narrower if they are many; if they are too many, the outer ones.
    room = min(board.left, int(board.budget * plan.headings_share))
    width = max(_NARROWEST_HEADING, room // max(1, len(found)) - board.frame)
    limit = board.left - room
    for position in found:
        if board.left <= limit or not board.pick(position, min(plan.heading_width, width)):
            break
    shown = "\n".join([subject, *[text for text, _ in board.picks.values()]])
    named = names.names(board.unseen(), shown)
    return logs.fill(board, named, plan.width) if is_log else named


class Source:
    """The lines of an output that are looked at, and the number of each, counted from 0.

    All of them, or of a huge text both ends and what is alarming between them: looking at every
    line of 10 MB takes longer than all the rest of a hook.
    """

    def __init__(self, text: str) -> None:
        self.total = text.count("\n") + bool(text and not text.endswith("\n"))
        self.numbers: Sequence[int] = range(self.total)
        # How many characters of a line are not looked at; by position.
        self.beyond: dict[int, int] = {}
        if len(text) <= _HEAD_CHARACTERS + _TAIL_CHARACTERS:
            self.lines = text.split("\n")[: self.total]
        else:
            self.lines, self.numbers = _ends(text, self.total)
        for position, line in enumerate(self.lines):
            if len(line) > _LONGEST_LINE_CHARACTERS:
                last = names.last_state(line)
                self.lines[position] = last[:_LONGEST_LINE_CHARACTERS]
                self.beyond[position] = max(0, len(last) - _LONGEST_LINE_CHARACTERS)

    @property
    def is_whole(self) -> bool:
        """Whether every line is looked at."""
        return len(self.lines) == self.total


def _ends(text: str, total: int) -> tuple[list[str], list[int]]:
    from brimline.offload import logs

    end = len(text) - text.endswith("\n")
    head_end = text.rfind("\n", 0, _HEAD_CHARACTERS) + 1 or text.find("\n", 0, end) + 1 or end
    head = text[:head_end].removesuffix("\n").split("\n")
    tail_start = text.find("\n", max(head_end, end - _TAIL_CHARACTERS), end) + 1
    # A last line that is longer than all that is looked at is looked at from its beginning.
    tail_start = tail_start or max(head_end, text.rfind("\n", 0, end) + 1)
    tail = text[tail_start:end].split("\n") if tail_start < end else []
    between = logs.alarming(text, head_end, tail_start, len(head))
    numbers = [*range(len(head)), *between, *range(total - len(tail), total)]
    return [*head, *between.values(), *tail], numbers


class Board:
    """The lines chosen so far, and what is left of the budget."""

    def __init__(self, source: Source, budget: int) -> None:
        self.source = source
        # `A-B: ` before and ` … ` after the text, and the newline.
        self.frame = 2 * len(str(source.total)) + 7
        self.budget = budget
        # What comes before the first line that is shown has a row of its own.
        self.left = budget - self.frame
        # By position: a line as it is shown, and whether that is to its end.
        self.picks: dict[int, tuple[str, bool]] = {}

    def pick(self, position: int, width: int, note: str = "") -> bool:
        """Show a line; False where there is no room for it."""
        if position in self.picks:
            return True
        line = names.clean(self.source.lines[position])
        text = names.clip(line, width, self.source.beyond.get(position, 0))
        cost = len(text) + len(note) + self.frame
        if cost > self.left:
            return False
        self.left -= cost
        self.picks[position] = (text + note, text == line)
        return True

    def unseen(self) -> list[tuple[int, str]]:
        """Every line that is not shown to its end."""
        seen = {position for position, (_, whole) in self.picks.items() if whole}
        return [(i, line) for i, line in enumerate(self.source.lines) if i not in seen]

    def render(self, found: list[names.Name]) -> str:
        """Lines and names in their order."""
        numbers, total = self.source.numbers, self.source.total
        rows = []
        order = sorted(self.picks)
        for position, following in zip([None, *order], [*order, None], strict=True):
            first, after = -1 if position is None else position, following or len(numbers)
            inside = [name.text for name in found if first <= name.line < after]
            start = 0 if position is None else numbers[position]
            end = total if following is None else numbers[following]
            if end <= start:
                continue
            text = "" if position is None else self.picks[position][0]
            label = str(start + 1) if end == start + 1 else f"{start + 1}-{end}"
            rest = " ".join(["…", *inside]) if inside or end > start + 1 or not text else ""
            rows.append(f"{label}: {text} {rest}".rstrip() if text else f"{label}: {rest}")
        return "\n".join(rows)
