"""The plugin's launcher: which Python it finds, and whose word it takes for that."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.processes import copy_package

from brimline import __version__
from brimline.fast import paths
from brimline.testing import SessionBuilder, event

FOLDER = Path(__file__).parents[2] / "plugin"
PLACES = re.compile(r"/(usr/local|opt/homebrew|usr)/bin(?=/(?:python3|uv)\b)")
REAL = os.path.realpath(sys.executable)
OLD = "#!/bin/sh\nexit 0\n"
SHIM = f'#!/bin/sh\nexec {REAL} "$@"\n'
UV = f'#!/bin/sh\n[ "$1 $2" = "python find" ] && echo {REAL}\n'


class Plugin:
    """The plugin in the client's folder, on a machine that has nothing but some programs."""

    def __init__(self, world: Path, programs: dict[str, str]) -> None:
        self.machine, self.config = world / "machine", world / "config"
        root = self.config / "plugins" / "cache" / "market" / "brimline" / "1"
        copy_package(root)
        text = PLACES.sub(lambda at: f"{self.machine}{at[0]}", (FOLDER / "hooks/start").read_text())
        assert 'eval "home=~$name"' in text
        text = text.replace('eval "home=~$name"', f"home={self.machine}/home")
        self.start = place(root / "hooks" / "start", text)
        self.runner = root / "hooks" / "run"
        self.runner.symlink_to("start")
        self.noted = root / ".python"
        for name, program in programs.items():
            place(self.machine / name, program)

    def run(self, session: SessionBuilder, name: str = "SessionStart", **env: str) -> str:
        """What it answers to an event."""
        program = self.start if name == "SessionStart" else self.runner
        done = subprocess.run(
            [str(program), f"{self.config}/plugins/data/brimline-market", name],
            input=json.dumps(event(name, session, source="startup")).encode(),
            capture_output=True,
            check=True,
            env=env,
            timeout=60,
        )
        assert done.stderr == b""
        return done.stdout.decode()


def place(path: Path, text: str) -> Path:
    """Write a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "programs",
    [
        {"usr/bin/python3": SHIM},
        {"usr/bin/python3": OLD, "opt/homebrew/bin/python3": SHIM},
        {"usr/bin/python3": "no program", "usr/local/bin/python3.13": SHIM},
        {"home/.pyenv/versions/3.12.1/bin/python3": SHIM},
        {"home/.local/bin/uv": UV},
        {"usr/local/bin/uv": OLD, "home/.cargo/bin/uv": UV},
    ],
)
def test_it_finds_a_python_that_can_run_us_once(
    programs: dict[str, str], world: Path, session: SessionBuilder
) -> None:
    """The program itself, not a shim; an older one is passed over."""
    plugin = Plugin(world, programs)

    plugin.run(session)

    found = plugin.noted.read_text().splitlines()
    assert os.path.realpath(found[0]) == REAL
    assert found[1] == f"{plugin.machine}/home"
    assert os.path.isdir(plugin.config / "brimline" / "sessions" / session.session_id)
    for name in programs:
        (plugin.machine / name).unlink()
    plugin.run(session, "Stop")
    spool = plugin.config / "brimline" / "sessions" / session.session_id / "spool.jsonl"
    assert '"Stop"' in spool.read_text()


def test_a_projects_variables_name_no_program_and_no_folder(
    world: Path, session: SessionBuilder
) -> None:
    """Whatever the launcher calls its own, and where nothing can be noted as well."""
    evil = place(world / "evil" / "python3", f"#!/bin/sh\ntouch {world}/was-run\n")
    for name in ("mv", "id", "env", "printf"):
        place(world / "evil" / name, evil.read_text())
    names = ("python", "home", "found", "known", "told", "each", "client", "folder", "data", "root")
    env: dict[str, Any] = dict.fromkeys(names, str(evil))
    env |= {"PATH": str(evil.parent), "HOME": str(evil.parent), "ENV": str(evil), "IFS": "/"}
    env |= {"BRIMLINE_HOME": str(evil.parent), "CLAUDE_CONFIG_DIR": str(evil.parent)}
    plugin = Plugin(world, {"usr/bin/python3": SHIM})
    plugin.noted.mkdir()

    plugin.run(session, **env)

    assert not (world / "was-run").exists()
    assert os.listdir(plugin.config / "brimline")
    assert sorted(os.listdir(evil.parent)) == ["env", "id", "mv", "printf", "python3"]


def test_without_a_python_it_says_so_once_and_is_silent(
    world: Path, session: SessionBuilder
) -> None:
    """One that was installed meanwhile is found at the next session's start."""
    plugin = Plugin(world, {"usr/bin/python3": OLD})

    told = [plugin.run(session, name) for name in ("SessionStart", "SessionStart", "Stop", "mod")]

    assert "no Python 3.11 or newer" in json.loads(told[0])["systemMessage"]
    assert told[1:3] == ["", ""]
    assert "pass" in json.loads(told[3])
    place(plugin.machine / "usr/bin/python3", SHIM)
    assert plugin.run(session, "Stop") == ""
    assert not (plugin.config / "brimline").exists()
    plugin.run(session)
    assert (plugin.config / "brimline").exists()


def test_where_its_python_has_gone_it_starts_as_before(
    world: Path, session: SessionBuilder
) -> None:
    """From the next session's start on; until then what named it cannot be started."""
    plugin = Plugin(world, {})
    plugin.runner.unlink()
    place(plugin.runner, "#!/gone/python3 -IS\n")
    plugin.noted.write_text("/gone/python3\n/home\n")

    assert "no Python 3.11 or newer" in plugin.run(session)

    assert plugin.run(session, "Stop") == ""


def test_there_is_one_version_and_no_copy_of_the_code() -> None:
    """The plugin's is the package's, and that of the newest entry of the changelog."""
    about = json.loads((FOLDER / paths.PLUGIN_MANIFEST[1:]).read_text())
    changelog = (FOLDER.parent / "CHANGELOG.md").read_text()
    changes = re.findall(r"^## \[(\d.*?)\]", changelog, re.MULTILINE)

    assert about["version"] == __version__ == changes[0]
    assert (FOLDER / "brimline").readlink() == Path("../src/brimline")
