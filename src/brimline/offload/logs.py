"""Which lines of a log are shown: failures once per message, both ends, none like another. Pure."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

from brimline.offload.kinds import alike
from brimline.offload.names import PATH, WORD, Name, clean, last_state

if TYPE_CHECKING:
    from brimline.offload.preview import Board

_ALARMS_SHARE = 0.45
# One `\b` before many words instead of one before each, and no IGNORECASE: several times faster.
_FAILED = re.compile(
    r"^\s*(?:(?:-+ )?FAIL(?:ED|URE)?\b|not ok \d|[✗✘✕❌●])|^Traceback |^E   |##\[error\]|"
    r"\b(?:panic:|panicked\b|FAILED\b|fatal\b|BUILD FAIL)",
)
_ERROR_IN_LOWER_CASE = re.compile(
    r"\b(?:errors?|fail(?:ed|ures?|s|ing)?|exception|denied|cannot|undefined|unresolved|not found|"
    r"no such file|segfault|segmentation fault|aborted|critical|timed? ?out|refused|conflict|"
    r"killed|out of memory)\b|\berr!|\w(?:(?<!-w)error|exception)\b",
)
_WARNING_IN_LOWER_CASE = re.compile(r"\b(?:warn(?:ing)?s?\b|deprecat)")
_TOTAL = re.compile(
    r"^(?:(?:ok|PASS|FAIL|Ran|Tests?|Test Suites|Found|Finished|Compiled|Total)\b.*\d|"
    r"test result:|real\s+\d)|"
    r"\b(?:\d[\d,]* (?:tests? )?(?:passed|failed|failures?|skipped|errors?|warnings?|problems?|"
    r"issues?|tests?|suites?|examples?|files? changed|packages?|vulnerabilities)\b|"
    r"BUILD (?:SUCCESS|FAIL)|coverage\b.*%|(?:exit|status) code \d)",
)
# What the middle of a huge text is searched for: each of these takes about as long in 10 MB as
# half an interpreter takes to start, so there are few, and the longer the better.
_SEARCHED = (
    *(b"error", b"fail", b"warning", b"exception", b"panic", b"fatal", b"critical", b"killed"),
    *(b"traceback (most recent", b"segmentation fault", b"permission denied", b"\nnot ok "),
)
_MOST_SEARCHED = 60
_ALARM_WITHIN_CHARACTERS = 600
_ANY_TEXT = ("utf-8", "surrogatepass")


def choose_alarms(board: Board, width: int) -> None:
    """Show what failed, once per message, however often it came."""
    limit = board.left - int(board.budget * _ALARMS_SHARE)
    more = "" if board.source.is_whole else " or more"
    messages: dict[str, list[int]] = {}
    graver: dict[str, int] = {}
    for position, line in enumerate(board.source.lines):
        text = clean(last_state(line)[:_ALARM_WITHIN_CHARACTERS])
        weight = _weight(text)
        if weight:
            form = alike(text[: 4 * width])
            messages.setdefault(form, []).append(position)
            graver.setdefault(form, -weight)
    for form in sorted(messages, key=lambda form: (graver[form], messages[form])):
        positions = messages[form]
        note = f" (+{len(positions) - 1}{more} alike)" if len(positions) > 1 else ""
        if board.left <= limit or not board.pick(positions[0], width, note=note):
            break


def fill(board: Board, found: list[Name], width: int) -> list[Name]:
    """Use room that better names leave for more lines, from both ends; the names that are left."""
    found = [name for name in found if name.rank < WORD]
    reserved = sum(len(name.text) + 1 for name in found if name.rank <= PATH)
    lines = board.source.lines
    shown = {alike(lines[position]) for position in board.picks}
    free = deque(i for i, line in enumerate(lines) if line.strip() and i not in board.picks)
    from_end = False
    while free and board.left > reserved + width + board.frame:
        position = free.pop() if from_end else free.popleft()
        form = alike(lines[position])
        if form not in shown:
            shown.add(form)
            board.pick(position, width)
            from_end = not from_end
    unseen = {position for position, _ in board.unseen()}
    return [name for name in found if name.line in unseen]


def alarming(text: str, start: int, end: int, number: int) -> dict[int, str]:
    """Lines between two offsets that hold an alarming word, by their numbers from `number` on."""
    # As bytes: there, lower case keeps every offset and takes a fraction of the time.
    raw = text.encode(*_ANY_TEXT)
    if len(raw) != len(text):
        start, end = (len(text[:place].encode(*_ANY_TEXT)) for place in (start, end))
    lowered = raw.lower()
    offsets: set[int] = set()
    for word in _SEARCHED:
        at, hits = lowered.find(word, start, end), 0
        while at >= 0 and hits < _MOST_SEARCHED:
            at += word[:1] == b"\n"
            offsets.add(lowered.rfind(b"\n", start, at) + 1 or start)
            following = lowered.find(b"\n", at, end)
            at, hits = lowered.find(word, following, end) if following >= 0 else -1, hits + 1
    lines = {}
    for offset in sorted(offsets):
        number += raw.count(b"\n", start, offset)
        start = offset
        line_end = raw.find(b"\n", offset)
        lines[number] = raw[offset : line_end if line_end >= 0 else None].decode(*_ANY_TEXT)
    return lines


def _weight(line: str) -> int:
    """How much a line of a log says: 3 failed or a total, 2 an error, 1 a warning, 0 nothing."""
    if _FAILED.search(line) or _TOTAL.search(line):
        return 3
    lowered = line.lower()
    if _ERROR_IN_LOWER_CASE.search(lowered):
        return 2
    return 1 if _WARNING_IN_LOWER_CASE.search(lowered) else 0
