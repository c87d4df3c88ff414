"""Which Python runs the hooks: a real binary that stays, not a shim, and quick to start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import NamedTuple

from brimline.errors import InstallError

OLDEST = (3, 11)
# Links to the newest version, which stay where a versioned binary goes with the next upgrade.
_CANDIDATES = (
    "/usr/bin/python3",
    "/usr/local/bin/python3",
    "/opt/homebrew/bin/python3",
)
_TIMING_RUNS = 10
_TIMEOUT_S = 20
# A binary of the system outlives one inside a version manager. It is passed over only where it is
# slower by so much that no busy moment can explain it.
_SYSTEM_FOLDERS = ("/usr/", "/opt/homebrew/")
_TOLERATED = 2.0
_PROBE = "import sys;print(*sys.version_info[:3],sys.executable)"
_BINARY_STARTS = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf", b"MZ")
_SHIM = "it is a shim that starts another interpreter, at many times the cost"


class Probe(NamedTuple):
    """What an interpreter says about itself."""

    version: tuple[int, ...]
    executable: str


def choose(asked: str | None = None, installed: str | None = None) -> str:
    """The interpreter to write into the settings.

    Args:
        asked: a path the user named; it must be usable.
        installed: what earlier entries point to; kept while it works, so that a second run changes
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
    costs = {path: _cost(path) for path in usable}
    quickest = min(costs.values())
    lasting_first = sorted(usable, key=lambda path: not path.startswith(_SYSTEM_FOLDERS))
    return next(path for path in lasting_first if costs[path] <= _TOLERATED * quickest)


def problem_with(path: str) -> str | None:
    """Why an interpreter cannot be used, or None."""
    if not os.path.isabs(path):
        return "its path is not absolute"
    if not os.path.isfile(path):
        return "it does not exist"
    if not os.access(path, os.X_OK):
        return "it is not executable"
    if is_script(path):
        return _SHIM
    found = probe(path)
    if found is None:
        return "it does not run as a Python"
    if os.path.realpath(found.executable) != os.path.realpath(path):
        return _SHIM
    if found.version < OLDEST:
        return f"it is Python {'.'.join(map(str, found.version))}, and 3.11 is the oldest supported"
    return None


def is_script(path: str) -> bool:
    """Whether the file is a script rather than a program."""
    try:
        with open(path, "rb") as file:
            return not file.read(4).startswith(_BINARY_STARTS)
    except OSError:
        return False


def probe(path: str) -> Probe | None:
    """Ask an interpreter for its version and its own path; None where it does not run."""
    try:
        done = subprocess.run(
            [path, "-I", "-S", "-c", _PROBE],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=True,
        )
        major, minor, patch, executable = os.fsdecode(done.stdout).rstrip("\n").split(" ", 3)
        return Probe((int(major), int(minor), int(patch)), executable)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def _known() -> list[str]:
    """The interpreters worth a try, the same program once."""
    own = os.path.abspath(getattr(sys, "_base_executable", sys.executable) or sys.executable)
    found = [path for path in (*_CANDIDATES, own) if os.path.exists(path)]
    return list({os.path.realpath(path): path for path in reversed(found)}.values())


def _cost(path: str) -> float:
    """The quickest of some starts; the minimum is what a quiet machine shows."""
    return min(_start_time(path) for _ in range(_TIMING_RUNS))


def _start_time(path: str) -> float:
    begun = time.perf_counter()
    subprocess.run([path, "-I", "-S", "-c", "pass"], check=False, timeout=_TIMEOUT_S)
    return time.perf_counter() - begun
