"""Tells whether a session is in use: its client runs, or something was written a moment ago.

Every client keeps a file in its configuration folder while it runs, which names its process and the
session that it is in. A process counts as that client only if it began before it said so: its
number may belong to another program by now.
"""

from __future__ import annotations

import calendar
import contextlib
import json
import os
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

from brimline import programs
from brimline.fast import io, paths
from brimline.session.disk import InUseError

if TYPE_CHECKING:
    from collections.abc import Iterator

RECENT_S = 30.0
_SLACK_S = 2.0
_PS_TIMEOUT_S = 5


class Client(NamedTuple):
    """A process that says that it has a session open."""

    pid: int
    session_id: str
    started_at: float


def require_idle(session: str) -> None:
    """Refuse a session in use.

    Raises:
        InUseError: with the reason.
    """
    reason = why_in_use(session)
    if reason is not None:
        raise InUseError(
            f"{session} is in use: {reason}; a client does not notice such a change before the"
            " session is resumed, so end it first; nothing was changed"
        )


def why_in_use(session: str) -> str | None:
    """The reason why a session counts as in use; None where it is idle."""
    ids, folders = _session_ids_from_path(session), _registry_folders(session)
    clients = [client for client in _registered_clients(folders) if client.session_id in ids]
    for client in clients:
        if _is_running(client):
            return f"its client, process {client.pid}, still runs"
    if folders and not clients:
        return None  # whoever wrote it has ended: it would say that it runs
    age_s = time.time() - os.stat(session).st_mtime
    if abs(age_s) < RECENT_S:
        return f"it was written {max(0, round(age_s))} s ago"
    return None


def _session_ids_from_path(session: str) -> list[str]:
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


def _registered_clients(folders: list[str]) -> Iterator[Client]:
    """The clients that say that they run; what makes no sense is none."""
    for path in [f"{folder}/{name}" for folder in folders for name in io.list_names(folder)]:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            entry = json.loads(io.read_file(path))
            client = Client(int(entry["pid"]), entry["sessionId"], entry["startedAt"] / 1_000)
            if client.pid > 0:
                yield client


def _is_running(client: Client) -> bool:
    """Tell whether the process is there and is no later one of the same number."""
    try:
        os.kill(client.pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    begun_at = _process_begun_at(client.pid)
    return begun_at is None or begun_at <= client.started_at + _SLACK_S


def _process_begun_at(pid: int) -> float | None:
    """When a process began; None where `ps` cannot tell. A zombie counts as yet to come."""
    try:
        process = subprocess.run(
            [programs.path_of("ps"), "-o", "stat=", "-o", "lstart=", "-p", str(pid)],
            env=programs.make_environment() | {"TZ": "UTC"},
            capture_output=True,
            text=True,
            timeout=_PS_TIMEOUT_S,
            check=True,
        )
        state, _, moment = process.stdout.strip().partition(" ")
        if state.startswith("Z"):
            return float("inf")
        return calendar.timegm(time.strptime(moment.strip(), "%a %b %d %H:%M:%S %Y"))
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
