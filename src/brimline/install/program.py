"""How the `brimline` command is started without PATH: by slash commands and as the MCP server.

Not with the interpreter of the hooks, which knows no libraries, but with the one that runs now.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from typing import Any, NamedTuple

from brimline.install import precompile

SDK = "mcp"
# In the clone: under that name an index may have somebody else's package.
INSTALL_SDK = "pip install '.[mcp]'"
_TIMEOUT_S = 20
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


class Program(NamedTuple):
    """How to start the command."""

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


def find(home: str | None) -> Program:
    """The command as this very process runs it.

    Args:
        home: the data folder, where the client's environment does not lead to it.
    """
    python, root = os.path.abspath(sys.executable), precompile.package_root()
    for option in _OPTIONS:
        found, sdk = _ask(python, option, _PROBE)
        if found and _same_folder(found, f"{root}/brimline"):
            return Program(python, (option, "-m", "brimline"), home, _is_usable(sdk))
    _, sdk = _ask(python, "-I", f"import sys;sys.path.insert(0,{root!r})\n{_PROBE}")
    return Program(python, ("-I", "-c", _RUN.format(root=root)), home, _is_usable(sdk))


def sdk_is_missing(interpreter: str, options: list[str]) -> bool:
    """Whether a registered server's interpreter lacks the library, or a version that is needed."""
    option = next((text for text in options if text in _OPTIONS), "-I")
    return not _is_usable(_ask(interpreter, option, _PROBE)[1])


def _ask(python: str, option: str, code: str) -> tuple[Any, Any]:
    """Where an interpreter finds the package, and the library's version; None for what is not."""
    env = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    try:
        done = subprocess.run(
            [python, option, "-c", code],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=env,
            check=True,
            timeout=_TIMEOUT_S,
        )
        package, version = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None, None
    return package, version


def _is_usable(version: Any) -> bool:
    major = str(version).partition(".")[0]
    return major.isdecimal() and int(major) >= _SDK_MAJOR


def _same_folder(file: str, folder: str) -> bool:
    return os.path.realpath(os.path.dirname(file)) == os.path.realpath(folder)
