"""Where a value lies on a line, so that it can be cut out and everything else stays as it is.

Positions are bytes. Text is looked at with one character per byte: the structure of JSON is ASCII,
so it is found in any encoding that keeps ASCII, broken bytes included. Names must be ASCII too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SPACE = " \t\r\n"
# Two texts of this length that begin and end alike, in one row, are one.
_LONG_CHARACTERS = 200
_END_CHARACTERS = 40
# The scanner's StopIteration leaves a generator as a RuntimeError.
_FAULTS = (StopIteration, ValueError, RuntimeError, IndexError)
_QUOTE = json.encoder.encode_basestring
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_scan: Any = json.JSONDecoder(strict=False).scan_once  # type: ignore[attr-defined]


class Span(NamedTuple):
    """From the first byte to the one after the last."""

    start: int
    end: int


def find_text(raw: bytes, start: int, path: Sequence[str | int], text: str) -> Span | None:
    """The text at the end of a path, in the object that begins at `start`, quotes included.

    None where another value is there: a name may occur twice in an object.
    """
    span = find(raw, start, path)
    if span is None or _has_ends(raw, span, text):
        return span
    return span if text_at(raw, span) == text else None


def _has_ends(raw: bytes, span: Span, text: str) -> bool:
    """Whether the bytes begin and end as the client would write the text, and are as many."""
    if len(text) < _LONG_CHARACTERS or span.end - span.start < len(text):
        return False
    try:
        first, last = quoted(text[:_END_CHARACTERS]), quoted(text[-_END_CHARACTERS:])
    except UnicodeEncodeError:
        return False
    return raw.startswith(first[:-1], span.start) and raw.endswith(last[1:], 0, span.end)


def find(raw: bytes, start: int, path: Sequence[str | int]) -> Span | None:
    """The value at the end of a path; of a name that occurs twice in an object, the first."""
    characters = raw.decode("latin-1")
    try:
        for step in path:
            if isinstance(step, int):
                start = next(at for index, at in _items(characters, start) if index == step)
            else:
                start = next(at for key, _, at in _members(characters, start) if key == step)
        return Span(start, _scan(characters, start)[1])
    except _FAULTS:
        return None


def find_member(raw: bytes, start: int, name: str) -> Span | None:
    """A member of the object at `start`, with the comma that goes when it goes.

    None where it is not there or occurs twice. An object within that has such a member too makes no
    difference.
    """
    characters = raw.decode("latin-1")
    try:
        found = list(_bounds(characters, start))
    except _FAULTS:
        return None
    places = [index for index, (key, _, _) in enumerate(found) if key == name]
    if len(places) != 1:
        return None
    index = places[0]
    if index:
        return Span(found[index - 1][2], found[index][2])
    return Span(found[0][1], found[1][1] if len(found) > 1 else found[0][2])


def find_before_end(raw: bytes, name: str, row: dict[str, Any]) -> Span | None:
    """The same without a look at the value, for a line that is nothing but `row`.

    None unless the name is on the line once, and what comes after the member is written as the
    client writes it: then the value can only lie in between.
    """
    quoted_name = b',"' + name.encode() + b'":'
    start = raw.find(quoted_name)
    if start < 0 or raw.find(quoted_name[1:-1], start + len(quoted_name)) >= 0:
        return None
    names = list(row)
    rest = {key: row[key] for key in names[names.index(name) + 1 :]}
    try:
        end = b"," + _ENCODE(rest)[1:].encode() + b"\n" if rest else b"}\n"
    except UnicodeEncodeError:
        return None
    return Span(start, len(raw) - len(end)) if raw.endswith(end) else None


def find_items(raw: bytes, start: int) -> list[Span]:
    """The items of the list at `start`; none where it is no list."""
    characters = raw.decode("latin-1")
    try:
        return [Span(at, _scan(characters, at)[1]) for _, at in _items(characters, start)]
    except _FAULTS:
        return []


def quoted(text: str) -> bytes:
    """A text as the client writes it.

    Raises:
        UnicodeEncodeError: it holds half a character, which the client writes in a way of its own.
    """
    return _QUOTE(text).encode()


def text_at(raw: bytes, span: Span) -> str | None:
    """The text at a place; None where there is something else, or broken bytes."""
    try:
        value, _ = _scan(raw[span.start : span.end].decode(), 0)
    except _FAULTS:
        return None
    return value if isinstance(value, str) else None


def _bounds(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """Name, start and end of every member."""
    for key, at, value in _members(text, start):
        yield key, at, _scan(text, value)[1]


def _members(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """Name, start and start of the value of every member."""
    position = _after_space(text, _expect(text, start, "{"))
    while text[position] != "}":
        key, end = _scan(text, position)
        value = _after_space(text, _expect(text, _after_space(text, end), ":"))
        yield key, position, value
        position = _after_space(text, _scan(text, value)[1])
        if text[position] != ",":
            break
        position = _after_space(text, position + 1)


def _items(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Number and start of every item."""
    position, index = _after_space(text, _expect(text, start, "[")), 0
    while text[position] != "]":
        yield index, position
        position, index = _after_space(text, _scan(text, position)[1]), index + 1
        if text[position] != ",":
            break
        position = _after_space(text, position + 1)


def _expect(text: str, position: int, character: str) -> int:
    if text[position] != character:
        raise ValueError("not the structure that was looked for")
    return position + 1


def _after_space(text: str, position: int) -> int:
    while text[position] in _SPACE:
        position += 1
    return position
