"""The folders written down at install, beside the package: what a client starts uses them.

What else the client starts is told them when it is started. A project can set variables for all of
it, so that none of them says where data lies.
"""

from __future__ import annotations

import json
import os
import pwd
import stat
from typing import NamedTuple

from brimline import programs
from brimline.errors import BrimlineError
from brimline.fast import io, paths

FILE = f"{paths.PACKAGE_DIR}/installed-{os.getuid()}.json"
# The client sets it for all that it starts, and no project's settings change that.
_MARK = "CLAUDECODE"
_PS_TIMEOUT_S = 5
_FOR_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class Folders(NamedTuple):
    """Where one installation keeps its data and finds the client's, and the home of its user."""

    data: str
    client: str
    """What CLAUDE_CONFIG_DIR was; empty for nothing."""
    home: str

    @property
    def config(self) -> str:
        """The client's configuration folder."""
        return self.client or self.home + paths.USUAL_CLIENT_DIR


def read() -> list[Folders]:
    """Every installation of this package whose client is still there, the latest last."""
    try:
        rows = json.loads(io.read_file(FILE))
        found = [Folders(*map(str, row)) for row in rows]
    except (OSError, ValueError, TypeError):
        return []
    return [folders for folders in found if os.path.isdir(folders.config)]


def write_down() -> None:
    """Note the folders that this process goes by; one client has one data folder.

    Raises:
        OSError: the package is where we may not write.
    """
    now = Folders(*paths.folders_to_pin())
    _replace([*[each for each in read() if each.config != now.config], now])


def forget(data: str) -> None:
    """Forget an installation by its data folder, where it is noted."""
    found = read()
    left = [folders for folders in found if folders.data != data]
    if left != found:
        _replace(left)


def pin_or_refuse(command: str) -> None:
    """Settle which folders a command uses: those written down where a client has started it.

    Raises:
        BrimlineError: the environment names a data folder that may be somebody else's.
    """
    known = read()
    found = _folders_of_client_above(known)
    if found:
        paths.pin(*found)
    problem = None if command in _SETTING_UP else why_not_to_be_used(paths.data_dir())
    if problem:
        raise BrimlineError(f"{problem}; if it is yours, run `brimline install` once")


# Whoever types these is about to say, or to be told, what is to be used.
_SETTING_UP = ("install", "uninstall", "doctor")


def why_not_to_be_used(data: str) -> str | None:
    """Tell why a data folder may be somebody else's; None for the usual and the installed ones."""
    home = pwd.getpwuid(os.getuid()).pw_dir
    usual = home + paths.USUAL_CLIENT_DIR + paths.USUAL_DATA_DIR
    if data in [usual, *[folders.data for folders in read()]]:
        return None
    project, place = _project_around(os.getcwd()), os.path.realpath(data)
    if f"{place}/".startswith(f"{project}/"):
        return f"the data folder {data} lies in the project {project}"
    try:
        found = os.stat(place)
    except OSError:
        return None  # it is made by us, for us alone
    if found.st_uid != os.getuid():
        return f"the data folder {data} belongs to somebody else"
    return f"others can write to the data folder {data}" if found.st_mode & _FOR_OTHERS else None


def _project_around(folder: str) -> str:
    """The outermost folder around one that is a repository, else itself."""
    project = folder = os.path.realpath(folder)
    while folder != "/":
        project = folder if os.path.exists(f"{folder}/.git") else project
        folder = os.path.dirname(folder)
    return project


def _folders_of_client_above(known: list[Folders]) -> Folders | None:
    """Find what a client's process is to use, where the environment says otherwise.

    A running client keeps a file with its number. A shell may have lost the mark.
    """
    if not known or Folders(*paths.folders_to_pin()) in known:
        return None
    above = _numbers_of_processes_above()
    found = next((folders for folders in known if _runs_one_of(folders.config, above)), None)
    return found or (known[-1] if is_marked() else None)


def _runs_one_of(config: str, above: list[int]) -> bool:
    return any(os.path.exists(f"{config}/sessions/{number}.json") for number in above)


def is_marked() -> bool:
    """Tell whether we have the mark of what a client starts."""
    return bool(io.env(_MARK))


def is_client_above() -> bool:
    """Tell whether a client has started us, however deep; a shell may have lost the mark."""
    configs = {paths.client_config_dir(), *[folders.config for folders in read()]}
    above = _numbers_of_processes_above()
    return is_marked() or any(_runs_one_of(config, above) for config in configs)


def _numbers_of_processes_above() -> list[int]:
    """Our parent, its parent, and so on; without `ps` the first alone."""
    import subprocess

    command = [programs.path_of("ps"), "-A", "-o", "pid=,ppid="]
    try:
        done = subprocess.run(
            command,
            env=programs.make_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PS_TIMEOUT_S,
            check=True,
        )
        numbers = [int(word) for word in done.stdout.split()]
    except (OSError, ValueError, subprocess.SubprocessError):
        numbers = []
    parents = dict(zip(numbers[::2], numbers[1::2], strict=False))
    above = [os.getppid()]
    while (parent := parents.get(above[-1], 0)) > 1 and parent not in above:
        above.append(parent)
    return above


def _replace(found: list[Folders]) -> None:
    if found:
        io.replace_file(FILE, json.dumps(found).encode())
    else:
        io.remove(FILE)
