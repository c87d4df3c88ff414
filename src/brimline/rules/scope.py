"""The `paths:` of a rule file: which files it holds for, as the client matches them. Pure.

Patterns are those of `.gitignore`, with braces, and regardless of case.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_KEY = re.compile(r"paths[ \t]*:(?:[ \t]+(.*))?$")
_LIST_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)$")
_BRACES = re.compile(r"\{([^{}]*)\}")
_NOTE = re.compile(r"[ \t]+#.*$")
_STARS = re.compile(r"\*+")
_MOST_STARS = 3
_MOST_PATTERNS = 200
_LONGEST_PATTERN = 300


def patterns(front: Iterable[str]) -> tuple[str, ...]:
    """The patterns in a file's front matter; none where it holds for every file."""
    found: list[str] = []
    for raw in _values(list(front)):
        found += [each for part in _split(raw) for each in _expanded(part)]
    cleaned = [_cleaned(each) for each in found[:_MOST_PATTERNS]]
    kept = [each for each in cleaned if each and _is_cheap(each)]
    return () if all(each == "**" for each in kept) else tuple(kept)


def matches(wanted: Iterable[str], path: str) -> bool:
    """Whether a path, from the folder the rule belongs to, is meant; the last pattern decides."""
    meant = False
    for pattern in wanted:
        negated = pattern.startswith("!")
        if _expression(pattern[negated:]).search(path.lower()):
            meant = not negated
    return meant


def matches_whole(pattern: str, path: str) -> bool:
    """Whether a pattern names exactly this path, given without its leading slash."""
    if not _is_cheap(pattern):
        return False
    return any(_expression(each).fullmatch(path.lower()) for each in _expanded(pattern))


def _is_cheap(pattern: str) -> bool:
    """Whether it is short and has few wildcards: each further one multiplies the search."""
    parts = pattern.split("/")
    return (
        len(pattern) <= _LONGEST_PATTERN
        and parts.count("**") <= _MOST_STARS
        and all(len(_STARS.findall(part)) <= _MOST_STARS for part in parts)
    )


def _values(front: list[str]) -> list[str]:
    """The raw texts behind `paths:`: on its line, in brackets, or as a list below it."""
    for at, row in enumerate(front):
        key = _KEY.match(row.rstrip())
        if not key:
            continue
        value = _unquoted_note(key[1] or "")
        if value:
            return _listed(value)
        below = []
        for row_below in front[at + 1 :]:
            item = _LIST_ITEM.match(row_below)
            if item:
                below.append(_unquoted(_unquoted_note(item[1])))
            elif row_below.strip() and not row_below.strip().startswith("#"):
                break
        return below
    return []


def _listed(value: str) -> list[str]:
    if value.startswith("[") and value.endswith("]"):
        return [_unquoted(part) for part in _split(value[1:-1])]
    return [_unquoted(value)]


def _split(value: str) -> list[str]:
    """Divide at commas that are not inside braces or quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for at, character in enumerate(value):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "{}":
            depth = max(0, depth + (1 if character == "{" else -1))
        elif character == "," and not depth:
            parts.append(value[start:at].strip())
            start = at + 1
    return [part for part in [*parts, value[start:].strip()] if part]


def _expanded(pattern: str) -> list[str]:
    """One pattern for each choice in braces."""
    done: list[str] = []
    waiting = [pattern]
    while waiting and len(done) + len(waiting) <= _MOST_PATTERNS:
        each = waiting.pop(0)
        braces = _BRACES.search(each)
        if not braces:
            done.append(each)
            continue
        head, tail = each[: braces.start()], each[braces.end() :]
        waiting += [head + choice.strip() + tail for choice in braces[1].split(",")]
    return done


def _cleaned(pattern: str) -> str:
    return pattern.strip().removesuffix("/**")


def _unquoted_note(value: str) -> str:
    """The value without a remark behind it."""
    value = value.strip()
    return value if value.startswith("#") else _NOTE.sub("", value)


def _unquoted(value: str) -> str:
    value = value.strip()
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _expression(pattern: str) -> re.Pattern[str]:
    """A pattern of `.gitignore` as a regular expression on a whole path."""
    anchored = "/" in pattern.rstrip("/")
    only_folders = pattern.endswith("/")
    body = "".join(_pieces(pattern.strip("/").lower()))
    start = "^" if anchored else "(?:^|/)"
    end = "/" if only_folders else "(?:/|$)"
    try:
        return re.compile(start + body + end)
    except re.error:
        return re.compile(r"(?!)")


def _pieces(pattern: str) -> list[str]:
    pieces = []
    at = 0
    while at < len(pattern):
        rest = pattern[at:]
        if rest.startswith("**/"):
            pieces.append("(?:.*/)?")
            at += 3
        elif rest.startswith("/**") and len(rest) == len("/**"):
            pieces.append("/.*")
            at += 3
        elif rest[0] == "*":
            while at < len(pattern) and pattern[at] == "*":
                at += 1
            pieces.append("[^/]*")
        else:
            piece, length = _piece(rest)
            pieces.append(piece)
            at += length
    return pieces


def _piece(rest: str) -> tuple[str, int]:
    """What the first character of the rest stands for, and how many characters say it."""
    if rest[0] == "?":
        return "[^/]", 1
    if rest[0] == "\\" and len(rest) > 1:
        return re.escape(rest[1]), 2
    end = rest.find("]", 2) if rest[0] == "[" else -1
    if end > 0:
        inner = rest[1:end].replace("\\", "\\\\").replace("[", "\\[")
        return "[" + ("^" + inner[1:] if inner[0] in "!^" else inner) + "]", end + 1
    return re.escape(rest[0]), 1
