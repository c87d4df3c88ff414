"""Compiles the package for the interpreter that hooks use, which need not be the one running now."""

from __future__ import annotations

import os
import subprocess

import brimline
from brimline.errors import InstallError

_BUILD = """import sys
sys.path.insert(0, {root!r})
import compileall
from brimline.bundle import build
compileall.compile_dir({package!r}, quiet=1)
build()
"""
_CHECK = """import sys
sys.path.insert(0, {root!r})
from brimline.launch import read_bundle
try:
    sys.exit(0 if read_bundle() else 1)
except Exception:
    sys.exit(1)
"""


def package_root() -> str:
    """The folder that holds the package."""
    return os.path.dirname(os.path.dirname(os.path.abspath(brimline.__file__)))


def precompile(interpreter: str, root: str) -> None:
    """Write byte code and the fast-path bundle.

    Raises:
        InstallError: the package folder cannot be written; hooks would compile at every start.
    """
    done = _run(interpreter, _BUILD, root)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InstallError(f"cannot precompile {root}/brimline with {interpreter}: {reason}")


def is_precompiled(interpreter: str, root: str) -> bool:
    """Whether the bundle is there, readable by that interpreter, and as new as the sources."""
    return _run(interpreter, _CHECK, root).returncode == 0


def _run(interpreter: str, code: str, root: str) -> subprocess.CompletedProcess[str]:
    filled = code.format(root=root, package=f"{root}/brimline")
    return subprocess.run(
        [interpreter, "-I", "-S", "-c", filled],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
