"""Compiles the package for the interpreter of the hooks, which need not be the one running now."""

from __future__ import annotations

import os
import subprocess

import brimline
from brimline.errors import InstallError

_TIMEOUT_S = 120
_BUILD = """import sys
sys.path.insert(0, {root!r})
import compileall
from brimline.fast.bundle import build
compileall.compile_dir({package!r}, quiet=2)
build()
"""
_CHECK = """import sys
sys.path.insert(0, {root!r})
from brimline.launch import is_current, read_bundle
try:
    sys.exit(0 if all(is_current(entry) for entry in read_bundle()) else 1)
except Exception:
    sys.exit(1)
"""
_START = """import sys
sys.path.insert(0, {root!r})
import brimline.hooks.entry
"""


def package_root() -> str:
    """The folder that holds the package."""
    return os.path.dirname(os.path.dirname(os.path.abspath(brimline.__file__)))


def precompile(interpreter: str, root: str) -> None:
    """Write byte code and the fast-path bundle.

    Raises:
        InstallError: the package folder cannot be written; hooks would compile at every start.
    """
    problem = _run(interpreter, _BUILD, root)
    if problem is not None:
        raise InstallError(f"cannot precompile {root}/brimline with {interpreter}: {problem}")


def is_precompiled(interpreter: str, root: str) -> bool:
    """Whether the bundle is there, readable by that interpreter, and as new as the sources."""
    return _run(interpreter, _CHECK, root) is None


def can_start(interpreter: str, root: str) -> bool:
    """Whether the interpreter finds the package at all; without it hooks do nothing, silently."""
    return _run(interpreter, _START, root) is None


def _run(interpreter: str, code: str, root: str) -> str | None:
    """Run code of ours; returns the reason where it fails."""
    filled = code.format(root=root, package=f"{root}/brimline")
    try:
        done = subprocess.run(
            [interpreter, "-I", "-S", "-c", filled],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    if done.returncode == 0:
        return None
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"
