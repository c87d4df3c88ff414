"""The trail `index.jsonl`: one line for everything that happened to a blob.

Lines are only ever appended, each in one write. A session that is to be forgotten is overwritten in
place with dashes, so that nobody's line is lost while the file is rewritten.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

from brimline.fast import io, json
from brimline.store import layout

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT = 1
_ROTATE_AT_BYTES = 32 << 20
_REMOVALS = ("prune", "gc", "forget")
_LINE_START = '{"v":'


def note(home_dir: str, event: str, key: str, **fields: Any) -> None:
    """Add a line; what is told about has happened, so a failure to tell is not one of the deed."""
    at = layout.now_ns(home_dir) // 1_000_000 / 1_000
    line = {"v": FORMAT, "at": at, "event": event, "key": key} | fields
    with contextlib.suppress(OSError):
        io.append_line(layout.index(home_dir), json.dumps(line))


def lines(home_dir: str) -> Iterator[dict[str, Any]]:
    """Every line that can be read, oldest first."""
    for path in _paths(home_dir):
        try:
            text = layout.read_file(path).decode("utf-8", "replace")
        except OSError:
            continue
        for line in text.split("\n"):
            # A line that a full disk cut short has the next one glued to it.
            for part in line.split(_LINE_START)[1:]:
                try:
                    found = json.loads(_LINE_START + part)
                except ValueError:
                    continue
                if isinstance(found, dict):
                    yield found


def sessions_of_keys(home_dir: str) -> dict[str, dict[str, Any]]:
    """For every key the sessions that stored what is there, each with the last line about it."""
    found: dict[str, dict[str, Any]] = {}
    for line in lines(home_dir):
        key, session, event = line.get("key"), line.get("session"), line.get("event")
        if event in _REMOVALS:
            found.pop(str(key), None)
        elif event == "put" and isinstance(key, str) and is_session(session):
            found.setdefault(key, {})[str(session)] = line
    return found


def is_session(name: object) -> bool:
    """Whether this is the id of a session; a forgotten one is dashes only."""
    return isinstance(name, str) and bool(name.strip("-"))


def redact_session(home_dir: str, session: str) -> None:
    """Make a session's id unreadable in every line.

    Raises:
        OSError: a file cannot be written.
    """
    value = json.dumps(session).encode()
    pattern = re.compile(re.escape(b'"session":' + value))
    dashes = b'"' + b"-" * (len(value) - 2) + b'"'
    for path in _paths(home_dir):
        try:
            data = layout.read_file(path)
        except FileNotFoundError:
            continue
        places = [match.end() - len(value) for match in pattern.finditer(data)]
        if places:
            with open(path, "r+b", buffering=0) as file:
                for place in places:
                    file.seek(place)
                    file.write(dashes)


def rotate(home_dir: str) -> None:
    """Put a large trail away as `.old`; the one before that goes.

    Raises:
        OSError: it cannot be moved.
    """
    io.rotate(layout.index(home_dir), _ROTATE_AT_BYTES)


def _paths(home_dir: str) -> tuple[str, str]:
    return layout.index(home_dir) + ".old", layout.index(home_dir)
