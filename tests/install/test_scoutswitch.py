"""`brimline scout on` and `off`: the one registration that reads cost, and back to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from brimline import config
from brimline.fast import paths
from brimline.install import installer, program
from brimline.install.pieces import plugin
from brimline.install.pieces.plugin import NewPlugin
from brimline.install.scoutswitch import off, on

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    import click

    from brimline.install import entries

    Run = Callable[..., subprocess.CompletedProcess[str]]

ORIGINAL = b'{\r\n\t"model": "opus",\r\n\t"statusLine": {"type": "command", "command": "date"}\r\n}'
NARROW = "Agent|Task|Skill|Write"
WIDE = f"{NARROW}|Read|Glob|Grep|Bash"


@pytest.fixture
def installed(user_settings: Path, wired: entries.Wiring, home_dir: str, project_dir: str) -> Path:
    """The user's settings with brimline in them."""
    user_settings.write_bytes(ORIGINAL)
    installer.install(str(user_settings), wired, home_dir, project_dir)
    return user_settings


@pytest.mark.row("S0-32", "S2-46")
def test_on_and_off_is_a_round_trip(installed: Path, home_dir: str) -> None:
    """The matcher widens and narrows; then the bytes are the installed ones, and the original's."""
    before = installed.read_bytes()
    assert _matcher(installed) == NARROW

    _switch(on)
    assert _matcher(installed) == WIDE
    _switch(off)

    assert installed.read_bytes() == before
    installer.uninstall(str(installed), home_dir)
    assert installed.read_bytes() == ORIGINAL


def test_uninstalling_with_the_scout_on_restores_every_byte(installed: Path, home_dir: str) -> None:
    """The wider entry is ours as well."""
    _switch(on)

    installer.uninstall(str(installed), home_dir)

    assert installed.read_bytes() == ORIGINAL


def test_nothing_but_the_matcher_changes(installed: Path) -> None:
    """The client asks about reads through the same entry."""
    before = json.loads(installed.read_bytes())
    _switch(on)
    after = json.loads(installed.read_bytes())

    after["hooks"]["PreToolUse"][0]["matcher"] = NARROW
    assert after == before


def test_the_report_names_what_was_changed(installed: Path) -> None:
    """A second time there is nothing to change."""
    assert _switch(on) == {"scout": "on", "settings": [str(installed)], "problem": None}
    assert _switch(on) == {"scout": "on", "settings": [], "problem": None}
    assert _switch(off) == {"scout": "off", "settings": [str(installed)], "problem": None}
    assert _switch(off) == {"scout": "off", "settings": [], "problem": None}


def test_a_person_is_told_that_it_holds_in_new_sessions(installed: Path) -> None:
    """The client reads its settings when a session starts."""
    text = CliRunner().invoke(on, [], catch_exceptions=False).output

    assert text == f"The scout is on in new sessions ({installed}).\n"


def test_the_setting_is_written_and_in_force(
    installed: Path, home_dir: str, project_dir: str
) -> None:
    """A later install keeps the scout as it was switched."""
    for command, mode in ((on, "advise"), (off, "off")):
        _switch(command)
        assert config.load(home_dir, project_dir).values["scout.mode"] == mode
    config.change(paths.user_config(home_dir), "scout.mode", "block", project=False)
    _switch(on)
    assert config.load(home_dir, project_dir).values["scout.mode"] == "block"


def test_every_place_that_brimline_is_installed_in_is_renewed(
    installed: Path, wired: entries.Wiring, home_dir: str, project_dir: str
) -> None:
    """The user's settings and the project's own."""
    project = Path(installer.settings_path("project", project_dir))
    project.parent.mkdir()
    project.write_bytes(b"{}\n")
    installer.install(str(project), wired, home_dir, project_dir)

    report = _switch(on)

    assert sorted(report["settings"]) == sorted([str(installed), str(project)])
    assert _matcher(installed) == _matcher(project) == WIDE


@pytest.mark.parametrize("mcp", [True, False])
def test_a_plugin_follows_the_switch(
    mcp: bool, user_settings: Path, wired: entries.Wiring, home_dir: str
) -> None:
    """Also alone, and with or without its server, as it was."""
    NewPlugin(home_dir, wired, program.find(wired.home), mcp=mcp).apply()
    folder = Path(plugin.folder(home_dir))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    hooks = folder / "brim" / "hooks" / "hooks.json"

    assert _switch(on) == {"scout": "on", "settings": [], "problem": None}
    assert _matcher(hooks) == WIDE
    _switch(off)

    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("word", ["on", "off"])
@pytest.mark.parametrize("content", [None, ORIGINAL])
def test_without_an_installation_it_is_one_sentence(
    word: str, content: bytes | None, user_settings: Path, run: Run, home_dir: str
) -> None:
    """Nothing is written, neither of the client's nor of ours."""
    if content is not None:
        user_settings.write_bytes(content)

    done = run("scout", word)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "brimline: brimline is not installed here yet: run `brimline install` first\n"
    )
    assert user_settings.exists() is (content is not None)
    assert content is None or user_settings.read_bytes() == content
    assert not Path(paths.user_config(home_dir)).exists()


def _switch(command: click.Command) -> dict[str, Any]:
    result = CliRunner().invoke(command, ["--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    report: dict[str, Any] = json.loads(result.output)
    return report


def _matcher(path: Path) -> str:
    (group,) = json.loads(path.read_bytes())["hooks"]["PreToolUse"]
    return str(group["matcher"])
