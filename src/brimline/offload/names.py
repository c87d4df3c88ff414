"""What is worth showing of a line of output, and the names that it mentions. Pure.

Names are what a model comes back to: paths, symbols, hashes. How often one occurs says little about
whether it is needed next, so of two the shorter is the better buy, and many names are worth more
than a few whole lines.
"""

from __future__ import annotations

import re
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
    line = line.strip()
    if line.isascii() and line.isprintable():
        return line
    return _plain(last_state(line))


def last_state(line: str) -> str:
    """What a line looked like in the end: a progress bar draws over what stood there before."""
    rest, mark = line, "\r"
    while mark:
        rest, mark, state = rest.rpartition("\r")
        if mark and _plain(state):
            return state
    return line if "\r" not in line else line.partition("\r")[0]


def clip(text: str, width: int, beyond: int = 0) -> str:
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


def names(lines: Iterable[tuple[int, str]], shown: str) -> list[Name]:
    """Every name in the lines that `shown` does not hold, each once, where it occurs first."""
    words, runs = set(_WORD.findall(shown)), set(_RUN.findall(shown))
    first: dict[str, int] = {}
    for number, line in lines:
        for run in _RUN.findall(line):
            if len(run) >= SHORTEST_NAME and run not in runs:
                first.setdefault(run, number)
        if len(first) > _MOST_RUNS:
            break
    found = []
    # The longer form of a symbol comes first: `store.ReadAll` shows `ReadAll` too.
    order = sorted(
        first.items(),
        key=lambda item: (
            "." not in item[0] or "/" in item[0] or len(item[0]) > _LONGEST_FORM,
            item[1],
        ),
    )
    for run, number in order:
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


def _plain(text: str) -> str:
    return _CONTROLS.sub("", _ESCAPES.sub("", text)).strip()


def _rank(run: str, fresh: list[str]) -> int | None:
    if len(run) > LONGEST_NAME:
        return None
    if run[0] in "v0123456789" and _NUMERIC.fullmatch(run):
        return NUMBER if _TICKET.fullmatch(run) else None
    if run[0] in "0123456789abcdefABCDEF":
        if _LONG_HASH.fullmatch(run):
            return WORD
        if _HASH.fullmatch(run):
            return NUMBER
    if any(_CODED.search(word) for word in fresh):
        return SYMBOL
    if "/" in run or "." in run or _CODED.search(run):
        return PATH
    return WORD if fresh else None
