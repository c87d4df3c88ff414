"""Two Pythons: a plain one that runs the hooks, and the one with libraries that runs the command.

The first is a real binary that stays, not a shim; the package is compiled for
it. The second is whichever runs now: slash commands and the MCP server are started with it.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import site
import subprocess
import sys
from importlib import metadata
from typing import Any, NamedTuple

from brimline.errors import InstallError
from brimline.fast import paths
from brimline.fast.paths import PACKAGE_DIR

_OLDEST = (3, 11)
# Links to the newest version, which stay where a versioned binary goes with the next upgrade.
_CANDIDATES = ("/usr/bin/python3", "/usr/local/bin/python3", "/opt/homebrew/bin/python3")
_TIMEOUT_S = 120
_VERSION = "import sys;print(*sys.version_info[:3],sys.executable)"
_FROM = "import sys;sys.path.insert(0,{root!r})\n"
_BUILD = """import compileall
from brimline.install.bundle import build
compileall.compile_dir({package!r}, quiet=2)
build()
"""
_CHECK = """from brimline.launch import is_source_unchanged, read_bundle
assert all(is_source_unchanged(entry) for entry in read_bundle())
"""
# What was seen to work in a permission rule of the client, and nothing that a shell would act on.
_PLAIN_LINE = re.compile(r"[\w@%+=:,./' -]+")


def choose_interpreter(asked: str | None = None, installed: str | None = None) -> str:
    """The interpreter for the hooks.

    Args:
        asked: a path the user named; it must be usable.
        installed: what runs them already; kept while it works, so that a second run changes
            nothing.

    Raises:
        InstallError: the named interpreter, or every one found, cannot run hooks.
    """
    if asked:
        path = os.path.abspath(asked)
        problem = why_interpreter_unusable(path)
        if problem:
            raise InstallError(f"{asked} cannot run the hooks: {problem}")
        return path
    # A binary of the system outlives one of a version manager.
    own = os.path.abspath(getattr(sys, "_base_executable", sys.executable) or sys.executable)
    for path in (installed or "", *_CANDIDATES, own):
        if not why_interpreter_unusable(path):
            return path
    raise InstallError("no Python 3.11 or newer was found: name one with --interpreter")


def why_interpreter_unusable(path: str) -> str | None:
    """Why an interpreter cannot run hooks, or None."""
    if not os.path.isabs(path):
        return "its path is not absolute"
    if not os.path.isfile(path):
        return "it does not exist"
    found = version_and_path_of_interpreter(path)
    if found is None:
        return "it does not run as a Python"
    version, executable = found
    if os.path.realpath(executable) != os.path.realpath(path):
        return "it is a shim that starts another interpreter, at many times the cost"
    if version < _OLDEST:
        return f"it is Python {'.'.join(map(str, version))}, and 3.11 is the oldest supported"
    return None


def version_and_path_of_interpreter(path: str) -> tuple[tuple[int, ...], str] | None:
    """An interpreter's version and its own path; None where it does not run."""
    try:
        return _ask_version_and_path(path, os.stat(path).st_mtime_ns)
    except (OSError, ValueError):
        return None


@functools.cache
def _ask_version_and_path(path: str, _changed_ns: int) -> tuple[tuple[int, ...], str]:
    """Ask an interpreter once: each question is a process, and `doctor` asks several times.

    Raises:
        ValueError: it does not run, or is no Python.
    """
    done = _run_program([path, "-I", "-S", "-c", _VERSION])
    told = os.fsdecode(done.stdout if done else b"").rstrip("\n")
    major, minor, patch, executable = told.split(" ", 3)
    return (int(major), int(minor), int(patch)), executable


def package_root() -> str:
    """The folder that holds the package."""
    return os.path.dirname(PACKAGE_DIR)


def precompile_or_problem(interpreter: str, root: str) -> str | None:
    """Write byte code and the fast-path bundle; returns why that was not possible."""
    problem = _problem_running_code(interpreter, root, _BUILD)
    return problem and f"cannot precompile {root}/brimline with {interpreter}: {problem}"


def is_precompiled(interpreter: str, root: str) -> bool:
    """Tell whether the bundle is there, readable by that interpreter, and as new as the sources."""
    return _problem_running_code(interpreter, root, _CHECK) is None


def can_interpreter_import_hooks(interpreter: str, root: str) -> bool:
    """Whether the interpreter finds the package at all; without it hooks do nothing, silently."""
    return _problem_running_code(interpreter, root, "import brimline.hooks.entry\n") is None


def _problem_running_code(interpreter: str, root: str, code: str) -> str | None:
    """Why code does not run with the package on the path; None where it does."""
    code = (_FROM + code).format(root=root, package=f"{root}/brimline")
    done = _run_program([interpreter, "-I", "-S", "-c", code])
    if done and done.returncode == 0:
        return None
    told = done.stderr.decode("utf-8", "replace").split("\n") if done else []
    return next((text for text in reversed(told) if text.strip()), "it does not start")


class Program(NamedTuple):
    """How the `brimline` command is started without PATH."""

    interpreter: str
    options: tuple[str, ...]
    """The interpreter's arguments before the words of the command."""
    home: str | None
    """The data folder to be told, where it is not the usual one."""

    def mcp_server_entry(self) -> dict[str, Any]:
        """Return how the client starts the MCP server."""
        _, folder, home = paths.folders_to_pin()
        told = ["--data", self.home or _usual_data_dir(), "--home", home]
        told += ["--client", folder] if folder else []
        return {"command": self.interpreter, "args": [*self.options, "mcp", *told], "env": {}}

    def shell_line(self, *words: str) -> str | None:
        """The command for a shell; None where the client could not check it before it runs."""
        told = ["env", f"BRIMLINE_HOME={self.home}"] if self.home else []
        words = (*told, self.interpreter, *self.options, *words)
        line = shlex.join(words)
        return line if _PLAIN_LINE.fullmatch(line) else None


def program_of_this_process(home_dir: str) -> Program:
    """The command as this very process runs it, without the current folder on the import path."""
    # The usual data folder need not be told.
    home = None if home_dir == _usual_data_dir() else home_dir
    try:
        installed = str(metadata.distribution("brimline").locate_file(""))
    except metadata.PackageNotFoundError:
        installed = ""
    # Isolated, the interpreter does not look where things are installed for this user only.
    is_users = installed.startswith(site.getusersitepackages())
    words = ("-I", paths.PACKAGE_DIR) if is_users else ("-I", "-m", "brimline")
    return Program(os.path.abspath(sys.executable), words, home)


def _usual_data_dir() -> str:
    return paths.client_config_dir() + paths.USUAL_DATA_DIR


def _run_program(command: list[str]) -> subprocess.CompletedProcess[bytes] | None:
    """Return what a program did; None where it does not start or does not end."""
    try:
        return subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=_TIMEOUT_S
        )
    except (OSError, subprocess.SubprocessError):
        return None
