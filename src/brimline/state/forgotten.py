"""What the user asked to forget, in `memory/forgotten.jsonl`, so that it is not indexed again.

A line has a `session`, a `project` or `before` (a moment), and `at`, when that was asked for. What
a session says later is taken in again; `cursor` is the end of its transcript at that time.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.errors import StateError
from brimline.fast import io, json
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_FILE = "/memory/forgotten.jsonl"


class Asked(NamedTuple):
    """What is to be forgotten: some sessions, and those of a project or from before a moment."""

    sessions: tuple[str, ...]
    project: str = ""
    before: float = 0.0
    promised: Callable[[str], Collection[str]] = lambda _: ()
    """Keys that rooms promise in sessions other than one."""


def note_forgotten(home_dir: str, at: float, about: dict[str, Any]) -> None:
    """Put on record what is forgotten from now on.

    Raises:
        OSError: it cannot be written.
    """
    json.append_line(home_dir + _FILE, {"at": round(at, 3)} | about)


def read_forgotten_lines(home_dir: str) -> list[dict[str, Any]]:
    """All that was put on record.

    Raises:
        OSError: it is there and cannot be read.
    """
    return json.read_lines(home_dir + _FILE)


def forgotten_line_by_session(home_dir: str) -> dict[str, dict[str, Any]]:
    """The last line about each session."""
    return {line["session"]: line for line in read_forgotten_lines(home_dir) if "session" in line}


def is_forgotten_file(gone: dict[str, dict[str, Any]], path: str) -> bool:
    """Tell whether a session's file has nothing new since the session was forgotten."""
    line = gone.get(find.session_id_of(path))
    return line is not None and find.modified_at(path) <= line["at"]


def delete_folder(folder: str, *, dry_run: bool) -> int:
    """Delete a folder with all that is in it; how many files that is, or would be.

    Raises:
        StateError: a link is in its place.
        OSError: something in it cannot be deleted.
    """
    names = io.list_names(folder)
    if not dry_run:
        if os.path.islink(folder):
            raise StateError(f"{folder} is a link; delete what it leads to yourself")
        shutil.rmtree(folder, ignore_errors=not os.path.isdir(folder))
    return len(names)
