"""Which lines of a log are shown: folded runs, failures once per message, both ends. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from itertools import accumulate
from typing import TYPE_CHECKING

from brimline.offload.kinds import alike
from brimline.offload.names import PATH, WORD, Name, clean, last_state

if TYPE_CHECKING:
    from brimline.offload.preview import Board

_ALARMS_SHARE = 0.45
_FOLD_FROM_LINES = 3
_MOST_FOLDS = 4
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
# What a line has to hold, in lower case, to be worth the patterns above.
_STEMS = (
    *("error", "fail", "exception", "denied", "cannot", "undefined", "unresolved", "not found"),
    *("no such", "segfault", "segmentation", "abort", "critical", "time out", "timeout", "timed"),
    *("refused", "conflict", "warn", "deprecat", "panic", "traceback", "fatal", "not ok", "passed"),
    *("killed", "out of mem", "err!", "✗", "✘", "✕", "❌", "●", "skipped", "problem", "issue"),
    *(" test", "suite", "changed", "vulnerab", "finished", "compiled", "total", "build "),
    *("coverage", "exit code", "status code", "\nok", "\nran ", "\nfound ", "\nreal", "\ne   "),
)
# What the middle of a huge text is searched for: each of these takes about as long in 10 MB as
# half an interpreter takes to start, so there are fewer, and the longer the better.
_SEARCHED = (
    *(b"error", b"fail", b"warning", b"exception", b"panic", b"fatal", b"critical", b"killed"),
    *(b"traceback (most recent", b"segmentation fault", b"(core dumped)", b"undefined reference"),
    *(b"permission denied", b"command not found", b"no such file or dir", b"npm err!"),
    b"\nnot ok ",
)
_SEARCHED_SIGNS = tuple(sign.encode() for sign in "✗✘✕❌●")
# Where a word is on very many lines, these are the ones that matter.
_SHARPER = {b"error": (b" error: ", b"\nerror"), b"fail": (b"\nfail", b"failed: ")}
_MOST_HITS = 5_000
_MOST_SEARCHED = 500
_MOST_MESSAGES = 60
_MESSAGE_BYTES = 160
_DIGITS = b"0123456789"
_ALARM_WITHIN_CHARACTERS = 600
_ANY_TEXT = ("utf-8", "surrogatepass")
_OPENING_CHARACTERS = 160
_OPENING_LINES = 300
_FEWEST_OPENINGS = 8
_OPENING_SHARE = 0.7
# A date or a time in which `alike` has replaced the numbers.
_TIME = re.compile(r"0[:/-]0[:/-]0[^\s\]]*[\s\]]*")


def choose(board: Board, width: int) -> None:
    """Show runs of equal lines, then what went wrong."""
    lines = board.source.lines
    board.opening = shared_opening([line for line in lines if line.strip()])
    _choose_folds(board, width)
    _choose_alarms(board, width)


def fill(board: Board, found: list[Name], width: int) -> list[Name]:
    """Use room that the better names leave for more lines, from both ends in turn, none like
    another; the names in what is still not shown."""
    found = [name for name in found if name.rank < WORD]
    reserved = sum(len(name.text) + 1 for name in found if name.rank <= PATH)
    lines = board.source.lines
    shown = {alike(lines[position]) for position in board.picks}
    free = deque(i for i, line in enumerate(lines) if line.strip() and i not in board.taken)
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
    lines = {}
    for offset in _offsets(raw.lower(), start, end):
        number += raw.count(b"\n", start, offset)
        start = offset
        line_end = raw.find(b"\n", offset)
        lines[number] = raw[offset : line_end if line_end >= 0 else None].decode(*_ANY_TEXT)
    return lines


def shared_opening(lines: list[str]) -> re.Pattern[str] | None:
    """The job names and times that nearly all lines of a log begin with; None without a time."""
    forms = sorted(alike(clean(line[:_OPENING_CHARACTERS])) for line in lines[:_OPENING_LINES])
    if len(forms) < _FEWEST_OPENINGS:
        return None
    model = forms[len(forms) // 2]
    times = [match.end() for match in _TIME.finditer(model)]
    for end in reversed(times):
        opening = model[:end]
        if sum(form.startswith(opening) for form in forms) >= len(forms) * _OPENING_SHARE:
            pieces = [re.escape(piece) for piece in opening.split("0")]
            return re.compile(r"^" + r"\d+".join(pieces))
    return None


def _choose_folds(board: Board, width: int) -> None:
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


def _choose_alarms(board: Board, width: int) -> None:
    """Show what failed, once per message, however often it came."""
    limit = board.left - int(board.budget * _ALARMS_SHARE)
    found, complete = _messages(board.source.lines, 4 * width)
    more = "" if complete and board.source.is_whole else " or more"
    for _, positions in sorted(found, key=lambda message: (-message[0], message[1])):
        note = f" (+{len(positions) - 1}{more} alike)" if len(positions) > 1 else ""
        if board.left <= limit or not board.pick(positions[0], width, note=note):
            break


def _messages(lines: list[str], width: int) -> tuple[list[tuple[int, list[int]]], bool]:
    """How grave each message of failures or totals is (3 to 1) and where it comes, and whether
    all were counted; messages that differ in nothing but numbers within `width` are one."""
    seen = [last_state(line)[:_ALARM_WITHIN_CHARACTERS] for line in lines]
    positions, complete = _suspects(seen)
    messages: dict[str, list[int]] = {}
    for position in positions:
        messages.setdefault(alike(clean(seen[position][:width])), []).append(position)
    weights = [(_weight(clean(seen[found[0]])), found) for found in messages.values()]
    return [message for message in weights if message[0]], complete


def _weight(line: str) -> int:
    """How much a line of a log says: 3 failed or a total, 2 an error, 1 a warning, 0 nothing."""
    if _FAILED.search(line) or _TOTAL.search(line):
        return 3
    lowered = line.lower()
    if _ERROR_IN_LOWER_CASE.search(lowered):
        return 2
    return 1 if _WARNING_IN_LOWER_CASE.search(lowered) else 0


def _suspects(lines: list[str]) -> tuple[list[int], bool]:
    """The positions of lines that hold a stem, and whether there are no more."""
    lowered = [line.lower() for line in lines]
    text = "\n" + "\n".join(lowered)
    ends = list(accumulate(len(line) + 1 for line in lowered))
    positions: set[int] = set()
    complete = True
    for stem in _STEMS:
        at, hits = text.find(stem), 0
        while at >= 0 and hits < _MOST_HITS:
            position = bisect_right(ends, at - (stem[0] != "\n"))
            positions.add(position)
            hits += 1
            at = text.find(stem, ends[position])
        complete = complete and at < 0
    return sorted(positions), complete


def _offsets(lowered: bytes, start: int, end: int) -> list[int]:
    """Where lines with an alarming word begin, one of each message, in a text in lower case."""
    found: set[int] = set()
    signs = () if lowered.isascii() else _SEARCHED_SIGNS
    for word in (*_SEARCHED, *signs):
        # A byte is found in a tenth of the time that a word takes.
        if lowered.find(word[-1:], start, end) < 0:
            continue
        if not _search(lowered, start, end, word, found):
            for sharper in _SHARPER.get(word, ()):
                _search(lowered, start, end, sharper, found)
    return sorted(found)


def _search(lowered: bytes, start: int, end: int, word: bytes, found: set[int]) -> bool:
    """Add the lines with a word; False where they are too many to see them all."""
    messages: set[bytes] = set()
    at, hits = lowered.find(word, start, end), 0
    while at >= 0:
        if hits == _MOST_SEARCHED or len(messages) == _MOST_MESSAGES:
            return False
        hits += 1
        at += word[:1] == b"\n"
        first, last = lowered.rfind(b"\n", start, at) + 1 or start, lowered.find(b"\n", at, end)
        message = lowered[first : first + _MESSAGE_BYTES].partition(b"\n")[0]
        message = message.translate(None, _DIGITS)
        if message not in messages:
            messages.add(message)
            found.add(first)
        at = lowered.find(word, last, end) if last >= 0 else -1
    return True
