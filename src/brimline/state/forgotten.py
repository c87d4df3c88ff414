"""What the user had forgotten: a line each in `memory/forgotten.jsonl`, so that it stays so.

A line has a `session`, a `project` or `before` (a moment), and `at`, when that was asked for. What
a session says later is taken in again; `cursor` is the end of its transcript at that time.
"""

from __future__ import annotations

from brimline.fast import json
from brimline.transcript import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def note(home_dir: str, at: float, about: dict[str, Any]) -> None:
    """Put on record what is forgotten from now on.

    Raises:
        OSError: it cannot be written.
    """
    json.append_line(_path(home_dir), {"at": round(at, 3)} | about)


def lines(home_dir: str) -> list[dict[str, Any]]:
    """All that was put on record.

    Raises:
        OSError: it is there and cannot be read.
    """
    return json.read_lines(_path(home_dir))


def sessions(home_dir: str) -> dict[str, dict[str, Any]]:
    """The last line about each session."""
    return {line["session"]: line for line in lines(home_dir) if "session" in line}


def is_silent(gone: dict[str, dict[str, Any]], path: str) -> bool:
    """Whether a session's file has nothing new since the session was forgotten."""
    line = gone.get(find.session_id_of(path))
    return line is not None and find.modified(path) <= line["at"]


def _path(home_dir: str) -> str:
    return f"{home_dir}/memory/forgotten.jsonl"
