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
_EXTENSION = re.compile(r"[\w-]\.[A-Za-z][A-Za-z0-9]{0,9}$")
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
        inside = in_path and text[start - 1 : start] == "/"
        if (inside or _is_edge(text, start - 1, name[0])) and _is_end(
            text, start + len(name), name[-1]
        ):
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
    return len(piece.split()) > len("four")


def _is_name(word: str) -> bool:
    if len(word) < len("ab") or _NUMBER.fullmatch(word):
        return False
    bare = word.strip("-_./:")
    if word.startswith("--") or (word.startswith("-") and len(word) == len("-x")):
        return True
    if "/" in word:
        # `and/or`, `read/write` are prose; `src/app`, `/v1/ping`, `a/b.py` are not.
        parts = [part for part in word.split("/") if part]
        return not _is_choice(word, parts)
    if "_" in bare or "@" in bare or "::" in bare or "\\" in bare or "=" in bare:
        return len(bare) > len("ab")
    if any(map(str.isdigit, word)):
        return any(map(str.isalpha, word)) or bool(re.search(r"\d[.:]\d+[.:]\d", word))
    return bool(_EXTENSION.search(word) or _CAMEL.search(bare))


def _is_choice(word: str, parts: list[str]) -> bool:
    plain = all(part.isalpha() for part in parts)
    return (
        plain
        and len(parts) == len("ab")
        and not word.startswith(("/", "~", "."))
        and (
            not word.endswith("/")
            and word.islower()
            and max(map(len, parts)) <= len("otherwise")
            and parts[0] not in _FOLDERS
        )
    )


def _is_edge(text: str, at: int, first: str) -> bool:
    if at < 0:
        return True
    before = text[at]
    if not (first.isalnum() or first == "_"):
        return True
    return not (before.isalnum() or before in "_-") and not (
        before in "./" and at > 0 and (text[at - 1].isalnum() or text[at - 1] in "_-.")
    )


def _is_end(text: str, at: int, last: str) -> bool:
    if at >= len(text) or last == "/":
        return True
    after = text[at]
    if after.isalnum() or after == "_":
        return not (last.isalnum() or last == "_")
    # `a.py` is not in `a.py.orig`, nor `2.1` in `2.1.5`; a full stop ends a sentence.
    follows = at + 1 < len(text) and (text[at + 1].isalnum() or text[at + 1] == "_")
    return not (after in ".-/:" and follows and (last.isalnum() or last == "_"))
