"""Two Pythons: a plain one that runs the hooks, and the one with libraries that runs the command.

The first is a real binary that stays, not a shim; the package is compiled for
it. The second is whichever runs now: slash commands and the MCP server are started with it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from typing import Any, NamedTuple

import brimline
from brimline.errors import InstallError

SDK = "mcp"
# In the clone: under that name an index may have somebody else's package.
INSTALL_SDK = "pip install '.[mcp]'"
_OLDEST = (3, 11)
# Links to the newest version, which stay where a versioned binary goes with the next upgrade.
_CANDIDATES = ("/usr/bin/python3", "/usr/local/bin/python3", "/opt/homebrew/bin/python3")
_TIMEOUT_S = 120
_BINARY_STARTS = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf", b"MZ")
_SHIM = "it is a shim that starts another interpreter, at many times the cost"
_VERSION = "import sys;print(*sys.version_info[:3],sys.executable)"
_FROM = "import sys;sys.path.insert(0,{root!r})\n"
_BUILD = """import compileall
from brimline.fast.bundle import build
compileall.compile_dir({package!r}, quiet=2)
build()
"""
_CHECK = """from brimline.launch import is_current, read_bundle
assert all(is_current(entry) for entry in read_bundle())
"""
# Both keep the current folder off the import path: it may be a stranger's. The first also ignores
# the user's own packages, so that the second is needed where brimline is one of them.
_OPTIONS = ("-I", "-P")
_SDK_MAJOR = 2
_PROBE = """import importlib.metadata, importlib.util, json
spec = importlib.util.find_spec("brimline")
try:
    version = importlib.metadata.version("mcp")
except importlib.metadata.PackageNotFoundError:
    version = None
print(json.dumps([spec.origin if spec else None, version]))
"""
_RUN = "import sys;sys.path.insert(0,{root!r});from brimline.cli.main import main;main()"
# What was seen to work in a permission rule of the client, and nothing that a shell would act on.
_PLAIN_LINE = re.compile(r"[\w@%+=:,./' -]+")


def choose(asked: str | None = None, installed: str | None = None) -> str:
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
        problem = problem_with(path)
        if problem:
            raise InstallError(f"{asked} cannot run the hooks: {problem}")
        return path
    if installed and not problem_with(installed):
        return installed
    usable = [path for path in _known() if not problem_with(path)]
    if not usable:
        raise InstallError("no Python 3.11 or newer was found: name one with --interpreter")
    return usable[0]


def problem_with(path: str) -> str | None:
    """Why an interpreter cannot run hooks, or None."""
    if not os.path.isabs(path):
        return "its path is not absolute"
    if not os.path.isfile(path):
        return "it does not exist"
    if not os.access(path, os.X_OK):
        return "it is not executable"
    if _is_script(path):
        return _SHIM
    found = probe(path)
    if found is None:
        return "it does not run as a Python"
    version, executable = found
    if os.path.realpath(executable) != os.path.realpath(path):
        return _SHIM
    if version < _OLDEST:
        return f"it is Python {'.'.join(map(str, version))}, and 3.11 is the oldest supported"
    return None


def probe(path: str) -> tuple[tuple[int, ...], str] | None:
    """An interpreter's version and its own path; None where it does not run."""
    done = _run([path, "-I", "-S", "-c", _VERSION])
    try:
        told = os.fsdecode(done.stdout if done else b"").rstrip("\n")
        major, minor, patch, executable = told.split(" ", 3)
        return (int(major), int(minor), int(patch)), executable
    except ValueError:
        return None


def package_root() -> str:
    """The folder that holds the package."""
    return os.path.dirname(os.path.dirname(os.path.abspath(brimline.__file__)))


def precompile(interpreter: str, root: str) -> str | None:
    """Write byte code and the fast-path bundle; returns why that was not possible."""
    done = _run([interpreter, "-I", "-S", "-c", _from(root, _BUILD)])
    if done and done.returncode == 0:
        return None
    lines = (done.stderr if done else b"it does not start").decode("utf-8", "replace").split("\n")
    told = [text for text in lines if text.strip()]
    return f"cannot precompile {root}/brimline with {interpreter}: {told[-1] if told else '?'}"


def is_precompiled(interpreter: str, root: str) -> bool:
    """Whether the bundle is there, readable by that interpreter, and as new as the sources."""
    done = _run([interpreter, "-I", "-S", "-c", _from(root, _CHECK)])
    return done is not None and done.returncode == 0


def can_start(interpreter: str, root: str) -> bool:
    """Whether the interpreter finds the package at all; without it hooks do nothing, silently."""
    done = _run([interpreter, "-I", "-S", "-c", _from(root, "import brimline.hooks.entry\n")])
    return done is not None and done.returncode == 0


class Program(NamedTuple):
    """How the `brimline` command is started without PATH."""

    interpreter: str
    options: tuple[str, ...]
    """The interpreter's arguments before the words of the command."""
    home: str | None
    """The data folder to be told, where it is not the usual one."""
    has_sdk: bool
    """Whether the MCP server's library is there."""

    def arguments(self, *words: str) -> list[str]:
        """The interpreter's arguments for a command."""
        return [*self.options, *words]

    def words(self) -> bytes:
        """How hooks start the command, as they read it."""
        return json.dumps([self.interpreter, *self.options]).encode()

    def environment(self) -> dict[str, str]:
        """The variables that the command needs."""
        return {"BRIMLINE_HOME": self.home} if self.home else {}

    def line(self, *words: str) -> str | None:
        """The command for a shell; None where the client could not check it before it runs."""
        told = [f"{name}={value}" for name, value in self.environment().items()]
        words = (*(["env", *told] if told else []), self.interpreter, *self.arguments(*words))
        line = shlex.join(words)
        return line if _PLAIN_LINE.fullmatch(line) else None


NOTHING = Program("", (), None, has_sdk=False)


def program(home: str | None) -> Program:
    """The command as this very process runs it.

    Args:
        home: the data folder, where the client's environment does not lead to it.
    """
    python, root = os.path.abspath(sys.executable), package_root()
    for option in _OPTIONS:
        found, has_sdk = _ask(python, option, _PROBE)
        folder = os.path.realpath(os.path.dirname(found or ""))
        if found and folder == os.path.realpath(f"{root}/brimline"):
            return Program(python, (option, "-m", "brimline"), home, has_sdk)
    _, has_sdk = _ask(python, "-I", _from(root, _PROBE))
    return Program(python, ("-I", "-c", _RUN.format(root=root)), home, has_sdk)


def lacks_sdk(interpreter: str, options: list[str]) -> bool:
    """Whether a registered server's interpreter lacks the library, or a version that is needed."""
    option = next((text for text in options if text in _OPTIONS), "-I")
    return not _ask(interpreter, option, _PROBE)[1]


def _ask(python: str, option: str, code: str) -> tuple[Any, bool]:
    """Where an interpreter finds the package, and whether a usable library is there."""
    env = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    done = _run([python, option, "-c", code], env)
    try:
        package, version = json.loads(done.stdout if done else b"")
    except ValueError:
        return None, False
    major = str(version).partition(".")[0]
    return package, major.isdecimal() and int(major) >= _SDK_MAJOR


def _run(
    command: list[str], env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes] | None:
    """What a program did; None where it does not start or does not end."""
    try:
        return subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=env,
            check=False,
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError):
        return None


def _from(root: str, code: str) -> str:
    return (_FROM + code).format(root=root, package=f"{root}/brimline")


def _known() -> list[str]:
    """The interpreters worth a try: a binary of the system outlives one of a version manager."""
    own = os.path.abspath(getattr(sys, "_base_executable", sys.executable) or sys.executable)
    return [path for path in (*_CANDIDATES, own) if os.path.exists(path)]


def _is_script(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return not file.read(4).startswith(_BINARY_STARTS)
    except OSError:
        return False
