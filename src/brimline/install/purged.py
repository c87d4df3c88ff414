"""Sessions that refer to the data folder, put back before the data is deleted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from brimline.errors import BrimlineError
from brimline.session import restore
from brimline.session.disk import InUseError

if TYPE_CHECKING:
    from brimline.session.restore import Restoration

_KEY = re.compile(rb"sha256:[0-9a-f]{64}")


class Found(NamedTuple):
    """What the notes on purges and repairs lead to."""

    keys: dict[str, set[str]]
    """The session files on disk, each with the stored content that it may refer to."""
    problems: list[str]
    """A sentence for each note that cannot be read."""


class PutBack(NamedTuple):
    """What became of them."""

    restored: list[str]
    problems: list[str]
    """A sentence for each that still needs the data."""


def sessions(home_dir: str) -> Found:
    """The sessions that were purged or repaired, wherever they are now, and copies of them."""
    keys: dict[str, set[str]] = {}
    problems: list[str] = []
    for name in restore.noted_sessions(home_dir):
        notes, damaged = restore.notes(home_dir, name)
        problems += [str(problem) for problem in damaged]
        for note in notes:
            for path in note.places():
                keys.setdefault(path, set()).update(note.keys)
    return Found(dict(sorted(keys.items())), problems)


def put_back(found: Found, home_dir: str) -> PutBack:
    """Restore sessions as far as possible; the notes stay, as another copy may need them."""
    restored, problems = [], list(found.problems)
    for path, keys in found.keys.items():
        try:
            plan = restore.plan(path, home_dir)
            if plan.undone:
                restore.restore(plan, forgets=False)
                restored.append(path)
            reason = _still_needs(path, plan, keys)
        except InUseError:
            reason = "it is in use: end its client, then run this again"
        except (BrimlineError, OSError) as error:
            reason = str(error)
        if reason is not None:
            problems.append(f"{path} could not be restored: {reason}")
    return PutBack(restored, problems)


def _still_needs(path: str, plan: Restoration, keys: set[str]) -> str | None:
    """Why a session would miss the data although it was put back as far as possible."""
    if plan.problems:
        return str(plan.problems[0])
    with open(path, "rb") as file:
        left = {key.decode() for line in file for key in _KEY.findall(line)} & keys
    return f"it still refers to {len(left):,} stored results" if left else None
