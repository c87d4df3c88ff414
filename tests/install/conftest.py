"""What the installer's tests share: a copy of the package, the command, a client, goldens."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

import brimline
from brimline.cli.surface import program
from brimline.errors import BrimlineError
from brimline.fast import paths
from brimline.install import pythons

from . import fake_claude

ORIGINAL = (
    b'{\r\n\t"model": "sonnet",  "x": [1, 2.50],'
    b'\r\n\t"statusLine": {"type": "command", "command": "date"}}'
)
_GOLDEN = Path(__file__).parent / "golden"


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """Its JSON."""
        found: dict[str, Any] = json.loads(self.out)
        return found


class Home:
    """One user's settings, the data folder, and the command."""

    def __init__(self, python: str, data: str, project: str) -> None:
        self.python, self.data, self.project = python, data, project
        self.config = Path(paths.client_config_dir())
        self.settings = self.config / "settings.json"
        self.launcher = Path(data, "bin", "hook")

    def run(self, *arguments: str, **env: str) -> Done:
        """Run `brimline`, without a terminal."""
        if arguments[0] == "install" and "--interpreter" not in arguments:
            arguments = (*arguments, "--interpreter", self.python)
        result = CliRunner().invoke(program, arguments, env=env or None)
        if isinstance(result.exception, BrimlineError):
            return Done(1, result.stdout, f"brimline: {result.exception}")
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Done(result.exit_code, result.stdout, result.stderr)

    def install(self, *arguments: str, **env: str) -> dict[str, Any]:
        """`brimline install --yes`; its report."""
        done = self.run("install", "--yes", "--json", *arguments, **env)
        assert done.code == 0, done.err
        return done.report

    def uninstall(self, *arguments: str, **env: str) -> dict[str, Any]:
        """`brimline uninstall --yes`; its report."""
        done = self.run("uninstall", "--yes", "--json", *arguments, **env)
        assert done.code == 0, done.err
        return done.report

    def findings(self, **env: str) -> dict[str, dict[str, str]]:
        """What `brimline doctor` finds, by check."""
        return {
            found["check"]: found
            for found in self.run("doctor", "--json", **env).report["findings"]
        }

    @property
    def value(self) -> Any:
        """The settings as a value."""
        return json.loads(self.settings.read_bytes())

    def edit(self, **values: Any) -> None:
        """Another program changes the settings."""
        self.settings.write_text(json.dumps(self.value | values, indent=3))

    def hook(self, event: str) -> list[str]:
        """The command that the client would start at an event."""
        entry = self.value["hooks"][event][0]["hooks"][0]
        return [entry["command"], *entry["args"]]

    def everything(self) -> dict[str, bytes]:
        """Every file in the user's home and the data folder."""
        folders = (self.config, Path(self.data), Path(self.project))
        found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        return {str(path): path.read_bytes() for path in found}


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


@pytest.fixture
def client(no_client: Path, home: Home) -> Home:
    """A client on PATH that does what it is asked for."""
    fake_claude.put_on_path(no_client)
    return home


@pytest.fixture(scope="session")
def python() -> str:
    """The interpreter that the tests install: the one that runs them, outside its environment."""
    return os.path.realpath(sys.executable)


@pytest.fixture(scope="session")
def compiled_root(tmp_path_factory: pytest.TempPathFactory, python: str) -> Path:
    """A precompiled copy of the package, safe from whoever compiles the real one meanwhile."""
    root = tmp_path_factory.mktemp("root")
    source = Path(brimline.__file__).parent
    left_out = shutil.ignore_patterns("__pycache__", "installed-*")
    shutil.copytree(source, root / "brimline", ignore=left_out)
    assert pythons.precompile_or_problem(python, str(root)) is None
    return root


@pytest.fixture(autouse=True)
def shared_root(compiled_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That copy is taken for the running one, which has all libraries."""
    monkeypatch.setattr(pythons, "package_root", lambda: str(compiled_root))
    monkeypatch.setenv("PYTHONPATH", str(compiled_root))
    started = pythons.Program(sys.executable, ("-I", "-m", "brimline"), None)
    monkeypatch.setattr(
        pythons, "program_of_this_process", lambda home_dir: started._replace(home=home_dir)
    )
    return compiled_root


@pytest.fixture
def root(shared_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy for this test alone, to be broken at will."""
    copied = tmp_path / "root"
    shutil.copytree(shared_root, copied)
    monkeypatch.setattr(pythons, "package_root", lambda: str(copied))
    return copied


@pytest.fixture
def home(python: str, home_dir: str, project_dir: str) -> Home:
    """A user with settings of their own, in which nothing of ours is yet."""
    made = Home(python, home_dir, project_dir)
    made.config.mkdir(parents=True)
    made.settings.write_bytes(ORIGINAL)
    return made


def check_golden(name: str, text: str, home: Home) -> None:
    """Compare a text for people with the one on record, paths aside.

    With UPDATE_GOLDEN set it is put on record instead.
    """
    named = {home.data: "DATA", str(home.config): "CONFIG", home.project: "PROJECT"}
    named |= {pythons.package_root(): "ROOT", home.python: "PYTHON", sys.executable: "VENV"}
    named[os.environ["HOME"]] = "HOME"
    for path, word in named.items():
        text = text.replace(path, word)
    file = _GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
