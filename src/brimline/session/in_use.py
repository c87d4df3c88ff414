"""Tells whether a client has a session open.

Every client keeps a file in its configuration folder while it runs, which names its process and the
session that it is in.
"""

from __future__ import annotations

import contextlib
import json
import os

from brimline.fast import io, paths
from brimline.transcript import find


def is_open(session: str) -> bool:
    """Tell whether a client that runs says that it has a session open."""
    configs = {paths.client_config_dir()}
    head, mark, _ = os.path.dirname(session).rpartition("/projects/")
    if mark:
        configs.add(head)
    return any(find.session_id_of(session) in open_sessions(config) for config in configs)


def open_sessions(config: str) -> set[str]:
    """The sessions that clients of a configuration folder have open."""
    folder = f"{config}/sessions"
    found = [_session_of_running_client(f"{folder}/{name}") for name in io.list_names(folder)]
    return set(filter(None, found))


def _session_of_running_client(file: str) -> str | None:
    """The session that a client's own file names, where its process is there."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, OverflowError):
        entry = json.loads(io.read_file(file))
        if int(entry["pid"]) > 0:
            with contextlib.suppress(PermissionError):
                os.kill(int(entry["pid"]), 0)
            return str(entry["sessionId"])
    return None
