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
from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING

from brimline.bulk import alarms, kinds, names, stub
from brimline.foreign import quote, without_invisible
from brimline.transcript import clienttools

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brimline.bulk.judge import Case

DIFF_CHARACTERS = 25_000
_FILES_CHARACTERS = 1_000
# How much is shown: of source code and prose a fifth, because names in them are often used next,
# those in JSON hardly ever. docs/explanation/offload.md has the measurements.
_LEAST_CHARACTERS, _MOST_CHARACTERS, _SHARE = 1_500, 5_000, 0.2
_JSON_CHARACTERS = 1_000
# Lines that are shown first: both ends, then what the others can be filed under.
_HEAD_LINES, _TAIL_LINES = 3, 4
_WIDTH = 160
_HEADINGS_SHARE = {kinds.CODE: 0.3, kinds.PROSE: 0.3, kinds.FOUND: 0.5}
_NARROWEST_HEADING, _HEADING_WIDTH = 30, 100
_ALARMS_SHARE = 0.45
_ALARM_WITHIN_CHARACTERS = 600
_LEGEND = '\n("A-B: x … y" shows line A, then identifiers from the omitted lines up to B.)'
_LONG_LINE_CHARACTERS = 2_000
_LONG_LINES = "\n(Lines are long: ask for --bytes A:B instead of --lines.)"
# Of a text larger than both together: this much from its start, and this much from its end.
_HEAD_CHARACTERS = 120_000
_TAIL_CHARACTERS = 60_000
_LONGEST_LINE_CHARACTERS = 40_000
# What git and diff write around hunks; whatever else stands there is quoted.
_HEADER = re.compile(
    r"    |diff |index |Index: |=+$|--- |\+\+\+ |(?:new|old|deleted) |(?:dis)?similarity |rename "
    r"|copy |Binary |commit [0-9a-f]|(?:Author|AuthorDate|Commit|CommitDate|Date|Merge): "
)
# How lines begin in a hunk, and those of them that are shown.
_IN_HUNK = ("+", "-", " ", "\\", "")
_CHANGES = ("+", "-", "@")
_CHANGED_FILE = re.compile(r"diff --git .* b/(.*)|\+\+\+ (?:b/)?(\S+)|Index: (.*)")


def make_preview(case: Case, subject: str) -> str:
    """Choose what to show of a result; its subject is the file read, or the command that ran."""
    text, source, kind = case.text, case.source, case.kind
    if kind == kinds.BINARY:
        return f"Binary data, not shown ({len(text):,} characters)."
    if kind == kinds.DIFF:
        return preview_of_diff(text)
    # Such lines are too long to be asked for by their numbers.
    is_long = len(text) > _LONG_LINE_CHARACTERS * (source.total + text.count("\r"))
    hint = _LONG_LINES if is_long else ""
    budget = _JSON_CHARACTERS if kind == kinds.JSON else _LEAST_CHARACTERS
    # Where the client would show 2,000 characters, more than that would make matters worse.
    if kind in (kinds.CODE, kinds.PROSE) and len(text) <= clienttools.characters_shown_whole(
        case.tool
    ):
        budget = max(budget, min(_MOST_CHARACTERS, int(_SHARE * len(text))))
    budget -= len(hint)
    if kind in (kinds.JSON, kinds.PATHS):
        from brimline.bulk import dumps

        described = dumps.describe_dump(text, source, kind, budget)
        if described:
            return described + hint
    return source.shown_text(_pick_lines_give_names(source, budget, kind, subject)) + hint + _LEGEND


def reference_with_preview_text(stored: stub.Stub, note: str, shown: str, rest: str) -> str:
    """Return what stands in for a result: what it was, its preview, how to get the rest."""
    parts = [f"{stub.build_reference_head(stored)} Preview, not the whole:", note, shown, rest]
    text = "\n".join(part for part in parts if part)
    return text.encode("utf-8", "replace").decode()  # half of a surrogate pair cannot be sent


def preview_of_diff(text: str, budget: int = DIFF_CHARACTERS) -> str:
    """The changed lines of a diff under their files and hunks, and how many are missing."""
    shown: list[str] = []
    missing: dict[str, int] = {}
    left = budget - _FILES_CHARACTERS
    for line, file, in_hunk in _diff_lines_without_context(text):
        left -= len(line) + 1
        if left >= 0:
            shown.append(without_invisible(line))
        elif in_hunk and not line.startswith("@@"):
            missing[file] = missing.get(file, 0) + 1
    rest = "nothing is missing"
    if missing:
        files = ", ".join(f"{name} ({count})" for name, count in missing.items())
        files = names.clip_at_word(files, _FILES_CHARACTERS // 2)
        rest = f"{sum(missing.values()):,} changed lines are missing: {files}"
    return "\n".join([*shown, f"[changed lines only, without context; {rest}]"])


def _diff_lines_without_context(text: str) -> Iterator[tuple[str, str, bool]]:
    """Lines of a diff that are worth showing, each with its file and whether it is in a hunk."""
    file, in_hunk = "", False
    for line in text.split("\n"):
        header = None if in_hunk and line.startswith("+++") else _CHANGED_FILE.match(line)
        if header:
            file, in_hunk = next(filter(None, header.groups())), False
        else:
            in_hunk = line.startswith("@@") or (in_hunk and line[:1] in _IN_HUNK)
        if in_hunk and line[:1] in _CHANGES:
            yield line, file, True
        elif not in_hunk and not line.startswith(("index ", "--- a/")):
            yield line if _HEADER.match(line) else quote(line), file, False


def _pick_lines_give_names(
    source: Excerpt, budget: int, kind: str, subject: str
) -> list[names.Name]:
    """Pick both ends and what stands out; the names in what is not shown, as far as they fit."""
    lines = source.lines
    # What comes before the first line that is shown has a row of its own.
    source.left = budget - source.frame
    share = _HEADINGS_SHARE.get(kind, 0.0)
    if not share:
        _pick_alarms_into_excerpt(source, source.left - int(budget * _ALARMS_SHARE))
    filled = [position for position, line in enumerate(lines) if line.strip()]
    for position in [*filled[:_HEAD_LINES], *filled[-_TAIL_LINES:]]:
        source.pick_if_it_fits(position, _WIDTH)
    headings = kinds.heading_indices(lines, kind) if share else []
    # All headings, narrower if they are many; if they are too many, the outer ones.
    room = min(source.left, int(budget * share))
    width = max(_NARROWEST_HEADING, room // max(1, len(headings)) - source.frame)
    limit = source.left - room
    for position in headings:
        if source.left <= limit or not source.pick_if_it_fits(position, min(_HEADING_WIDTH, width)):
            break
    shown = "\n".join([subject, *source.picks.values()])
    named = names.find_names_not_shown(source.unseen.items(), shown)
    named = named if share else _add_lines_give_names_left(source, named)
    return names.choose_names_that_fit(named, source.left)


def _pick_alarms_into_excerpt(source: Excerpt, limit: int) -> None:
    """Show what failed, once per message, however often it came."""
    more = "" if len(source.lines) == source.total else " or more"
    # By form: how grave it is, the gravest lowest, and where it stands.
    messages: dict[str, tuple[int, list[int]]] = {}
    for position, line in enumerate(source.lines):
        text = names.line_without_escapes(
            names.line_after_last_redraw(line)[:_ALARM_WITHIN_CHARACTERS]
        )
        weight = alarms.alarm_level_of_line(text)
        if weight:
            form = kinds.with_numbers_zeroed(text[: 4 * _WIDTH])
            messages.setdefault(form, (-weight, []))[1].append(position)
    for _, positions in sorted(messages.values()):
        note = f" (+{len(positions) - 1}{more} alike)" if len(positions) > 1 else ""
        if source.left <= limit or not source.pick_if_it_fits(positions[0], _WIDTH, note=note):
            break


def _add_lines_give_names_left(source: Excerpt, named: list[names.Name]) -> list[names.Name]:
    """Use room that better names leave for more lines, from both ends; the names that are left."""
    named = [name for name in named if name.rank < names.WORD]
    reserved = sum(len(name.text) + 1 for name in named if name.rank <= names.PATH)
    shown = {kinds.with_numbers_zeroed(source.lines[position]) for position in source.picks}
    free = deque(source.unseen)
    from_end = False
    while free and source.left > reserved + _WIDTH + source.frame:
        position = free.pop() if from_end else free.popleft()
        form = kinds.with_numbers_zeroed(source.lines[position])
        if form.strip() and form not in shown:
            shown.add(form)
            source.pick_if_it_fits(position, _WIDTH)
            from_end = not from_end
    return [name for name in named if name.line in source.unseen]


class Excerpt:
    """The lines of an output that are looked at, and which of them are shown.

    All of them, or of a huge text both ends and what is alarming between them: looking at every
    line of 10 MB takes longer than all the rest of a hook.
    """

    def __init__(self, text: str) -> None:
        self.total = text.count("\n") + bool(text and not text.endswith("\n"))
        # The number of each line that is looked at, counted from 0.
        self.numbers: Sequence[int] = range(self.total)
        # How many characters of a line are not looked at; by position.
        self.beyond: dict[int, int] = {}
        # By position: lines as they are shown.
        self.picks: dict[int, str] = {}
        # Characters that may still be shown; `A-B: ` before and ` … ` after each line, and a break.
        self.left = 0
        self.frame = 2 * len(str(self.total)) + 7
        if len(text) <= _HEAD_CHARACTERS + _TAIL_CHARACTERS:
            self.lines = text.split("\n")[: self.total]
        else:
            self.lines, self.numbers = _sample_lines_of_huge_text(text, self.total)
        for position, line in enumerate(self.lines):
            if len(line) > _LONGEST_LINE_CHARACTERS:
                last = names.line_after_last_redraw(line)
                self.lines[position] = last[:_LONGEST_LINE_CHARACTERS]
                self.beyond[position] = max(0, len(last) - _LONGEST_LINE_CHARACTERS)
        # By position: lines that are not shown to their ends.
        self.unseen = dict(enumerate(self.lines))

    def pick_if_it_fits(self, position: int, width: int, note: str = "") -> bool:
        """Show a line; False where there is no room for it."""
        if position in self.picks:
            return True
        line = names.line_without_escapes(self.lines[position])
        text = names.clip_at_word(line, width, self.beyond.get(position, 0))
        cost = len(text) + len(note) + self.frame
        if cost > self.left:
            return False
        self.left -= cost
        self.picks[position] = text + note
        if text == line:
            del self.unseen[position]
        return True

    def shown_text(self, named: list[names.Name]) -> str:
        """Lines and names in their order; what comes before the first line has a row of its own."""
        rows = []
        numbers = [*self.numbers, self.total]
        bounds = sorted({*self.picks, len(self.numbers)})
        for at, after in pairwise(bounds if 0 in bounds else [-1, *bounds]):
            start, end = numbers[at] if at >= 0 else 0, numbers[after]
            text = self.picks.get(at, "")
            label = str(start + 1) if end == start + 1 else f"{start + 1}-{end}"
            inside = [name.text for name in named if at <= name.line < after]
            is_more = inside or end > start + 1 or not text
            words = [f"{label}:", text, "…" if is_more else "", *inside]
            rows.append(" ".join(filter(None, words)))
        return "\n".join(rows)


def _sample_lines_of_huge_text(text: str, total: int) -> tuple[list[str], list[int]]:
    """Lines of a huge text, and their numbers."""
    end = len(text) - text.endswith("\n")
    head_end = text.rfind("\n", 0, _HEAD_CHARACTERS) + 1 or text.find("\n", 0, end) + 1 or end
    head = text[:head_end].removesuffix("\n").split("\n")
    tail_start = text.find("\n", max(head_end, end - _TAIL_CHARACTERS), end) + 1
    # A last line that is longer than all that is looked at is looked at from its beginning.
    tail_start = tail_start or max(head_end, text.rfind("\n", 0, end) + 1)
    tail = text[tail_start:end].split("\n") if tail_start < end else []
    between = alarms.alarming_lines_by_number(text, head_end, tail_start, len(head))
    numbers = [*range(len(head)), *between, *range(total - len(tail), total)]
    return [*head, *between.values(), *tail], numbers
