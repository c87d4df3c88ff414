"""What the compiled settings were made from, and whether that has changed since.

It is asked whenever a session starts, before anything that can compile them is loaded.
"""

from __future__ import annotations

import os

from brimline import __version__
from brimline.fast import paths, policy
from brimline.settings import clientsettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Ours, by which another version has other models and other presets.
_OWN = [f"{paths.PACKAGE_DIR}/{name}" for name in ("guard/presets.toml", "models.json")]


def is_policy_file_stale(home_dir: str, project_dir: str) -> bool:
    """Tell whether a source file, or brimline itself, changed since the settings were compiled."""
    stored = policy.load_compiled(home_dir, project_dir)
    return stored is None or stored.sources != stamps_of_all_sources(home_dir, project_dir)


def stamps_of_all_sources(home_dir: str, project_dir: str) -> list[list[Any]]:
    """Return what a policy is made from; another version has other settings and other defaults."""
    client_files = clientsettings.path_by_scope(project_dir).values()
    files = [paths.user_config(home_dir), *_OWN, paths.learned_file(home_dir), *client_files]
    return [["brimline", __version__, None], *[_path_mtime_size(path) for path in files]]


def _path_mtime_size(path: str) -> list[Any]:
    try:
        found = os.stat(path)
    except OSError:
        return [path, None, None]
    return [path, found.st_mtime_ns, found.st_size]
