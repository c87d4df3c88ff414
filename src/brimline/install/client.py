"""The client's own record of brimline, and its own command, which alone may change that."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any

from brimline import programs
from brimline.errors import reason
from brimline.fast import paths
from brimline.settings import clientsettings, pinned

if TYPE_CHECKING:
    from collections.abc import Sequence

MARKETPLACE = PLUGIN = "brimline"
PLUGIN_ID = f"{PLUGIN}@{MARKETPLACE}"
_TIMEOUT_S = 60.0
_REASON_LENGTH = 200
_QUIET = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


def folder_of_our_marketplace() -> str | None:
    """The folder that the client takes the marketplace of our name from; None without one."""
    known = clientsettings.read_settings(_path_in_plugins_folder("known_marketplaces"))
    path = _as_dict(_as_dict(known.get(MARKETPLACE)).get("source")).get("path")
    return path if isinstance(path, str) else None


def is_our_plugin_on(project_dir: str) -> bool | None:
    """Whether the settings that hold in a project enable the plugin; None: they do not name it."""
    found = None
    for path in clientsettings.path_by_scope(project_dir).values():
        enabled = _as_dict(clientsettings.read_settings(path).get("enabledPlugins")).get(PLUGIN_ID)
        found = enabled if isinstance(enabled, bool) else found
    return found


def claude_on_path() -> str | None:
    """The client's program, or None where PATH does not lead to it."""
    return shutil.which("claude", path=_search_path())


def _search_path() -> str:
    """A person's PATH; a project may have set that of what the client starts."""
    if pinned.is_marked():
        return ":".join((*programs.PLACES, f"{paths.user_home()}/.local/bin"))
    return os.environ.get("PATH", os.defpath)


def claude_shell_line(arguments: Sequence[str]) -> str:
    """The command as a person types it."""
    return shlex.join(["claude", *arguments])


def run_client_or_problem(arguments: Sequence[str], timeout_s: float = _TIMEOUT_S) -> str | None:
    """Run it; returns the reason where it did not do what it was asked for."""
    program = claude_on_path()
    if program is None:
        return "there is no `claude` on PATH"
    # Not in a project, whose settings and plugins it would read.
    folder = next(filter(os.path.isdir, (paths.client_config_dir(), "/")))
    try:
        own = os.environ | {"PATH": _search_path()}
        code, told = _code_and_output_of([program, *arguments], folder, own, timeout_s)
    except subprocess.TimeoutExpired:
        return f"it did not end within {timeout_s:g} seconds"
    except OSError as error:
        return reason(error)
    lines = [text.strip() for text in told.splitlines() if text.strip()]
    said = lines[-1][:_REASON_LENGTH] if lines else f"it ended with code {code}"
    return said if code else None


def client_version_on_path() -> tuple[int, ...]:
    """The version of the client on PATH; nothing where there is none or it does not say.

    It is asked away from the user's home, which it would write to.
    """
    program = claude_on_path()
    if program is None:
        return ()
    with tempfile.TemporaryDirectory() as home:
        away = {"HOME": home, "CLAUDE_CONFIG_DIR": home, "PATH": _search_path()}
        try:
            code, told = _code_and_output_of([program, "--version"], home, away, _TIMEOUT_S)
        except (OSError, subprocess.SubprocessError):
            return ()
    words = "".join(told.split()[:1]).partition("-")[0].split(".")
    return tuple(int(word) for word in words if word.isdigit() and not code)


def folders_of_plugin(name: str) -> list[str]:
    """Where the client has installed a plugin, by its own record."""
    plugins = clientsettings.read_settings(_path_in_plugins_folder("installed_plugins"))
    found = _as_dict(plugins.get("plugins")).get(name)
    records = found if isinstance(found, list) else []
    places = [_as_dict(record).get("installPath") for record in records]
    return [place for place in places if isinstance(place, str)]


def _code_and_output_of(
    command: list[str], folder: str, variables: dict[str, str], timeout_s: float
) -> tuple[int, str]:
    """Its exit code and all that it said."""
    # Into a file: a grandchild that keeps a pipe open would make us wait after a timeout too.
    with tempfile.TemporaryFile() as said:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env=variables | _QUIET,
            cwd=folder,
            check=False,
            timeout=timeout_s,
        )
        said.seek(0)
        return done.returncode, said.read().decode("utf-8", "replace")


def _path_in_plugins_folder(name: str) -> str:
    return f"{paths.client_config_dir()}/plugins/{name}.json"


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
