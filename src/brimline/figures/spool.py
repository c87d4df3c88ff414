"""A session's spool: the events that its hooks and the gateway left, line by line."""

from __future__ import annotations

import operator
import os
from typing import Any

from brimline.fast import io, json, paths

_LARGEST_TIME = 1e12


def read_spooled_events(home_dir: str, session_id: str) -> list[dict[str, Any]]:
    """Every event of one session that is still on disk, oldest first."""
    return read_events_and_damage(paths.session_dir(home_dir, session_id))[0]


def stamp_of_folder(folder: str) -> list[int]:
    """What tells whether a session's spool has changed: its size and time; empty without one."""
    states = [os.lstat(path) for path in _spool_files(folder) if os.path.lexists(path)]
    sizes, times = [state.st_size for state in states], [state.st_mtime_ns for state in states]
    return [sum(sizes), max(times)] if states else []


def read_events_and_damage(folder: str) -> tuple[list[dict[str, Any]], int]:
    """The events of a session, and how many stretches of its spool hold none.

    Raises:
        OSError: it cannot be read.
    """
    events: list[dict[str, Any]] = []
    damaged = 0
    for path in _spool_files(folder):
        lines, unreadable = json.parse_and_count_damaged(io.read_file(path))
        sound_lines = [line for line in lines if _is_timed_event(line)]
        events += sound_lines
        damaged += unreadable + len(lines) - len(sound_lines)
    return sorted(events, key=operator.itemgetter("at")), damaged


def _spool_files(folder: str) -> list[str]:
    """A session's spool: what hooks left, and what the gateway left."""
    names = sorted(io.list_names(folder))
    return [f"{folder}/{name}" for name in names if name.startswith("spool.")]


def _is_timed_event(line: dict[str, Any]) -> bool:
    """Tell whether a line is an event with a point in time."""
    at = line.get("at")
    is_time = isinstance(at, int | float) and not isinstance(at, bool) and abs(at) < _LARGEST_TIME
    return is_time and isinstance(line.get("event"), str)
