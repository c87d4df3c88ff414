"""The exact values in a text (paths, figures, names, quoted pieces) and whether another has them.

Pure. A value counts as there only when it stands there literally, not inside a longer one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_CODE = re.compile(r"`([^`\n]{1,200})`")
_QUOTED = re.compile(r"[\"“„«]([^\"“”„»«\n]{2,120})[\"”»]")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s)>\]\"'`]+", re.IGNORECASE)
_WORD = re.compile(r"[^\s,;()\[\]{}<>\"'`“”„«»|*]+")
_NUMBER = re.compile(r"(?<![\w.])[-+~<>=≤≥$€£#]*(\d[\d,_]*(?:\.\d+)?)(?![\d.]*\d)")
_THOUSANDS = re.compile(r"(?<=\d)[,_](?=\d{3}(?!\d))")
_EXTENSION = re.compile(r"(?:^|[\w-])\.[A-Za-z][A-Za-z0-9]{0,9}$")
_MEASURE = re.compile(r"[-+~<>=≤≥$€£#]*\d[\d.,_]*[A-Za-z%]{0,3}")
_VERSION = re.compile(r"\d[.:]\d+[.:]\d")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]{2}")
_TRAILING = ".,:;!?…'"
_ABBREVIATIONS = frozenset(("e.g", "i.e", "a.m", "p.m", "u.s", "etc", "vs"))
_KNOWN_FOLDERS = (
    "src lib app docs doc test tests bin etc tmp var opt usr config conf scripts tools pkg cmd api"
    " internal web server client core packages modules build dist vendor proto assets static home"
    " db data migrations notes logs feature fix release origin"
)
_FOLDERS = frozenset(_KNOWN_FOLDERS.split())
_LONGEST_PROSE_WORD = 9
_FEW_WORDS = 4
_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
}


@dataclass(frozen=True, slots=True)
class Values:
    """What of a text must not change by a single character."""

    names: frozenset[str]
    """Paths, identifiers, flags, versions, hosts, pieces in backticks or quotes."""
    numbers: frozenset[str]
    """Figures, without what separates thousands."""

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.names or self.numbers)


def values(text: str) -> Values:
    """The exact values of a text."""
    names = {piece.strip() for piece in _CODE.findall(text)} | set(_URL.findall(text))
    names |= {piece.strip() for piece in _QUOTED.findall(text) if not _is_prose(piece)}
    names |= {word for word in map(_trimmed, _WORD.findall(text)) if _is_name(word)}
    names.discard("")
    return Values(frozenset(names), frozenset(_numbers(text, names)))


def numbers(text: str) -> frozenset[str]:
    """The figures of a text; small ones may be written as words."""
    found = {_plain(number) for number in _NUMBER.findall(text)}
    found |= set(re.findall(r"\d+", text))
    words = re.findall(r"[a-z]+", text.lower())
    return frozenset(found | {_NUMBER_WORDS[word] for word in words if word in _NUMBER_WORDS})


def has_name(text: str, name: str) -> bool:
    """Whether a name stands in a text by itself; a file's may also stand at the end of a path."""
    return _stands(text, name, in_path="/" not in name)


def has_end_of_path(text: str, name: str) -> bool:
    """Whether a path is there without the folders it begins with."""
    parts = name.rstrip("/").split("/")
    if len(parts) == 1 or "." not in parts[-1]:
        return False
    ends = ["/".join(parts[at:]) for at in range(1, len(parts))]
    return any(_stands(text, end, in_path=False) for end in ends if end)


def _stands(text: str, name: str, *, in_path: bool) -> bool:
    start = text.find(name)
    while start >= 0:
        begins = _begins(text, start) or (in_path and text[start - 1] == "/")
        if begins and _ends(text, start + len(name)):
            return True
        start = text.find(name, start + 1)
    return False


def _numbers(text: str, names: set[str]) -> set[str]:
    """Figures outside of names, which are looked for whole."""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, " ")
    return {_plain(number) for number in _NUMBER.findall(text)}


def _plain(number: str) -> str:
    return _THOUSANDS.sub("", number).rstrip(",_")


def _trimmed(word: str) -> str:
    word = word.rstrip(_TRAILING).lstrip("'")
    return "" if word.lower() in _ABBREVIATIONS else word


def _is_prose(piece: str) -> bool:
    """Whether a quoted piece is a sentence rather than a value."""
    return len(piece.split()) > _FEW_WORDS


def _is_name(word: str) -> bool:
    bare = word.strip("-_./:")
    if not bare or (_MEASURE.fullmatch(word) and not _VERSION.search(word)):
        return False
    if word.startswith("-") and len(bare) == 1:
        return True
    if "/" in word:
        return not _is_choice(word)
    if word.startswith("--") or any(mark in bare for mark in ("_", "@", "::", "\\", "=")):
        return True
    if any(map(str.isdigit, word)):
        return any(map(str.isalpha, word)) or bool(_VERSION.search(word))
    return bool(_EXTENSION.search(word) or _CAMEL.search(bare))


def _is_choice(word: str) -> bool:
    """Whether it is prose such as `and/or`, `read/write`; `src/app` and `/v1/ping` are not."""
    first, _, second = word.partition("/")
    if not (first.isalpha() and second.isalpha() and word.islower()):
        return False
    return first not in _FOLDERS and max(len(first), len(second)) <= _LONGEST_PROSE_WORD


def _begins(text: str, start: int) -> bool:
    """Whether no longer word or path goes on before a place."""
    before, earlier = text[start - 1 : start], text[max(0, start - 2) : start - 1]
    if not start or not (_is_inner(before) or before in "-./"):
        return True
    return before in "./" and not (_is_inner(earlier) or earlier in "-./")


def _ends(text: str, end: int) -> bool:
    """Whether none goes on after it; `a.py` is not in `a.py.orig`, but a full stop may follow."""
    last, after, later = text[end - 1], text[end : end + 1], text[end + 1 : end + 2]
    if last == "/" or not after:
        return True
    if _is_inner(after):
        return not _is_inner(last)
    return not (after in ".-/:" and _is_inner(later) and _is_inner(last))


def _is_inner(character: str) -> bool:
    return character.isalnum() or character == "_"
