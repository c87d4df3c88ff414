"""How the command is started without PATH."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import brimline
from brimline.install import precompile, program

_FIND = (
    "import json,sys;sys.path.insert(0,{root!r});from brimline.install import program;"
    "print(json.dumps(program.find(None)._asdict()))"
)


def test_it_is_the_very_command_that_runs_now(project_dir: str) -> None:
    """Started as it says, from any folder, it is this version."""
    found = program.find(None)
    shadow = Path(project_dir, "brimline")
    shadow.mkdir()
    (shadow / "__init__.py").write_text("raise SystemExit('a stranger was run')")

    done = subprocess.run(
        [found.interpreter, *found.arguments("--version")], capture_output=True, check=False
    )

    assert found.interpreter == os.path.abspath(sys.executable)
    assert found.options == ("-I", "-m", "brimline")
    assert done.stdout.decode().split()[-1] == brimline.__version__


def test_a_copy_that_nothing_leads_to_is_named(root: Path) -> None:
    """A checkout on PYTHONPATH: the code that starts it names its folder."""
    found = program.find("/data")

    assert found.options[:2] == ("-I", "-c")
    assert str(root) in found.options[2]
    assert found.environment() == {"BRIMLINE_HOME": "/data"}
    assert found.line("status") is None
    done = subprocess.run(
        [found.interpreter, *found.arguments("--version")], capture_output=True, check=True
    )
    assert done.stdout.decode().split()[-1] == brimline.__version__


def test_packages_of_the_user_are_found(world: Path, python: str) -> None:
    """Installed by `pip install --user`, it takes the option that keeps these in reach."""
    env = {"HOME": str(world / "home"), "PATH": os.environ["PATH"]}
    ask = [python, "-c", "import site;print(site.getusersitepackages())"]
    folder = Path(subprocess.check_output(ask, env=env, text=True).strip())
    source = Path(precompile.package_root(), "brimline")
    shutil.copytree(source, folder / "brimline", ignore=shutil.ignore_patterns("__pycache__"))

    told = subprocess.check_output([python, "-c", _FIND.format(root=str(folder))], env=env)

    assert json.loads(told)["options"] == ["-P", "-m", "brimline"]


@pytest.mark.parametrize(
    ("version", "missing"), [(None, True), ("1.28.0", True), ("2.0.0", False), ("2.1b1", False)]
)
def test_the_sdk_counts_from_version_2_on(
    version: str | None, missing: bool, world: Path, python: str
) -> None:
    """An older one cannot run the server."""
    site = world / "env"
    subprocess.run([python, "-m", "venv", "--without-pip", str(site)], check=True)
    (packages,) = site.glob("lib/python*/site-packages")
    if version:
        (packages / f"mcp-{version}.dist-info").mkdir()
        metadata = f"Metadata-Version: 2.1\nName: mcp\nVersion: {version}\n"
        (packages / f"mcp-{version}.dist-info" / "METADATA").write_text(metadata)

    assert program.sdk_is_missing(f"{site}/bin/python", ["-I", "-m", "brimline"]) is missing


def test_an_interpreter_that_does_not_run_has_no_sdk(world: Path) -> None:
    """Whatever stands in its place."""
    assert program.sdk_is_missing(f"{world}/gone", [])
    assert program.sdk_is_missing("/bin/true", ["-I"])
