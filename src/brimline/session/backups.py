"""Finds backups: sessions that brimline made copies of, and what older versions put beside theirs.

An original that went on since its copy was made holds what the copy does not: it is shown, but
never deleted by us.
"""

from __future__ import annotations

import glob
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from brimline.fast import paths
from brimline.session import copies

if TYPE_CHECKING:
    from brimline.session.copies import Copy

_NAME = re.compile(r"^(?P<session>.+)\.backup\.\d{8}_\d{6}$", re.DOTALL)


class Backup(NamedTuple):
    """One backup: of a session beside it, or the session itself, where copies of it go on."""

    path: str
    session: str
    size_bytes: int
    made_at: float  # of an original, when its first copy was made
    copies: tuple[Copy, ...] = ()
    has_gone_on: bool = False  # whether there is something in it that no copy has


def beside(session: str) -> list[Backup]:
    """Return what older versions put beside one session, the newest first."""
    return _backups_among_files(glob.glob(f"{glob.escape(os.path.realpath(session))}.backup.*"))


def beside_all() -> list[Backup]:
    """Return what older versions put beside any session, subagents' included, the newest first."""
    projects = f"{glob.escape(paths.client_config_dir())}/projects"
    return _backups_among_files(
        glob.glob(f"{projects}/*/*.backup.*") + glob.glob(f"{projects}/*/*/subagents/*.backup.*")
    )


def originals(home_dir: str) -> list[Backup]:
    """Return the sessions on the disk that a living copy was made of, the newest copy first."""
    made: dict[str, list[Copy]] = {}
    for copy in copies.all_copies(home_dir):
        if os.path.isfile(copy.path) and os.path.isfile(copy.original):
            made.setdefault(copy.original, []).append(copy)
    found = []
    for path, of in made.items():
        size = os.path.getsize(path)
        has_gone_on = all(size > copy.bytes for copy in of)
        found.append(Backup(path, path, size, of[-1].at, tuple(of), has_gone_on))
    return found


def _backups_among_files(candidates: list[str]) -> list[Backup]:
    backups = []
    for path in candidates:
        match = _NAME.match(path)
        if match and os.path.isfile(path):
            status = os.stat(path)
            backups.append(Backup(path, match["session"], status.st_size, status.st_mtime))
    return sorted(backups, key=lambda backup: (-backup.made_at, backup.path))
