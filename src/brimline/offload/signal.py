"""What is worth showing in a line of output: failures, totals, and the names it mentions. Pure.

Names are what a model comes back to: paths, symbols, hashes. How often one occurs says little about
whether it is needed next, so of two the shorter is the better buy, and many names are worth more
than a few whole lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

# Kinds of names, the better first: a new symbol; a path, or a new form of known symbols; what a
# service or git handed out; any other word.
SYMBOL, PATH, NUMBER, WORD = range(4)
SHORTEST_NAME = 6
LONGEST_NAME = 100
_LONGEST_FORM = 40
# Several times what the largest preview has room for.
_MOST_RUNS = 3_000

_RUN = re.compile(r"(?:(?<![\w)\]}])\.)?[A-Za-z0-9_~][A-Za-z0-9_./~-]*[A-Za-z0-9_]")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{5,}")
# A capital inside, an underscore, letters next to digits: nobody writes prose like that.
_CODED = re.compile(r"[a-z0-9][A-Z]|_|[A-Za-z]\d|\d[A-Za-z]|[A-Z]{2}")
_NUMERIC = re.compile(r"v?\d[\d.:TZ_/-]*")
# Numbers of this length are what services hand out: runs, comments, tickets.
_TICKET = re.compile(r"[1-9]\d{6,11}")
_HASH = re.compile(r"(?=.*\d)[0-9a-f]{7,15}")
_LONG_HASH = re.compile(r"[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

_FAILED = re.compile(
    r"^\s*(?:-+ )?FAIL(?:ED|URE)?\b|^\s*not ok \d|^\s*(?:✗|✘|✕|❌|●)|\bpanic:|^Traceback |^E   |"
    r"##\[error\]|\bFAILED\b|\bfatal\b|\bBUILD FAIL",
)
_ERROR = re.compile(
    r"\berrors?\b|\bfail(?:ed|ures?|s|ing)?\b|\bexception\b|\w(?:Error|Exception)\b|\bdenied\b|"
    r"\bcannot\b|\bundefined\b|\bunresolved\b|\bnot found\b|\bno such file\b|\bsegfault\b|"
    r"\bsegmentation fault\b|\baborted\b|\bcritical\b|\btimed? ?out\b|\brefused\b|\bconflict\b",
    re.IGNORECASE,
)
_WARNING = re.compile(r"\bwarn(?:ing)?s?\b|\bdeprecat", re.IGNORECASE)
_TOTAL = re.compile(
    r"\b\d[\d,]* (?:tests? )?(?:passed|failed|failures?|skipped|errors?|warnings?|problems?|"
    r"issues?|tests?|suites?|examples?|files? changed|packages?|vulnerabilities)\b|"
    r"^(?:ok|PASS|FAIL|Ran|Tests?|Test Suites|Found|Finished|Compiled|Total)\b.*\d|"
    r"\bBUILD (?:SUCCESS|FAIL)|^test result:|\bcoverage\b.*%|^real\s+\d|\b(?:exit|status) code \d",
)
# What a line has to hold, in lower case, to be worth the patterns above.
_STEMS = (
    *("error", "fail", "exception", "denied", "cannot", "undefined", "unresolved", "not found"),
    *("no such", "segfault", "segmentation", "abort", "critical", "time out", "timeout", "timed"),
    *(
        "refused",
        "conflict",
        "warn",
        "deprecat",
        "panic",
        "traceback",
        "fatal",
        "✗",
        "✘",
        "✕",
        "❌",
    ),
    *(
        "●",
        "not ok",
        "passed",
        "skipped",
        "problem",
        "issue",
        " test",
        "suite",
        "changed",
        "vulnerab",
    ),
    *(
        "\nok",
        "\nran ",
        "\nfound ",
        "finished",
        "compiled",
        "total",
        "build ",
        "coverage",
        "\nreal",
    ),
    *("exit code", "status code", "\ne   "),
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
_REST_OF_WORD = re.compile(r"\w{0,24}")
_COUNTED_REST = 200


class Name(NamedTuple):
    """A name found in the output."""

    line: int
    """Where it occurs first, counted from 0."""
    text: str
    rank: int
    """One of the four above."""


def clean(line: str) -> str:
    """The line without terminal escapes, control characters and the space around it."""
    if line.isascii() and line.isprintable():
        return line.strip()
    # A progress bar redraws its line: what counts is how it looked in the end.
    shown = line.rstrip("\r").rpartition("\r")[2] if "\r" in line else line
    return _CONTROLS.sub("", _ESCAPES.sub("", shown)).strip()


def clip(text: str, width: int) -> str:
    """The text, cut at a word near `width` with a mark; long rests are counted."""
    if len(text) <= width:
        return text
    match = _REST_OF_WORD.match(text, width)
    end = match.end() if match else width
    if end == len(text):
        return text
    rest = len(text) - end
    return f"{text[:end]}…{f'+{rest}' if rest >= _COUNTED_REST else ''}"


def alarms(lines: list[str]) -> list[tuple[int, int]]:
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
    if _ERROR.search(line):
        return 2
    return 1 if _WARNING.search(line) else 0


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


def words_of(text: str) -> tuple[set[str], set[str]]:
    """The words and the runs (dotted, slashed, dashed words) that a text already shows."""
    return set(_WORD.findall(text)), set(_RUN.findall(text))


def names(lines: Iterable[tuple[int, str]], shown: str) -> list[Name]:
    """Every name in the lines that `shown` does not hold, each once, where it occurs first."""
    words, runs = words_of(shown)
    first: dict[str, int] = {}
    for number, line in lines:
        for run in _RUN.findall(line):
            if len(run) >= SHORTEST_NAME and run not in runs:
                first.setdefault(run, number)
        if len(first) > _MOST_RUNS:
            break
    found = []
    # The longer form of a symbol comes first: `store.ReadAll` shows `ReadAll` too.
    for run, number in sorted(first.items(), key=_longer_first):
        fresh = [word for word in _WORD.findall(run) if word not in words]
        rank = _rank(run, fresh)
        if rank is not None:
            words.update(fresh)
            found.append(Name(number, run, rank))
    return found


def afford(found: list[Name], room: int, worst: int = WORD) -> list[Name]:
    """As many names as there is room: the better kinds first, the shorter before the longer."""
    bought = []
    for name in sorted(found, key=lambda name: (name.rank, len(name.text))):
        if name.rank <= worst and len(name.text) + 1 <= room:
            room -= len(name.text) + 1
            bought.append(name)
    return sorted(bought, key=lambda name: name.line)


def _longer_first(item: tuple[str, int]) -> tuple[bool, int]:
    run, number = item
    return "." not in run or "/" in run or len(run) > _LONGEST_FORM, number


def _rank(run: str, fresh: list[str]) -> int | None:
    if len(run) > LONGEST_NAME:
        return None
    if _NUMERIC.fullmatch(run):
        return NUMBER if _TICKET.fullmatch(run) else None
    if _LONG_HASH.fullmatch(run):
        return WORD
    if _HASH.fullmatch(run):
        return NUMBER
    if any(_CODED.search(word) for word in fresh):
        return SYMBOL
    if "/" in run or "." in run or _CODED.search(run):
        return PATH
    return WORD if fresh else None
