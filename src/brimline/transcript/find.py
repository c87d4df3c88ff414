"""Finds session files: the newest of a project, or the one with a given id."""

from __future__ import annotations

import glob
import os

from brimline import fastjson, paths
from brimline.errors import SessionError

_LOOK_BYTES = 1 << 20
_SHOWN_IDS = 5


def newest(project_dir: str) -> str:
    """The session of a project that was written last.

    Raises:
        SessionError: the project has none.
    """
    place = project_dir.rstrip("/") or "/"
    while place:
        folder = paths.project_transcripts(place)
        found = [path for path in _sessions(folder) if os.path.isfile(path)]
        if found:
            return max(found, key=_modified)
        place = place.rpartition("/")[0]  # the client may have been started further up
    folder = paths.project_transcripts(project_dir)
    raise SessionError(f"no session of this project was found in {folder}: name its file")


def by_id(session_id: str) -> str:
    """The session with an id, or the only one whose id begins so, in whichever project.

    Raises:
        SessionError: there is none, or the beginning is that of several.
    """
    name = paths.safe_session_id(session_id)
    if name != session_id:
        raise SessionError(f"{session_id!r} is no session id")
    projects = f"{glob.escape(paths.client_config_dir())}/projects/*"
    found = glob.glob(f"{projects}/{name}.jsonl") or glob.glob(f"{projects}/{name}*.jsonl")
    ids = sorted({session_id_of(path) for path in found})
    if len(ids) > 1:
        shown = ", ".join(ids[:_SHOWN_IDS]) + (", …" if len(ids) > _SHOWN_IDS else "")
        raise SessionError(f"{session_id} is the beginning of {len(ids)} sessions: {shown}")
    if not found:
        raise SessionError(f"no session {session_id} was found under {paths.client_config_dir()}")
    return max(found, key=_modified)


def require_transcript(path: str) -> None:
    """Refuse a file that is something else than a session; an empty one may still become one.

    Raises:
        SessionError: nothing at its beginning is a row.
    """
    if not os.path.isfile(path):
        return  # whoever reads it says what is wrong
    try:
        with open(path, "rb") as file:
            start = file.read(_LOOK_BYTES)
    except OSError:
        return
    lines = start.split(b"\n")
    whole = lines if len(start) < _LOOK_BYTES else lines[:-1]
    if not start.strip() or (not whole and start.lstrip().startswith(b"{")):
        return
    found = [row for line in whole for row in fastjson.loads_all(line.decode("utf-8", "replace"))]
    if not any(isinstance(row, dict) for row in found):
        raise SessionError(f"{path} is not a session's transcript")


def project_of(path: str) -> str | None:
    """The folder in which a session began; None where its file does not tell."""
    try:
        with open(path, "rb") as file:
            lines = file.read(_LOOK_BYTES).split(b"\n")
    except OSError:
        return None
    for line in lines:
        for row in fastjson.loads_all(line.decode("utf-8", "replace")):
            folder = row.get("cwd") if isinstance(row, dict) else None
            if isinstance(folder, str) and folder:
                return folder
    return None


def session_id_of(path: str) -> str:
    """The id in a session file's name."""
    return os.path.basename(path).removesuffix(".jsonl")


def _sessions(folder: str) -> list[str]:
    """The sessions in a folder; older clients keep those of subagents beside them."""
    found = glob.glob(f"{glob.escape(folder)}/*.jsonl")
    return [path for path in found if not os.path.basename(path).startswith("agent-")]


def _modified(path: str) -> float:
    try:
        return os.path.getmtime(path)
    except OSError:
        return 0.0
