"""Whether a line of output alarms, and which lines of a long one do. Pure."""

from __future__ import annotations

import re

from brimline.bulk import kinds

# One `\b` before many words instead of one before each, and no IGNORECASE: several times faster.
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
_ANY_TEXT = ("utf-8", "surrogatepass")


def alarm_level_of_line(line: str) -> int:
    """Weigh a line of a log: 3 failed or a total, 2 an error, 1 a warning, 0 nothing."""
    if kinds.reports_failure(line) or _TOTAL.search(line):
        return 3
    lowered = line.lower()
    if _ERROR_IN_LOWER_CASE.search(lowered):
        return 2
    return 1 if _WARNING_IN_LOWER_CASE.search(lowered) else 0


def alarming_lines_by_number(text: str, start: int, end: int, number: int) -> dict[int, str]:
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
