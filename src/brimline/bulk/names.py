"""What is worth showing of a line of output: its text, and the names it mentions. Pure.

Names are what a model comes back to: paths, symbols, hashes. How often one occurs says little about
whether it is needed next, so of two the shorter is the better buy, and many names are worth more
than a few whole lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from brimline import foreign
from brimline.bulk.mentions import CODED, RUN, SHORTEST_NAME, WORD_OF_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable

# Kinds of names, the better first: a new symbol; a path, or a new form of known symbols; what a
# service or git handed out; any other word.
SYMBOL, PATH, NUMBER, WORD = range(4)
LONGEST_NAME = 100
_LONGEST_FORM = 40
# Several times what the largest preview has room for.
_MOST_RUNS = 3_000

_PATH_OR_CODED = re.compile(rf"[/.]|{CODED.pattern}")
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
    words = set(WORD_OF_NAME.findall(shown))
    chosen = []
    places = _line_number_by_run(lines, shown)
    # The longer form of a symbol comes first: `store.ReadAll` shows `ReadAll` too.
    is_other = {run: "." not in run or "/" in run or len(run) > _LONGEST_FORM for run in places}
    for run, number in sorted(places.items(), key=lambda place: (is_other[place[0]], place[1])):
        fresh = [word for word in WORD_OF_NAME.findall(run) if word not in words]
        rank = _rank_of_name(run, fresh)
        if rank is not None:
            words.update(fresh)
            chosen.append(Name(number, run, rank))
    return chosen


def _line_number_by_run(lines: Iterable[tuple[int, str]], shown: str) -> dict[str, int]:
    """Runs of letters that `shown` does not hold, with the line in which each comes first."""
    runs = set(RUN.findall(shown))
    places: dict[str, int] = {}
    for number, line in lines:
        for run in RUN.findall(line):
            if len(run) >= SHORTEST_NAME and run not in runs:
                places.setdefault(run, number)
        if len(places) > _MOST_RUNS:
            break
    return places


def choose_names_that_fit(named: list[Name], room: int, worst: int = WORD) -> list[Name]:
    """As many names as there is room: the better kinds first, the shorter before the longer."""
    bought = []
    for name in sorted(named, key=lambda name: (name.rank, len(name.text))):
        if name.rank <= worst and len(name.text) + 1 <= room:
            room -= len(name.text) + 1
            bought.append(name)
    return sorted(bought, key=lambda name: name.line)


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
    if any(CODED.search(word) for word in fresh):
        return SYMBOL
    if _PATH_OR_CODED.search(run):
        return PATH
    return WORD if fresh else None
