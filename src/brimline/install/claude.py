"""Runs the client's own command, which alone may change the client's state; it may fail or hang."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from typing import IO, TYPE_CHECKING

from brimline.fast import paths

if TYPE_CHECKING:
    from collections.abc import Sequence

_TIMEOUT_S = 60.0
_REASON_LENGTH = 200
_QUIET = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


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
    # Into a file: a grandchild that keeps a pipe open would make us wait after a timeout too.
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                [program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | _QUIET,
                cwd=_quiet_folder(),
                start_new_session=True,
            )
        except OSError as error:
            return error.strerror or str(error)
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            _end(process)
            return f"it did not end within {timeout_s:g} seconds"
        except BaseException:
            _end(process)
            raise
        return None if code == 0 else _reason(output, code)


def _quiet_folder() -> str:
    """Where to run it: not in a project, whose settings and plugins it would read."""
    folder = paths.client_config_dir()
    return folder if os.path.isdir(folder) else os.path.abspath(os.sep)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the client and what it started: it leads a session of its own."""
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
    told = "".join(letter for letter in lines[-1] if letter.isprintable()) if lines else ""
    return told[:_REASON_LENGTH] or f"it ended with code {code}"
