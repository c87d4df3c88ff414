"""Finds session files: the newest of a project, or the one with a given id."""

from __future__ import annotations

import glob
import os

from brimline import paths
from brimline.errors import SessionError


def newest(project_dir: str) -> str:
    """The session of a project that was written last.

    Raises:
        SessionError: the project has none.
    """
    folder = paths.project_transcripts(project_dir)
    found = [path for path in _sessions(folder) if os.path.isfile(path)]
    if not found:
        raise SessionError(
            f"no session of this project was found in {folder}: name one with --transcript FILE"
        )
    return max(found, key=_modified)


def by_id(session_id: str) -> str:
    """The session with an id, in whichever project.

    Raises:
        SessionError: there is none.
    """
    name = paths.safe_session_id(session_id)
    if name != session_id:
        raise SessionError(f"{session_id!r} is no session id")
    pattern = f"{glob.escape(paths.client_config_dir())}/projects/*/{name}.jsonl"
    found = glob.glob(pattern)
    if not found:
        raise SessionError(f"no session {session_id} was found under {paths.client_config_dir()}")
    return max(found, key=_modified)


def session_id_of(path: str) -> str:
    """The id in a session file's name."""
    return os.path.basename(path).removesuffix(".jsonl")


def _sessions(folder: str) -> list[str]:
    return glob.glob(f"{glob.escape(folder)}/*.jsonl")


def _modified(path: str) -> float:
    try:
        return os.path.getmtime(path)
    except OSError:
        return 0.0
