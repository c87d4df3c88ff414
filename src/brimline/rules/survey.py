"""One walk through a project: the folders with instruction files, and which files there are."""

from __future__ import annotations

import os
from typing import NamedTuple

from brimline.rules import places

_MOST_FOLDERS = 20_000
_MOST_FILES = 300_000
_NAMES = frozenset({places.CLAUDE, places.LOCAL, places.AGENTS})
# Other people's code and what builds leave behind.
_SKIPPED = frozenset(
    (
        *(".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", "dist", "build"),
        *("target", "vendor", "coverage", ".next", ".nuxt", ".tox", ".mypy_cache", "worktrees"),
    )
)


class Survey(NamedTuple):
    """What a walk found."""

    folders: list[str]
    """Folders below the project with instructions of their own."""
    places: dict[str, list[str]]
    """For each name of a file or folder, the folders it lies in, with a slash before and after."""
    is_complete: bool

    def has(self, path: str) -> bool:
        """Whether some path in the project ends like this one."""
        folder, _, name = path.strip("/").rpartition("/")
        tail = f"/{folder}/" if folder else "/"
        return any(place.endswith(tail) for place in self.places.get(name, ()))


def survey(project_dir: str) -> Survey:
    """Walk through a project, within bounds."""
    top = os.path.realpath(project_dir)
    own = os.path.basename(places.client_folder(top))
    found = Survey([], {}, is_complete=True)
    waiting, folders, files = [top], 0, 0
    while waiting and folders < _MOST_FOLDERS and files < _MOST_FILES:
        folder = waiting.pop()
        names, below = _entries(folder)
        folders, files = folders + 1, files + len(names)
        inside = folder[len(top) :] + "/"
        for name in names:
            found.places.setdefault(name, []).append(inside)
        if folder != top and (names & _NAMES or _has_own(folder, own, below)):
            found.folders.append(folder)
        waiting += [f"{folder}/{name}" for name in below if name not in _SKIPPED and name != own]
    found.folders.sort()
    return found._replace(is_complete=not waiting)


def _entries(folder: str) -> tuple[set[str], list[str]]:
    names: set[str] = set()
    below: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.add(entry.name)
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
    except OSError:
        return set(), []
    return names, below


def _has_own(folder: str, own: str, below: list[str]) -> bool:
    """Whether the client's folder in it holds instructions."""
    if own not in below:
        return False
    names, inner = _entries(f"{folder}/{own}")
    return bool(names & _NAMES) or "rules" in inner
