"""Starts the programs of others: those in fixed places alone, and git without running a project's.

A project can set PATH, so programs are found where systems keep them. What a person starts in a
terminal of their own, such as `claude` for `brimline run`, is theirs to find, and their own status
line runs as the client would run it.

A repository may name programs (filters, a file-system monitor, hooks) that `git status` would
start, and may hide a bare repository with such a configuration inside a clone. So only plumbing is
used that compares what is recorded of files, bare repositories are not looked for, and filters are
switched off by name: git reads a file's content, through its filter, where the index is as old as
the file.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

PLACES = (
    *("/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin", "/opt/local/bin"),
    "/run/current-system/sw/bin",
)
_HOOK_TIMEOUT_S = 0.5
_MOST_FILES = 50
_SAFE = (
    *("--no-optional-locks", "-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false"),
    *("-c", "core.untrackedCache=false", "-c", "diff.external=", "-c", "core.attributesFile="),
    *("-c", "core.hooksPath="),
)
# The settings in a home, which a project can name too, may have a trace written to any file. On
# protocols a variable is stronger than a repository, and older versions have no other way.
_VARIABLES = {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "none"}
_VARIABLES |= dict.fromkeys(("GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE2_PERF"), "0")
_CHANGED = ("diff-files", "--name-only", "--ignore-submodules=all", "--no-ext-diff", "-z")
_UNKNOWN = ("ls-files", "--others", "--exclude-standard", "--directory", "-z")


def path_of(name: str) -> str:
    """The first program of that name in those places; without one, a path that starts nothing."""
    found = [path for place in PLACES if os.access(path := f"{place}/{name}", os.X_OK)]
    return next(iter(found), f"{PLACES[0]}/{name}")


def make_environment(*kept: str) -> dict[str, str]:
    """Make what such a program gets: those places as its PATH, and what is kept of ours."""
    own = {name: os.environ[name] for name in kept if name in os.environ}
    return {"PATH": ":".join(PLACES), "LC_ALL": "C"} | own


def branch_commit_and_changed_files(project_dir: str) -> dict[str, Any]:
    """Branch, head and changed files; empty without git or outside a repository."""
    if not is_in_repository(project_dir):
        return {}
    head = run_git(project_dir, ("symbolic-ref", "--short", "-q", "HEAD"))
    commit = run_git(project_dir, ("rev-parse", "--short=12", "-q", "--verify", "HEAD"))
    if head is None and commit is None:
        return {}
    return {
        "branch": (head or "").strip() or None,
        "head": (commit or "").strip() or None,
        "dirty": _changed_and_untracked_files(project_dir)[:_MOST_FILES],
    }


def _changed_and_untracked_files(project_dir: str) -> list[str]:
    """Files that were changed, as far as that can be told without a filter, and unknown ones."""
    off = _options_switching_filters_off(project_dir)
    changed = None if off is None else run_git(project_dir, _CHANGED, off)
    unknown = run_git(project_dir, _UNKNOWN)
    return [name for name in f"{changed or ''}{unknown or ''}".split("\0") if name]


def _options_switching_filters_off(project_dir: str) -> tuple[str, ...] | None:
    """Options that switch off every filter that is configured; None where that cannot be done."""
    listed = run_git(project_dir, ("config", "--list", "--name-only", "-z"))
    if listed is None:
        return None
    keys = [key.rpartition(".")[0] for key in listed.split("\0") if key.startswith("filter.")]
    if any("=" in key for key in keys):
        return None  # such a name cannot be given as an option
    settings = ("clean=", "smudge=", "process=", "required=false")
    return tuple(
        word for key in dict.fromkeys(keys) for each in settings for word in ("-c", f"{key}.{each}")
    )


def is_in_repository(folder: str) -> bool:
    """Tell whether a folder or one above it holds a `.git`."""
    places = (Path(folder), *Path(folder).parents)
    return any(os.path.exists(place / ".git") for place in places)


def run_git(
    folder: str,
    command: tuple[str, ...],
    options: tuple[str, ...] = (),
    *,
    timeout_s: float = _HOOK_TIMEOUT_S,
) -> str | None:
    """Return what git answers; None where it refuses, is not there or takes too long."""
    try:
        done = subprocess.run(
            [path_of("git"), *_SAFE, *options, "-C", folder, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            env=make_environment("HOME", "XDG_CONFIG_HOME") | _VARIABLES,
            check=False,
            timeout=timeout_s,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return None if done.returncode else done.stdout.decode("utf-8", "replace")
