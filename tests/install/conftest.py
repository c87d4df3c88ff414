"""What the installer's tests share: a copy of the package, entries for it, the command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import brimline
from brimline.install import entries, installer, precompile

if TYPE_CHECKING:
    from collections.abc import Callable

_MAIN = "from brimline.cli.main import main; main()"


@pytest.fixture(autouse=True)
def no_client(world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH that starts with an empty folder and has no client behind it."""
    folder = world / "bin"
    folder.mkdir()
    rest = [
        text for text in os.environ["PATH"].split(os.pathsep) if not Path(text, "claude").exists()
    ]
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder), *rest]))
    return folder


@pytest.fixture(scope="session")
def python() -> str:
    """The interpreter that the tests install: the one that runs them, outside its environment."""
    return os.path.realpath(sys.executable)


@pytest.fixture(scope="session")
def compiled_root(tmp_path_factory: pytest.TempPathFactory, python: str) -> Path:
    """A precompiled copy of the package, safe from whoever compiles the real one meanwhile."""
    root = tmp_path_factory.mktemp("root")
    copy_package(root)
    precompile.precompile(python, str(root))
    return root


@pytest.fixture
def root(compiled_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A precompiled copy of the package for this test alone, taken for the running one."""
    copied = tmp_path / "root"
    shutil.copytree(compiled_root, copied)
    monkeypatch.setattr(precompile, "package_root", lambda: str(copied))
    return copied


@pytest.fixture
def wired(python: str, root: Path, home_dir: str) -> entries.Wiring:
    """Entries that start the copied package."""
    return installer.wiring_for(python, home_dir)


@pytest.fixture
def user_settings(project_dir: str) -> Path:
    """The user's settings file; its folder exists, the file does not."""
    path = Path(installer.settings_path("user", project_dir))
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def run(world: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the `brimline` command in a process of its own, without a terminal."""

    def run_command(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", _MAIN, *arguments],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
            env=os.environ | env,
        )

    return run_command


def copy_package(root: Path) -> None:
    """Copy the sources of the package, without byte code."""
    source = Path(brimline.__file__).parent
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(source, root / "brimline", ignore=ignore)
