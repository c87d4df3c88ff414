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
    folders = [f"{config}/sessions" for config in configs]
    files = [f"{folder}/{name}" for folder in folders for name in io.list_names(folder)]
    return any(_client_has_open(file, find.session_id_of(session)) for file in files)


def _client_has_open(file: str, session: str) -> bool:
    """Tell whether a client's own file names the session, and its process is there."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, OverflowError):
        entry = json.loads(io.read_file(file))
        if entry["sessionId"] == session and int(entry["pid"]) > 0:
            with contextlib.suppress(PermissionError):
                os.kill(int(entry["pid"]), 0)
            return True
    return False
