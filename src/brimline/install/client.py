"""The client's own record of brimline, and its own command, which alone may change that."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from brimline import clientsettings
from brimline.fast import io, paths

if TYPE_CHECKING:
    from collections.abc import Sequence

SERVER = MARKETPLACE = "brimline"
PLUGIN = "brim"
PLUGIN_ID = f"{PLUGIN}@{MARKETPLACE}"
_TIMEOUT_S = 60.0
_REASON_LENGTH = 200
_QUIET = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


class Server(NamedTuple):
    """One registered MCP server, as far as it is a program that is started."""

    command: str
    arguments: list[str]
    environment: dict[str, str]

    @property
    def is_ours(self) -> bool:
        """Whether it is `brimline mcp`, however that is started."""
        return self.arguments[-1:] == ["mcp"] and "brimline" in " ".join(self.arguments)


def server() -> Server | None:
    """The MCP server of our name in the user's scope; None without one."""
    folder = paths.client_config_dir()
    # The client keeps it in its configuration folder only where a variable names that.
    folder = folder if io.env("CLAUDE_CONFIG_DIR") else os.path.dirname(folder)
    found = _object(_read(f"{folder}/.claude.json").get("mcpServers")).get(SERVER)
    if not isinstance(found, dict):
        return None
    arguments, environment = found.get("args"), _object(found.get("env"))
    texts = [str(text) for text in arguments] if isinstance(arguments, list) else []
    told = {name: str(value) for name, value in environment.items()}
    return Server(str(found.get("command")), texts, told)


def marketplace() -> str | None:
    """Where the client takes the marketplace of our name from: a folder, or a description."""
    settings = clientsettings.read_settings(clientsettings.settings_files("")["user"])
    known = _read(f"{paths.client_config_dir()}/plugins/known_marketplaces.json")
    for places in (known, _object(settings.get("extraKnownMarketplaces"))):
        source = _object(places.get(MARKETPLACE)).get("source")
        if source is not None:
            path = _object(source).get("path")
            return path if isinstance(path, str) else json.dumps(source)
    return None


def plugin_is_on(project_dir: str | None = None) -> bool | None:
    """Whether the plugin is enabled; None where it is not installed.

    Args:
        project_dir: the project whose settings count too; None: only the user's do.
    """
    found = None
    for scope, path in clientsettings.settings_files(project_dir or "").items():
        if project_dir is None and scope != "user":
            continue
        enabled = _object(clientsettings.read_settings(path).get("enabledPlugins")).get(PLUGIN_ID)
        found = enabled if isinstance(enabled, bool) else found
    return found


def on_path() -> str | None:
    """The client's program, or None where PATH does not lead to it."""
    return shutil.which("claude")


def line(arguments: Sequence[str]) -> str:
    """The command as a person types it."""
    return shlex.join(["claude", *arguments])


def run(arguments: Sequence[str], timeout_s: float = _TIMEOUT_S) -> str | None:
    """Run it; returns the reason where it did not do what it was asked for."""
    program = on_path()
    if program is None:
        return "there is no `claude` on PATH"
    # Not in a project, whose settings and plugins it would read.
    folder = paths.client_config_dir()
    # Into a file: a grandchild that keeps a pipe open would make us wait after a timeout too.
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                [program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | _QUIET,
                cwd=folder if os.path.isdir(folder) else os.path.abspath(os.sep),
                start_new_session=True,
            )
        except OSError as error:
            return error.strerror or str(error)
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return f"it did not end within {timeout_s:g} seconds"
        finally:
            _end(process)
        return None if code == 0 else _reason(output, code)


def version(program: str) -> str | None:
    """Ask the client for its version, away from the user's home, which it would write to."""
    with tempfile.TemporaryDirectory() as home:
        path = os.environ.get("PATH", os.defpath)
        try:
            done = subprocess.run(
                [program, "--version"],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                env={"HOME": home, "CLAUDE_CONFIG_DIR": home, "PATH": path} | _QUIET,
                cwd=home,
                check=True,
                timeout=_TIMEOUT_S,
            )
        except (OSError, subprocess.SubprocessError):
            return None
    words = done.stdout.decode("utf-8", "replace").split()
    return words[0] if words else None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the client, if it still runs, and what it started: it leads a session of its own."""
    if process.poll() is not None:
        return
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:  # pragma: no cover - Windows
            process.kill()
    process.wait()


def _reason(output: IO[bytes], code: int) -> str:
    output.seek(0)
    text = output.read().decode("utf-8", "replace")
    lines = [told.strip() for told in text.splitlines() if told.strip()]
    return lines[-1][:_REASON_LENGTH] if lines else f"it ended with code {code}"


def _read(path: str) -> dict[str, Any]:
    try:
        return _object(json.loads(Path(path).read_bytes()))
    except (OSError, ValueError, RecursionError):
        return {}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
