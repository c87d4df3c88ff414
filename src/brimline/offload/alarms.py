"""Which lines of a log matter: failures, errors, warnings, totals, and what lines share. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from brimline.offload.signal import clean, last_state

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
    *("killed", "out of mem", "err!"),
    *("✗", "✘", "✕", "❌", "●"),
    *("skipped", "problem", "issue", " test", "suite", "changed", "vulnerab", "finished"),
    *("compiled", "total", "build ", "coverage", "exit code", "status code"),
    *("\nok", "\nran ", "\nfound ", "\nreal", "\ne   "),
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
_NUMBER = re.compile(r"\d+")
_OPENING_CHARACTERS = 160
_OPENING_LINES = 300
_FEWEST_OPENINGS = 8
_OPENING_SHARE = 0.7
# A date or a time in which `alike` has replaced the numbers.
_TIME = re.compile(r"0[:/-]0[:/-]0[^\s\]]*[\s\]]*")


def find(lines: list[str], width: int) -> tuple[list[tuple[int, list[int]]], bool]:
    """The messages of a log that speak of failures or totals, and whether all were counted.

    Args:
        lines: the log.
        width: messages that differ in nothing but numbers within that many characters are one.

    Returns:
        how grave each message is (3 to 1), and the positions at which it comes.
    """
    seen = [last_state(line)[:_ALARM_WITHIN_CHARACTERS] for line in lines]
    positions, complete = _suspects(seen)
    messages: dict[str, list[int]] = {}
    for position in positions:
        messages.setdefault(alike(clean(seen[position][:width])), []).append(position)
    weights = [(weight(clean(seen[found[0]])), found) for found in messages.values()]
    return [message for message in weights if message[0]], complete


def offsets(lowered: bytes, start: int, end: int) -> list[int]:
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


def weight(line: str) -> int:
    """How much a line of a log says: 3 failed or a total, 2 an error, 1 a warning, 0 nothing."""
    if _FAILED.search(line) or _TOTAL.search(line):
        return 3
    lowered = line.lower()
    if _ERROR_IN_LOWER_CASE.search(lowered):
        return 2
    return 1 if _WARNING_IN_LOWER_CASE.search(lowered) else 0


def alike(text: str) -> str:
    """A form that lines share which differ in nothing but their numbers; takes many lines too."""
    return _NUMBER.sub("0", text)


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
