"""How the model starts the command that fetches stored content.

Fast path: imports only `brimline.fast.io` and `brimline.fast.paths`.
"""

from __future__ import annotations

from brimline.fast import io, paths

COMMAND = "brimline"
_LONGEST_BYTES = 4_096


def find(home_dir: str) -> str:
    """Its name where the shell finds it, and otherwise the line that the installer noted."""
    for folder in (io.env("PATH") or "").split(":"):
        try:
            if folder and io.system.access(io.to_bytes(f"{folder}/{COMMAND}"), _RUNNABLE):
                return COMMAND
        except (OSError, ValueError):
            continue
    try:
        noted = io.read_file(paths.command_file(home_dir), _LONGEST_BYTES)
    except OSError:
        return COMMAND
    return noted.decode("utf-8", "replace").strip() or COMMAND


_RUNNABLE = 1
