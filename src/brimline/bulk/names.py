"""What is worth showing of a line of output: whether it alarms, and the names it mentions. Pure.

Names are what a model comes back to: paths, symbols, hashes. How often one occurs says little about
whether it is needed next, so of two the shorter is the better buy, and many names are worth more
than a few whole lines.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from brimline import foreign
from brimline.bulk import kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Kinds of names, the better first: a new symbol; a path, or a new form of known symbols; what a
# service or git handed out; any other word.
SYMBOL, PATH, NUMBER, WORD = range(4)
SHORTEST_NAME = 6
LONGEST_NAME = 100
_LONGEST_FORM = 40
_SHORTEST_NUMBER = 4
_LONGEST_MENTION = 200
# Several times what the largest preview has room for.
_MOST_RUNS = 3_000

_RUN = re.compile(
    r"(?:(?<![\w)\]}])\.)?(?:[A-Za-z0-9_]|~(?=[./~-]{0,9}[A-Za-z0-9_]))"
    r"[A-Za-z0-9_./~-]*[A-Za-z0-9_]"
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{5,}")
# A capital inside, an underscore, letters next to digits: nobody writes prose like that.
_CODED = re.compile(r"[a-z0-9][A-Z]|_|[A-Za-z]\d|\d[A-Za-z]|[A-Z]{2}")
_PATH_OR_CODED = re.compile(rf"[/.]|{_CODED.pattern}")
_JOINT = re.compile(r"[/.-]")
_NUMERIC = re.compile(r"v?\d[\d.:TZ_/-]*")
# Numbers of this length are what services hand out: runs, comments, tickets.
_TICKET = re.compile(r"[1-9]\d{6,11}")
_HASH = re.compile(r"(?=.*\d)[0-9a-f]{7,15}")
_LONG_HASH = re.compile(r"[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# What is made of digits, and its rank.
_NUMBERS = ((_TICKET, NUMBER), (_NUMERIC, None), (_LONG_HASH, WORD), (_HASH, NUMBER))
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)")

_REST_OF_WORD = re.compile(r"\w{0,24}")
_COUNTED_REST = 200

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


class Name(NamedTuple):
    """A name found in the output."""

    line: int
    """Where it occurs first, counted from 0."""
    text: str
    rank: int
    """One of the four above."""


def line_without_escapes(line: str) -> str:
    """The line without terminal escapes, control characters and the space around it."""
    line = line.strip()
    if line.isascii() and line.isprintable():
        return line
    return _without_escapes(line_after_last_redraw(line))


def line_after_last_redraw(line: str) -> str:
    """Return a line as it looked in the end: a progress bar draws over what stood there before."""
    first, *states = line.split("\r")
    return next(filter(_without_escapes, reversed(states)), first)


def clip_at_word(text: str, width: int, beyond: int = 0) -> str:
    """The text, cut at a word near `width` with a mark; long rests are counted.

    Args:
        text: the beginning of a line.
        width: about how much of it to keep.
        beyond: how many characters the line has after the text.
    """
    match = _REST_OF_WORD.match(text, width)
    end = match.end() if match else min(width, len(text))
    rest = len(text) - end + beyond
    if not rest:
        return text
    return f"{text[:end]}…{f'+{rest}' if rest >= _COUNTED_REST else ''}"


def find_names_not_shown(lines: Iterable[tuple[int, str]], shown: str) -> list[Name]:
    """Every name in the lines that `shown` does not hold, each once, where it occurs first."""
    words = set(_WORD.findall(shown))
    chosen = []
    places = _line_number_by_run(lines, shown)
    # The longer form of a symbol comes first: `store.ReadAll` shows `ReadAll` too.
    is_other = {run: "." not in run or "/" in run or len(run) > _LONGEST_FORM for run in places}
    for run, number in sorted(places.items(), key=lambda place: (is_other[place[0]], place[1])):
        fresh = [word for word in _WORD.findall(run) if word not in words]
        rank = _rank_of_name(run, fresh)
        if rank is not None:
            words.update(fresh)
            chosen.append(Name(number, run, rank))
    return chosen


def _line_number_by_run(lines: Iterable[tuple[int, str]], shown: str) -> dict[str, int]:
    """Runs of letters that `shown` does not hold, with the line in which each comes first."""
    runs = set(_RUN.findall(shown))
    places: dict[str, int] = {}
    for number, line in lines:
        for run in _RUN.findall(line):
            if len(run) >= SHORTEST_NAME and run not in runs:
                places.setdefault(run, number)
        if len(places) > _MOST_RUNS:
            break
    return places


def names_mentioned_in(text: str) -> frozenset[str]:
    """The names that a text mentions: paths, symbols, hashes, numbers from four digits on."""
    return frozenset(itertools.chain.from_iterable(map(names_within_run, set(runs_in(text)))))


def runs_in(text: str) -> list[str]:
    """Return what may be names or be made of them, as often as it occurs."""
    found: list[str] = _RUN.findall(text)
    return found


def names_within_run(run: str) -> Iterator[str]:
    """A run that is a name itself, and the names that it is made of."""
    if not _SHORTEST_NUMBER <= len(run) <= _LONGEST_MENTION:
        return
    if run.isdigit() or (len(run) >= SHORTEST_NAME and _PATH_OR_CODED.search(run)):
        yield run
    if _JOINT.search(run):
        yield from filter(_CODED.search, _WORD.findall(run))


def choose_names_that_fit(named: list[Name], room: int, worst: int = WORD) -> list[Name]:
    """As many names as there is room: the better kinds first, the shorter before the longer."""
    bought = []
    for name in sorted(named, key=lambda name: (name.rank, len(name.text))):
        if name.rank <= worst and len(name.text) + 1 <= room:
            room -= len(name.text) + 1
            bought.append(name)
    return sorted(bought, key=lambda name: name.line)


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


def _without_escapes(text: str) -> str:
    return foreign.without_invisible(_ESCAPES.sub("", text)).strip()


def _rank_of_name(run: str, fresh: list[str]) -> int | None:
    """One of the four ranks; None for what is worth no place."""
    if len(run) > LONGEST_NAME:
        return None
    if run[0] in "v0123456789abcdefABCDEF":
        for form, rank in _NUMBERS:
            if form.fullmatch(run):
                return rank
    if any(_CODED.search(word) for word in fresh):
        return SYMBOL
    if _PATH_OR_CODED.search(run):
        return PATH
    return WORD if fresh else None
