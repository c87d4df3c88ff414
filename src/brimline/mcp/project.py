"""Which project and session the server works for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from brimline import fastio
from brimline.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Callable


def folder() -> str:
    """The folder of the project.

    Raises:
        SessionError: it is gone.
    """
    try:
        return fastio.env("CLAUDE_PROJECT_DIR") or os.getcwd()
    except OSError as error:
        raise SessionError(f"the project's folder is not there: {error.strerror}") from error


def membership(project_dir: str) -> Callable[[str], bool]:
    """A function that tells whether a folder is the project's own or lies below it."""
    places = {os.path.normpath(project_dir), os.path.realpath(project_dir)}

    def belongs(cwd: str) -> bool:
        if not os.path.isabs(cwd):
            return False
        try:
            found = {os.path.normpath(cwd), os.path.realpath(cwd)}
        except (OSError, ValueError):  # no path of this system
            return False
        return any(_is_below(one, place) for one in found for place in places)

    return belongs


def _is_below(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip(os.sep) + os.sep)
