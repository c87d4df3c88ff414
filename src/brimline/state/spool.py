"""The spool of a session: events that hooks append, read back without losing or doubling any.

A file is known by its first line, never by its name or inode: rotation renames it under the reader,
a deleted session folder may come back, and a copied data folder has other inodes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from typing import IO, Any, NamedTuple

from brimline import fastio

LIVE = "spool.jsonl"
ROTATE_AT_BYTES = 1 << 20
# A hook that opened the file before it was renamed may still append; no hook lives this long.
QUIET_S = 3_600.0
_ROTATED = re.compile(r"spool\.(\d+)\.jsonl")
_BATCH_BYTES = 256 << 10
# How every line that `SessionState.add_line` writes begins.
_START = '{"v":'
# Torn events on one line are few; a line with more places to try is garbage made to cost time.
_MOST_ATTEMPTS = 500
_LARGEST_TIME = 1e12
_DECODER = json.JSONDecoder(strict=False)


class Line(NamedTuple):
    """One event and the byte at which it begins in its file."""

    offset: int
    fields: dict[str, Any]


class Batch(NamedTuple):
    """Events in the order of the file, where to go on, and how many stretches were unreadable."""

    lines: list[Line]
    offset: int
    damaged: int


def read_from(path: str, offset: int, limit_bytes: int = _BATCH_BYTES) -> Batch:
    """The complete lines of a file after an offset, about `limit_bytes` of them.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        return read(file, offset, limit_bytes)


def read(
    file: IO[bytes], offset: int, limit_bytes: int = _BATCH_BYTES, *, final: bool = False
) -> Batch:
    """As `read_from`, of an open file; `final` also takes a last line that nobody will complete."""
    data = _read_lines(file, offset, limit_bytes, final=final)
    found: list[Line] = []
    damaged = 0
    position = offset
    for raw in _split(data):
        lines, unreadable = parse_line(raw, position)
        found += lines
        damaged += unreadable
        position += len(raw)
    return Batch(found, position, damaged)


def parse_line(raw: bytes, start: int = 0) -> tuple[list[Line], int]:
    """The events on one physical line, and the number of stretches that hold none.

    A line torn by a crash or a full disk has no end of its own, so the next event follows it on the
    same line: the events are looked for by how they begin.
    """
    text = raw.decode("utf-8", "surrogateescape")
    found: list[Line] = []
    damaged = 0
    position = _skip_blank(text, 0)
    while position < len(text):
        fields, end = _event_at(text, position)
        if fields is not None:
            before = len(text[:position].encode("utf-8", "surrogateescape"))
            found.append(Line(start + before, fields))
            position = _skip_blank(text, end)
            continue
        damaged += 1
        position = _next_event(text, position)
    return found, damaged


def identity(file: IO[bytes], *, final: bool = False) -> str | None:
    """A digest of the first line, which never changes; None until that line is complete.

    Two files of a session share it only if they begin with the same event in the same millisecond.
    """
    file.seek(0)
    first = file.readline()
    if not first or not (final or first.endswith(b"\n")):
        return None
    return hashlib.blake2b(first, digest_size=12).hexdigest()


def files_in(folder: str) -> list[str]:
    """The paths of a session's spool files, oldest first; the live one is last."""
    names = fastio.names_in(folder)
    rotated = sorted((int(match[1]), name) for name in names if (match := _ROTATED.fullmatch(name)))
    ordered = [name for _, name in rotated] + [LIVE] * (LIVE in names)
    return [f"{folder}/{name}" for name in ordered]


def is_closed(path: str, modified: float, now: float) -> bool:
    """Whether nobody will write to a file any more: rotated, and long ago, and untouched since.

    Both count: an old file may have been rotated just now, with a hook about to append to it.
    """
    match = _ROTATED.fullmatch(path.rpartition("/")[2])
    return match is not None and now - max(modified, int(match[1]) / 1e9) >= QUIET_S


def rotate(folder: str, limit_bytes: int = ROTATE_AT_BYTES) -> str | None:
    """Rename a spool that has outgrown the limit; None where nothing was done.

    The new name is reserved first, so that two processes that rotate at once cannot replace each
    other's file. Where the system does not let an open file be renamed, it just grows on.
    """
    live = f"{folder}/{LIVE}"
    try:
        if os.path.getsize(live) <= limit_bytes:
            return None
        target = _reserve(folder)
    except OSError:
        return None
    try:
        os.replace(live, target)
    except OSError:
        fastio.remove(target)
        return None
    return target


def _reserve(folder: str) -> str:
    number = time.time_ns()  # when it was rotated; and so a name is never used again
    while not fastio.create_exclusively(f"{folder}/spool.{number}.jsonl", b""):
        number += 1
    return f"{folder}/spool.{number}.jsonl"


def _read_lines(file: IO[bytes], offset: int, limit_bytes: int, *, final: bool) -> bytes:
    """Whole lines only; a line longer than the limit is read to its end."""
    file.seek(offset)
    data = file.read(limit_bytes)
    end = data.rfind(b"\n") + 1
    while not end:
        more = file.read(limit_bytes)
        if not more:
            return data if final else b""
        cut = more.find(b"\n") + 1
        data += more[:cut] if cut else more
        end = len(data) if cut else 0
    if final and end < len(data) < limit_bytes:
        return data
    return data[:end]


def _split(data: bytes) -> list[bytes]:
    """Lines end in a newline only: `splitlines` would also part them at a carriage return."""
    *whole, rest = data.split(b"\n")
    return [line + b"\n" for line in whole] + [rest] * bool(rest)


def _event_at(text: str, position: int) -> tuple[dict[str, Any] | None, int]:
    try:
        value, end = _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError):
        return None, position
    return (value, end) if is_event(value) else (None, position)


def is_event(value: Any) -> bool:
    """Whether a JSON value is a line of ours: it names an event and a point in time."""
    if not isinstance(value, dict) or not isinstance(value.get("event"), str):
        return False
    at = value.get("at")
    return isinstance(at, int | float) and not isinstance(at, bool) and abs(at) < _LARGEST_TIME


def _next_event(text: str, position: int) -> int:
    """Where the next event begins; the end of the line where none is found."""
    found = position
    for _ in range(_MOST_ATTEMPTS):
        found = text.find(_START, found + 1)
        if found == -1:
            break
        if _event_at(text, found)[0] is not None:
            return found
    return len(text)


def _skip_blank(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position
