"""Runs hooks as the client does: one process per event, in an environment made from nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import brimline
from brimline.launch import bootstrap_code

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(brimline.__file__)))
# Far beyond what any hook takes, even on a busy machine: a hanging one must not hang the tests.
_PATIENCE_S = 120


def command(
    event: str, *arguments: str, root: str = ROOT, options: tuple[str, ...] = ()
) -> list[str]:
    """The command line that the installer writes for an event."""
    return [sys.executable, "-I", "-S", *options, "-c", bootstrap_code(root), event, *arguments]


def environment(world: Path, **extra: str) -> dict[str, str]:
    """The three variables that keep a process inside the test's world, and nothing else."""
    return {
        "HOME": str(world / "home"),
        "CLAUDE_CONFIG_DIR": str(world / "home" / ".claude"),
        "BRIMLINE_HOME": str(world / "brimline"),
    } | extra


def run_hook(
    world: Path,
    event: str,
    payload: bytes | dict[str, Any],
    *arguments: str,
    root: str = ROOT,
    options: tuple[str, ...] = (),
    extra: Mapping[str, str] | None = None,
    preexec: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Answer one event in a process of its own."""
    return subprocess.run(
        command(event, *arguments, root=root, options=options),
        input=payload if isinstance(payload, bytes) else json.dumps(payload).encode(),
        env=environment(world, **(extra or {})),
        cwd=world / "project",
        capture_output=True,
        check=False,
        timeout=_PATIENCE_S,
        preexec_fn=preexec,
    )


def copy_package(target: Path) -> str:
    """A copy of the package without byte code, to be broken at will; returns its root."""
    shutil.copytree(
        f"{ROOT}/brimline", target / "brimline", ignore=shutil.ignore_patterns("__pycache__")
    )
    return str(target)


def build_bundle(root: str) -> Path:
    """Write the bundle of a copied package, as the installer does; returns its path."""
    code = (
        f"import sys; sys.path.insert(0, {root!r})\n"
        "from brimline.install import bundle; print(bundle.build())"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=_PATIENCE_S,
    )
    return Path(done.stdout.strip())


# Prints the names of all loaded modules at the moment the process leaves.
_SPY = """import posix, sys
def leave(code, leave=posix._exit):
    posix.write(2, chr(10).join(sys.modules).encode())
    leave(code)
posix._exit = leave
"""


def loaded_modules(
    world: Path, root: str, event: str, payload: dict[str, Any], *arguments: str
) -> set[str]:
    """What a hook has loaded when it leaves, beyond what an empty interpreter loads."""
    loaded = []
    for code in (_SPY + bootstrap_code(root), _SPY + "posix._exit(0)"):
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code, event, *arguments],
            input=json.dumps(payload).encode(),
            env=environment(world),
            capture_output=True,
            check=True,
            timeout=_PATIENCE_S,
        )
        loaded.append(set(done.stderr.decode().splitlines()))
    assert "brimline.hooks.entry" in loaded[0]
    assert errors(world) == []
    return loaded[0] - loaded[1]


def spool(world: Path) -> list[dict[str, Any]]:
    """Every line that hooks left, over all sessions."""
    files = (world / "brimline").rglob("spool.jsonl")
    return [json.loads(line) for file in files for line in file.read_bytes().splitlines()]


def errors(world: Path) -> list[dict[str, Any]]:
    """Every line of the error log."""
    log = world / "brimline" / "errors.jsonl"
    return [json.loads(line) for line in log.read_bytes().splitlines()] if log.exists() else []


def inventory(folder: Path, without: Path | None = None) -> dict[str, tuple[int, bytes | None]]:
    """Every file and folder with its mode and content, except below one of them."""
    found: dict[str, tuple[int, bytes | None]] = {}
    for path in sorted(folder.rglob("*")):
        if without and (path == without or path.is_relative_to(without)):
            continue
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        found[str(path)] = (path.lstat().st_mode, content)
    return found
