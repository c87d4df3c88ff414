"""The names of the files that a rewrite keeps beside a session; none of them ends in `.jsonl`."""

from __future__ import annotations

import os
import re

_MARK = ".brimline-"
_OURS = re.compile(
    r"^(?P<session>.+)\.brimline-(?:lock|swap|swap-new|new|backup|old-\d+)$", re.DOTALL
)


def lock(session: str) -> str:
    """Held by the one command that may rewrite the session."""
    return f"{session}{_MARK}lock"


def journal(session: str) -> str:
    """Says which file is the session, and which ones were."""
    return f"{session}{_MARK}swap"


def new(session: str) -> str:
    """The copy that is being made."""
    return f"{session}{_MARK}new"


def unfinished_backup(session: str) -> str:
    """A backup that is being written."""
    return f"{session}{_MARK}backup"


def old(session: str, number: int) -> str:
    """A file that was the session until a rewrite."""
    return f"{session}{_MARK}old-{number}"


def next_old(session: str) -> str:
    """The first such name that is free."""
    number = 1
    while os.path.lexists(old(session, number)):
        number += 1
    return old(session, number)


def session_of(name: str) -> str | None:
    """The session that a file of ours belongs to, or None for any other file."""
    found = _OURS.match(name)
    return found["session"] if found else None


def is_old(name: str) -> bool:
    """Whether this is the name, without a folder, of a file that was a session."""
    is_ours = session_of(name) is not None and os.path.basename(name) == name
    return is_ours and name.rpartition(_MARK)[2].startswith("old-")
