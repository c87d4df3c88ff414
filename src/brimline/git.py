"""Asks git about a project without running anything of it.

A repository may name programs (filters, a file-system monitor, hooks) that `git status` would
start, and may hide a bare repository with such a configuration inside a clone. So only plumbing is
used that compares what is recorded of files, and bare repositories are not looked for.
"""

from __future__ import annotations

import os
import subprocess
from typing import Any

_HOOK_TIMEOUT_S = 0.5
_MOST_FILES = 50
_SAFE = (
    *("--no-optional-locks", "-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false"),
    *("-c", "core.untrackedCache=false", "-c", "diff.external=", "-c", "core.attributesFile="),
    *("-c", "protocol.allow=never", "-c", "core.hooksPath="),
)
_CHANGED = ("diff-files", "--name-only", "--ignore-submodules=all", "--no-ext-diff", "-z")
_UNKNOWN = ("ls-files", "--others", "--exclude-standard", "--directory", "-z")


def describe(project_dir: str) -> dict[str, Any]:
    """Branch, head and changed files; empty without git or outside a repository."""
    if not _is_in_repository(project_dir):
        return {}
    head = ask(project_dir, ("symbolic-ref", "--short", "-q", "HEAD"))
    commit = ask(project_dir, ("rev-parse", "--short=12", "-q", "--verify", "HEAD"))
    if head is None and commit is None:
        return {}
    names = [ask(project_dir, command) or "" for command in (_CHANGED, _UNKNOWN)]
    dirty = [name for name in "".join(names).split("\0") if name]
    return {
        "branch": (head or "").strip() or None,
        "head": (commit or "").strip() or None,
        "dirty": dirty[:_MOST_FILES],
    }


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


def ask(folder: str, command: tuple[str, ...], *, timeout_s: float = _HOOK_TIMEOUT_S) -> str | None:
    """What git answers; None where it refuses, is not there or takes too long."""
    # Inside a hook of git these name another repository than the folder does.
    environment = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
    environment |= {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", *_SAFE, "-C", folder, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            env=environment,
            check=False,
            timeout=timeout_s,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return None if done.returncode else done.stdout.decode("utf-8", "replace")
