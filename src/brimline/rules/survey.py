"""Every folder below a project that holds instruction files, found within bounds."""

from __future__ import annotations

import os

from brimline.rules import places

_MOST_FOLDERS = 20_000
_NAMES = frozenset({places.CLAUDE, places.LOCAL, places.AGENTS})
# Other people's code and what builds leave behind.
_SKIPPED = frozenset(
    (
        *(".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", "dist", "build"),
        *("target", "vendor", "coverage", ".next", ".nuxt", ".tox", ".mypy_cache", "worktrees"),
    )
)


def folders_below(project_dir: str) -> tuple[list[str], bool]:
    """The folders with instructions of their own, and whether all were looked at."""
    top = os.path.realpath(project_dir)
    own = os.path.basename(places.client_folder(top))
    found: list[str] = []
    waiting = [top]
    looked = 0
    while waiting and looked < _MOST_FOLDERS:
        folder = waiting.pop()
        looked += 1
        names, below = _entries(folder)
        if folder != top and (names & _NAMES or _has_own(folder, own, below)):
            found.append(folder)
        waiting += [f"{folder}/{name}" for name in below if name not in _SKIPPED and name != own]
    return sorted(found), not waiting


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
