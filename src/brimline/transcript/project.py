"""A project: the folder recorded for a session, with what lies below it and its worktrees.

What a session may fetch unasked depends on it. So nothing counts that the session itself, or the
repository that it works in, could choose: no variable, no argument, no folder changed to.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from brimline.errors import SessionError
from brimline.fast import io, paths
from brimline.settings import clientsettings
from brimline.transcript import find

# The client sets it for whatever it starts; settings cannot change it.
_SESSION = "CLAUDE_CODE_SESSION_ID"


class Project(NamedTuple):
    """What belongs together; folders by their real names."""

    folders: tuple[str, ...]
    """The session's own first, then the same place in the repository's other worktrees."""
    has_below: bool = True
    """Whether folders below belong to it: not where everybody's projects lie below."""
    session: str = ""
    """The one that asks."""

    def holds(self, folder: object) -> bool:
        """Tell whether a folder is the project's."""
        if self.has_below:
            return any(is_within(folder, own) for own in self.folders)
        return real_folder(folder) in self.folders


def running_session() -> str | None:
    """The session of the client that started this process; None where no client did."""
    first = io.env(_SESSION)
    return find.session_id_after_clears(paths.safe_session_id(first)) if first else None


def project_of_caller() -> Project:
    """The project of the session that this process runs in; of the current folder without one.

    A person in a terminal of their own has all that lies below, wherever they are.

    Raises:
        SessionError: the folder is not known, or is gone.
    """
    session = running_session()
    if session is None:
        return project_of_folder(current_folder())._replace(has_below=True)
    folder = folder_of_session(session)
    if folder is None:
        raise SessionError("this session's folder is not on record: nothing is given unasked")
    return project_of_folder(folder)._replace(session=session)


def current_folder() -> str:
    """Return where this process runs.

    Raises:
        SessionError: that folder is gone.
    """
    try:
        return os.getcwd()
    except OSError as error:
        raise SessionError(f"the project's folder is not there: {error.strerror}") from error


def folder_of_session(session_id: str) -> str | None:
    """The folder in which a session began; None where its file is gone or does not tell."""
    files = find.files_beginning_with(f"{paths.safe_session_id(session_id)}.jsonl")
    return find.folder_it_began_in(max(files, key=find.modified_at)) if files else None


def project_of_folder(folder: str) -> Project:
    """The project of a session that began in a folder."""
    own = real_folder(folder)
    homes = (os.path.expanduser("~"), _home_by_account(), paths.client_config_dir())
    if any(is_within(home, own) for home in homes):
        return Project((own,), has_below=False)
    top = next((p for p in (Path(own), *Path(own).parents) if os.path.exists(p / ".git")), None)
    if top is None:
        return Project((own,))
    inside = os.path.relpath(own, top)
    trees = [real_folder(tree) for tree in clientsettings.worktrees(str(top))]
    others = [os.path.normpath(f"{tree}/{inside}") for tree in trees if tree]
    return Project(tuple(dict.fromkeys([own, *others])))


def real_folder(cwd: object) -> str:
    """A folder by its one real name; empty where it is none."""
    try:
        return os.path.realpath(cwd) if isinstance(cwd, str) and os.path.isabs(cwd) else ""
    except (OSError, ValueError):  # no path of this system
        return ""


def is_within(folder: object, place: str) -> bool:
    """Tell whether a folder is a place, or below it."""
    real, own = (_storable(text) for text in (real_folder(folder), place.rstrip("/") + "/"))
    return bool(real) and (real + "/").startswith(own)


def _storable(text: str) -> str:
    """A path as a database has it."""
    return text.encode("utf-8", "backslashreplace").decode()


def _home_by_account() -> str:
    """The user's home by their account, whatever a variable says."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        return ""
