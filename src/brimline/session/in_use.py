"""Tells whether a session is in use: its client runs, or something was written a moment ago.

A hook notes the client's process in `sessions/<id>/client`; clients from 2.1 on also keep a file
per process under their own configuration folder. A process counts as that client only if it began
before it was noted: its number may belong to another program by now.
"""

from __future__ import annotations

import calendar
import json
import os
import subprocess
import time
from typing import NamedTuple

from brimline.fast import io, paths
from brimline.session.disk import InUseError

FORMAT = 1
RECENT_S = 30.0
_SLACK_S = 2.0
_PS_TIMEOUT_S = 5


class Client(NamedTuple):
    """A process that had a session open at some time."""

    pid: int
    session_id: str
    seen_at: float


def note_client(home_dir: str, session_id: str, pid: int) -> None:
    """Keep which process runs a session; for the hook at its start."""
    document = {"v": FORMAT, "pid": pid, "at": round(time.time(), 3)}
    io.replace_file(_note(home_dir, session_id), json.dumps(document).encode())


def forget_client(home_dir: str, session_id: str) -> None:
    """A process left a session and goes on with another, as after `/clear`."""
    io.remove(_note(home_dir, session_id))


def require_idle(session: str, home_dir: str) -> None:
    """Refuse a session in use.

    Raises:
        InUseError: with the reason.
    """
    reason = why(session, home_dir)
    if reason is not None:
        raise InUseError(
            f"{session} is in use: {reason}; a client does not notice such a change before the"
            " session is resumed, so end it first; nothing was changed"
        )


def why(session: str, home_dir: str) -> str | None:
    """The reason why a session counts as in use; None where it is idle."""
    ids = _session_ids(session)
    noted = [client for name in ids for client in _client_in(_note(home_dir, name), name)]
    folders = _registry_folders(session)
    client = _running(ids, noted, _registered_in(folders))
    if client:
        return f"its client, process {client.pid}, still runs"
    if noted and folders:
        return None  # the client that wrote it is gone, and any other would be registered
    age_s = time.time() - os.stat(session).st_mtime
    if abs(age_s) < RECENT_S:
        return f"it was written {max(0, round(age_s))} s ago"
    return None


def _running(ids: list[str], noted: list[Client], registered: list[Client]) -> Client | None:
    """The client that has a session open and no other one."""
    elsewhere = {client.pid for client in registered if client.session_id not in ids}
    here = [*noted, *(client for client in registered if client.session_id in ids)]
    return next((one for one in here if one.pid not in elsewhere and _is_running(one)), None)


def _registered_in(folders: list[str]) -> list[Client]:
    """The clients that say by themselves that they run."""
    files = [f"{folder}/{name}" for folder in folders for name in io.names_in(folder)]
    return [client for file in files if file.endswith(".json") for client in _client_in(file)]


def _note(home_dir: str, session_id: str) -> str:
    return f"{paths.session_dir(home_dir, session_id)}/client"


def _session_ids(session: str) -> list[str]:
    """The session that a file belongs to; a subagent's belongs to that of its folder."""
    folder, name = os.path.split(session)
    ids = [name.removesuffix(".jsonl")]
    if os.path.basename(folder) == "subagents":
        ids.append(os.path.basename(os.path.dirname(folder)))
    return ids


def _registry_folders(session: str) -> list[str]:
    """Where clients say that they run; none where they keep no such files."""
    configs = {paths.client_config_dir()}
    head, mark, _ = os.path.dirname(session).rpartition("/projects/")
    if mark:
        configs.add(head)
    folders = [f"{config}/sessions" for config in sorted(configs)]
    return [folder for folder in folders if os.path.isdir(folder)]


def _client_in(path: str, session_id: str | None = None) -> list[Client]:
    """The client that a file tells of: our note on a session, or what the client keeps itself."""
    try:
        told = json.loads(io.read_file(path))
    except (OSError, ValueError):
        return []
    told = told if isinstance(told, dict) else {}
    seen_at, scale = told.get("at") if told.get("v") == FORMAT else None, 1
    if session_id is None:
        session_id, seen_at, scale = told.get("sessionId"), told.get("startedAt"), 1_000
    pid = told.get("pid")
    if not isinstance(pid, int) or pid <= 0 or not isinstance(session_id, str):
        return []
    return [Client(pid, session_id, seen_at / scale)] if isinstance(seen_at, int | float) else []


def _is_running(client: Client) -> bool:
    """Whether the process is there and is no later one of the same number."""
    if os.name == "nt":  # pragma: no cover - there, signal 0 is no question
        return False
    try:
        os.kill(client.pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    begun_at = _begun_at(client.pid)
    return begun_at is None or begun_at <= client.seen_at + _SLACK_S


def _begun_at(pid: int) -> float | None:
    """When a process began; None where `ps` cannot tell. A zombie counts as yet to come."""
    try:
        asked = subprocess.run(
            ["ps", "-o", "stat=", "-o", "lstart=", "-p", str(pid)],
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"},
            capture_output=True,
            text=True,
            timeout=_PS_TIMEOUT_S,
            check=True,
        )
        state, _, moment = asked.stdout.strip().partition(" ")
        if state.startswith("Z"):
            return float("inf")
        return calendar.timegm(time.strptime(moment.strip(), "%a %b %d %H:%M:%S %Y"))
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
