"""Branch, head and changed files of a project, as far as git says so within a moment."""

from __future__ import annotations

import os
import subprocess
from typing import Any

_TIMEOUT_S = 0.5
_MOST_FILES = 50


def describe(project_dir: str) -> dict[str, Any]:
    """What git knows of a project; empty without git or outside a repository."""
    top = _git_dir(project_dir)
    if top is None:
        return {}
    found: dict[str, Any] = {"branch": None, "head": None, "dirty": None}
    lines = _status(project_dir)
    if lines is None:
        return found
    for line in lines:
        if line.startswith("# branch.head "):
            found["branch"] = line.removeprefix("# branch.head ")
        elif line.startswith("# branch.oid "):
            found["head"] = line.removeprefix("# branch.oid ")[:12]
    changed = [line.rpartition(" ")[2] for line in lines if line and not line.startswith("#")]
    found["dirty"] = changed[:_MOST_FILES]
    return found


def _git_dir(folder: str) -> str | None:
    """The nearest folder upwards that holds a `.git`."""
    while folder:
        if os.path.exists(f"{folder}/.git"):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return None


def _status(project_dir: str) -> list[str] | None:
    # A repository may name a program that watches its files; it is not started for this.
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", project_dir]
    try:
        done = subprocess.run(
            [*command, "status", "--porcelain=v2", "--branch", "--untracked-files=normal"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    if done.returncode:
        return None
    return done.stdout.decode("utf-8", "replace").splitlines()
