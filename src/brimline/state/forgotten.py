"""What the user had forgotten: a line each in `memory/forgotten.jsonl`, so that it stays so.

A line has a `session`, a `project` or `before` (a moment), and `at`, when that was asked for. What
a session says later is taken in again; `cursor` is the end of its transcript at that time.
"""

from __future__ import annotations

from brimline.fast import io, json
from brimline.transcript import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1


def note(home_dir: str, at: float, about: dict[str, Any]) -> None:
    """Put on record what is forgotten from now on.

    Raises:
        OSError: it cannot be written.
    """
    line = {"v": FORMAT, "at": round(at, 3)} | about
    io.append_line(_path(home_dir), json.dumps(line))


def lines(home_dir: str) -> list[dict[str, Any]]:
    """All that was put on record."""
    try:
        raw = io.read_file(_path(home_dir)).decode("utf-8", "replace")
    except OSError:
        return []
    found = []
    for line in raw.splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        found += [told] if isinstance(told, dict) else []
    return found


def sessions(home_dir: str) -> dict[str, dict[str, Any]]:
    """The last line about each session."""
    return {told["session"]: told for told in lines(home_dir) if "session" in told}


def is_silent(gone: dict[str, dict[str, Any]], path: str) -> bool:
    """Whether a session's file has nothing new since the session was forgotten."""
    told = gone.get(find.session_id_of(path))
    return told is not None and find.modified(path) <= told["at"]


def _path(home_dir: str) -> str:
    return f"{home_dir}/memory/forgotten.jsonl"
