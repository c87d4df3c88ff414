"""Which Python runs the hooks: a real binary that stays, not a shim, and quick to start."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from brimline.errors import InstallError

OLDEST = (3, 11)
_CANDIDATES = (
    "/usr/bin/python3",
    "/usr/local/bin/python3",
    "/opt/homebrew/bin/python3",
)
_TIMING_RUNS = 10
# A binary of the system outlives one inside a version manager; it may cost this much more.
_SYSTEM_BONUS = 1.15
_PROBE = "import sys;print(*sys.version_info[:3],sys.implementation.cache_tag)"
_ELF_AND_MACH_O = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ")


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
        problem = problem_with(asked)
        if problem:
            raise InstallError(f"{asked} cannot run the hooks: {problem}")
        return os.path.abspath(asked)
    if installed and not problem_with(installed):
        return installed
    usable = [path for path in _known() if not problem_with(path)]
    if not usable:
        raise InstallError("no Python 3.11 or newer was found: name one with --interpreter")
    return min(usable, key=_cost)


def problem_with(path: str) -> str | None:
    """Why an interpreter cannot be used, or None."""
    if not os.path.isfile(path):
        return "it does not exist"
    if not os.access(path, os.X_OK):
        return "it is not executable"
    if is_shim(path):
        return "it is a script that starts another interpreter, at many times the cost"
    version = version_of(path)
    if version is None:
        return "it does not run"
    if version < OLDEST:
        return f"it is Python {'.'.join(map(str, version))}, and 3.11 is the oldest supported"
    return None


def is_shim(path: str) -> bool:
    """Whether the file is a script rather than a program."""
    try:
        with open(path, "rb") as file:
            return file.read(4) not in _ELF_AND_MACH_O
    except OSError:
        return False


def version_of(path: str) -> tuple[int, ...] | None:
    """The interpreter's version, or None where it does not run."""
    try:
        done = subprocess.run(
            [path, "-I", "-S", "-c", _PROBE], capture_output=True, timeout=20, check=True, text=True
        )
        return tuple(int(part) for part in done.stdout.split()[:3])
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def _known() -> list[str]:
    own = os.path.realpath(getattr(sys, "_base_executable", sys.executable) or sys.executable)
    found = [own, *[os.path.realpath(path) for path in _CANDIDATES if os.path.exists(path)]]
    return list(dict.fromkeys(found))


def _cost(path: str) -> float:
    """The quickest of some starts; the minimum is what a quiet machine shows."""
    quickest = min(_start_time(path) for _ in range(_TIMING_RUNS))
    return quickest if path.startswith("/usr/bin/") else quickest * _SYSTEM_BONUS


def _start_time(path: str) -> float:
    begun = time.perf_counter()
    subprocess.run([path, "-I", "-S", "-c", "pass"], check=False, timeout=20)
    return time.perf_counter() - begun
