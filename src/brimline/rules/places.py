"""Where instruction files lie: the folders of the cascade and the names looked for in each."""

from __future__ import annotations

import os
from typing import NamedTuple

from brimline import clientsettings, fastio, paths
from brimline.rules.textfile import is_within

CLAUDE, LOCAL, AGENTS = "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"
_GITDIR = "gitdir: "
_MOST_GITFILE_BYTES = 4_096
_MOST_RULE_FILES = 500


class Project(NamedTuple):
    """A project and the folders around it, all resolved."""

    folder: str
    parents: tuple[str, ...]
    """Outermost first, without the root of the file system."""
    boundary: str
    """The repository, or the project itself: what its own files may import from."""
    passed_over: tuple[str, ...]
    """Parents whose project files the client leaves to the worktree inside them."""


def locate(project_dir: str) -> Project:
    """Look around a project."""
    folder = os.path.realpath(project_dir)
    parents = _ancestors(folder)
    top = next((each for each in [folder, *reversed(parents)] if _has_git(each)), folder)
    boundary = folder if is_within(user_home(), top) else top
    main = _main_repository(top)
    over = [each for each in parents if main and is_within(each, main) and not is_within(each, top)]
    return Project(folder, tuple(parents), boundary, tuple(over))


def user_home() -> str:
    """The user's home folder, resolved."""
    return os.path.realpath(fastio.env("HOME") or os.path.expanduser("~"))


def managed_folder(project_dir: str) -> str:
    """Where the client looks for what the organisation put on this machine."""
    return os.path.dirname(clientsettings.settings_files(project_dir)["managed"])


def client_folder(folder: str) -> str:
    """The client's own folder in a project."""
    return os.path.dirname(paths.project_config(folder))


def governed_folder(folder: str) -> str:
    """The folder whose work a file in this one is about: not the client's own inside it."""
    own = os.path.basename(client_folder(""))
    head, found, _ = f"{folder}/".rpartition(f"/{own}/")
    return head or "/" if found else folder


def private_file(project: Project) -> str:
    """The user's instructions for one project, beside its transcripts; the client knows none."""
    return f"{paths.project_transcripts(project.folder)}/{CLAUDE}"


def folders_to(project: Project, active: str) -> list[str]:
    """The folders below the project on the way to a file or folder, outermost first."""
    path = absolute(project, active)
    last = path if os.path.isdir(path) else os.path.dirname(path)
    if not is_within(last, project.folder) or last == project.folder:
        return []
    names = last[len(project.folder.rstrip("/")) + 1 :].split("/")
    steps = range(1, len(names) + 1)
    return [project.folder.rstrip("/") + "/" + "/".join(names[:step]) for step in steps]


def absolute(project: Project, active: str) -> str:
    """A path that a person or a tool named, from the project's folder, its folders resolved."""
    joined = os.path.normpath(os.path.join(project.folder, os.path.expanduser(active)))
    return os.path.join(os.path.realpath(os.path.dirname(joined)), os.path.basename(joined))


def rule_files(folder: str, inside: str | None) -> list[str]:
    """Every Markdown file in a folder of rules and below it, by name; links may lead in circles."""
    found: list[str] = []
    waiting, seen = [folder], set()
    while waiting and len(found) < _MOST_RULE_FILES:
        current = waiting.pop(0)
        real = os.path.realpath(current)
        if real in seen or (inside is not None and not is_within(real, inside)):
            continue
        seen.add(real)
        for name in _names(current):
            path = f"{current}/{name}"
            if os.path.isdir(path) and not name.endswith(".md"):
                waiting.append(path)
            elif name.endswith(".md"):
                found.append(path)
    return found[:_MOST_RULE_FILES]


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _ancestors(folder: str) -> list[str]:
    found: list[str] = []
    parent = os.path.dirname(folder)
    while parent != os.path.dirname(parent):
        found.insert(0, parent)
        parent = os.path.dirname(parent)
    return found


def _has_git(folder: str) -> bool:
    return os.path.lexists(f"{folder}/.git")


def _main_repository(top: str) -> str | None:
    """The repository around a worktree that lies inside it."""
    try:
        if not os.path.isfile(f"{top}/.git"):
            return None
        raw = fastio.read_file(f"{top}/.git", _MOST_GITFILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    inner = raw.partition("\n")[0].removeprefix(_GITDIR)
    main, found, _ = os.path.normpath(os.path.join(top, inner)).partition("/.git/worktrees/")
    return main if found and is_within(top, main) and main != top else None
