"""Which lines of a log matter: failures, errors, warnings, totals, and what lines share. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from brimline.offload.signal import clean

# One `\b` before many words instead of one before each, and no IGNORECASE: several times faster.
_FAILED = re.compile(
    r"^\s*(?:(?:-+ )?FAIL(?:ED|URE)?\b|not ok \d|[✗✘✕❌●])|^Traceback |^E   |##\[error\]|"
    r"\b(?:panic:|FAILED\b|fatal\b|BUILD FAIL)",
)
_ERROR_IN_LOWER_CASE = re.compile(
    r"\b(?:errors?|fail(?:ed|ures?|s|ing)?|exception|denied|cannot|undefined|unresolved|not found|"
    r"no such file|segfault|segmentation fault|aborted|critical|timed? ?out|refused|conflict)\b|"
    r"\w(?:error|exception)\b",
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
    *("✗", "✘", "✕", "❌", "●"),
    *("skipped", "problem", "issue", " test", "suite", "changed", "vulnerab", "finished"),
    *("compiled", "total", "build ", "coverage", "exit code", "status code"),
    *("\nok", "\nran ", "\nfound ", "\nreal", "\ne   "),
)
_MOST_ALARMS = 100
_ALARM_WITHIN_CHARACTERS = 600
_NUMBER = re.compile(r"\d+")
_OPENING_CHARACTERS = 160
_OPENING_LINES = 300
_FEWEST_OPENINGS = 8
_OPENING_SHARE = 0.7
# A date or a time in which `alike` has replaced the numbers.
_TIME = re.compile(r"0[:/-]0[:/-]0[^\s\]]*[\s\]]*")


def find(lines: list[str]) -> list[tuple[int, int]]:
    """Lines of a log that speak of failures or totals: how grave (3 to 1), and their positions."""
    lowered = [line[:_ALARM_WITHIN_CHARACTERS].lower() for line in lines]
    text = "\n".join(lowered)
    ends = list(accumulate(len(line) + 1 for line in lowered))
    positions: set[int] = set()
    for stem in _STEMS:
        at, count = text.find(stem), 0
        while at >= 0 and count < _MOST_ALARMS:
            position = bisect_right(ends, at)
            positions.add(position)
            count += 1
            at = text.find(stem, ends[position])
    weights = [(weight(clean(lines[i][:_ALARM_WITHIN_CHARACTERS])), i) for i in sorted(positions)]
    return [alarm for alarm in weights if alarm[0]]


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
