"""The client's own command, which alone may change its record of brimline."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING

from brimline import programs
from brimline.errors import reason
from brimline.fast import paths
from brimline.settings import pinned

if TYPE_CHECKING:
    from collections.abc import Sequence

# Clients from here on load mods.
MODS_FROM = (2, 1, 287)
_TIMEOUT_S = 60.0
_REASON_LENGTH = 200
_QUIET = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


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


def is_client_too_old_for_mods() -> bool:
    """Tell whether the client on PATH loads none; one that does not say may."""
    version = client_version_on_path()
    return bool(version) and version < MODS_FROM


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
