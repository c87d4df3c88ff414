"""The spool of a session, read back: every event that a hook appended, once and in order."""

from __future__ import annotations

import os
from typing import Any

from brimline.fast import io, json
from brimline.state.session import SPOOL

# How every line that `SessionState.add_line` writes begins; no text within one can look so.
_START = '{"v":'
_LARGEST_TIME = 1e12


def stamp(folder: str) -> list[int]:
    """What tells whether a session's spool has changed: its size and time; empty without one."""
    found = [os.lstat(path) for path in _files_in(folder) if os.path.lexists(path)]
    sizes, times = [one.st_size for one in found], [one.st_mtime_ns for one in found]
    return [sum(sizes), max(times)] if found else []


def read(folder: str) -> tuple[list[dict[str, Any]], int]:
    """The events of a session, and how many stretches of its spool hold none.

    Raises:
        OSError: it cannot be read.
    """
    found: list[dict[str, Any]] = []
    damaged = 0
    for path in _files_in(folder):
        for line in io.read_file(path).split(b"\n"):
            events, unreadable = parse_line(line.decode("utf-8", "replace").strip())
            found += events
            damaged += unreadable
    return sorted(found, key=lambda event: event["at"]), damaged


def parse_line(text: str) -> tuple[list[dict[str, Any]], int]:
    """The events on one physical line, and the number of stretches that hold none.

    A line torn by a crash or a full disk has no end of its own, so the next event follows it on the
    same line: the events are looked for by how they begin.
    """
    event = _event(text)
    if event or not text:
        return [event] if event else [], 0
    before, *rest = text.split(_START)
    found = [_event(_START + part) for part in rest]
    return [event for event in found if event], found.count(None) + bool(before)


def _files_in(folder: str) -> list[str]:
    """A session's spool files, oldest first; the last version put those away that had grown."""
    names = [name for name in io.names_in(folder) if name.startswith("spool.")]
    return [f"{folder}/{name}" for name in sorted(names, key=lambda name: (name == SPOOL, name))]


def _event(text: str) -> dict[str, Any] | None:
    """What a text says, if that is one event with a point in time."""
    try:
        value, end = json.scan(text, 0)
    except ValueError:
        return None
    if end < len(text) or not isinstance(value, dict) or not isinstance(value.get("event"), str):
        return None
    at = value.get("at")
    is_time = isinstance(at, int | float) and not isinstance(at, bool) and abs(at) < _LARGEST_TIME
    return value if is_time else None
