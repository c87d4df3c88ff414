"""Branch, head and changed files of a project, as far as git says so within a moment."""

from __future__ import annotations

import os
import subprocess
from typing import Any

_TIMEOUT_S = 0.5
_MOST_FILES = 50
# By the first character of a record: how many fields stand before its path.
_FIELDS_BEFORE_PATH = {"1": 8, "2": 9, "u": 10, "?": 1}
_RENAMED = "2"
_SHOWN_DIGITS = 12


def describe(project_dir: str) -> dict[str, Any]:
    """What git knows of a project; empty without git or outside a repository."""
    if not _is_in_repository(project_dir):
        return {}
    found: dict[str, Any] = {"branch": None, "head": None, "dirty": None}
    records = _status(project_dir)
    if records is not None:
        found["dirty"] = _changed(records)[:_MOST_FILES]
        for record in records:
            name, _, value = record.removeprefix("# ").partition(" ")
            if record.startswith("# branch.head"):
                found["branch"] = value
            elif name == "branch.oid" and not value.startswith("("):
                found["head"] = value[:_SHOWN_DIGITS]
    return found


def _is_in_repository(folder: str) -> bool:
    """Whether a folder or one above it holds a `.git`."""
    while folder:
        if os.path.exists(f"{folder}/.git"):
            return True
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
    return False


def _changed(records: list[str]) -> list[str]:
    """The paths of changed files; a renamed one is followed by the name it had."""
    found = []
    skip = False
    for record in records:
        if skip or record[:1] not in _FIELDS_BEFORE_PATH:
            skip = False
            continue
        found.append(record.split(" ", _FIELDS_BEFORE_PATH[record[0]])[-1])
        skip = record[0] == _RENAMED
    return found


def _status(project_dir: str) -> list[str] | None:
    # A repository may name a program that watches its files; it is not started for this.
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", project_dir]
    # Inside a hook of git these name another repository than the folder does.
    environment = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
    try:
        done = subprocess.run(
            [*command, "status", "--porcelain=v2", "--branch", "--untracked-files=normal", "-z"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            env=environment,
            check=False,
            timeout=_TIMEOUT_S,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    if done.returncode:
        return None
    return done.stdout.decode("utf-8", "replace").split("\0")
