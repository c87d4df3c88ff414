"""Which session a running client is in now: after `/clear` it is no longer the one it began with.

What a client starts (an MCP server, for example) is told the first session only. The rows of later
ones name that first session beside their own.
"""

from __future__ import annotations

import os

from brimline.errors import SessionError
from brimline.transcript import find, tail

_ROW_KEY = "session_id"
_LOOK_BYTES = 4 << 20
_MOST_FILES = 20


def current(first_session: str) -> str:
    """The latest session of the client that began with `first_session`, maybe that one itself."""
    try:
        own = find.by_id(first_session)
        began = os.path.getmtime(own)
        folder = os.path.dirname(own)
        with os.scandir(folder) as entries:
            later = [
                (entry.stat().st_mtime, entry.path)
                for entry in entries
                if entry.name.endswith(".jsonl") and entry.path != own
            ]
    except (SessionError, OSError):
        return first_session
    for changed, path in sorted(later, reverse=True)[:_MOST_FILES]:
        if changed >= began and _continues(path, first_session):
            return find.session_id_of(path)
    return first_session


def _continues(path: str, first_session: str) -> bool:
    mark = f'"{_ROW_KEY}":"{first_session}"'.encode("utf-8", "replace")
    try:
        rows = tail.rows_backward(path, mark, _LOOK_BYTES)
        return any(isinstance(row, dict) and row.get(_ROW_KEY) == first_session for row in rows)
    except OSError:
        return False
