"""What `doctor` says about the plugin."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.install import checks_plugin, checkup, entries, installer, program
from brimline.install.pieces import plugin
from brimline.install.pieces.plugin import NewPlugin

from . import fake_claude

if TYPE_CHECKING:
    from brimline.install.finding import Finding


@pytest.fixture
def new(no_client: Path, user_settings: Path, wired: entries.Wiring, home_dir: str) -> NewPlugin:
    """The plugin for the copied package, and a client that installs it."""
    fake_claude.put_on_path(no_client)
    return NewPlugin(home_dir, wired, program.find(wired.home), mcp=True)


def found(home_dir: str, project_dir: str) -> dict[str, Finding]:
    """The findings by check."""
    return {finding.check: finding for finding in checks_plugin.findings(home_dir, project_dir)}


def test_without_a_plugin_nothing_is_said(home_dir: str, project_dir: str) -> None:
    """Most people have none."""
    assert found(home_dir, project_dir) == {}


def test_a_plugin_alone_is_an_installation(new: NewPlugin, home_dir: str, project_dir: str) -> None:
    """Nothing is broken; only the status line is missing, which a plugin cannot bring."""
    new.apply()

    told = found(home_dir, project_dir)

    assert {key: finding.level for key, finding in told.items()} == {
        "plugin": "ok",
        "launcher": "ok",
        "interpreter": "ok",
        "bytecode": "ok",
        "status-line": "note",
    }
    everything = checkup.examine(home_dir, project_dir)
    assert [f for f in everything if f.check == "entries"] == []
    assert "broken" not in {finding.level for finding in everything}


def test_both_ways_are_a_note_that_says_who_yields(
    new: NewPlugin, user_settings: Path, home_dir: str, project_dir: str
) -> None:
    """With the two commands that end it."""
    installer.install(str(user_settings), new.wired, home_dir, project_dir)
    new.apply()

    finding = found(home_dir, project_dir)["both-ways"]

    assert finding.level == "note"
    assert "the plugin's hooks yield" in finding.why
    assert finding.fix == "brimline uninstall --as plugin, or brimline uninstall --as settings"


def test_a_disabled_plugin_is_a_note_and_no_installation(
    new: NewPlugin, user_settings: Path, home_dir: str, project_dir: str
) -> None:
    """The client starts nothing of it."""
    new.apply()
    settings = json.loads(user_settings.read_bytes())
    settings["enabledPlugins"]["brim@brimline"] = False
    user_settings.write_text(json.dumps(settings))

    assert "disabled" in found(home_dir, project_dir)["plugin"].what
    entries_ = [f for f in checkup.examine(home_dir, project_dir) if f.check == "entries"]
    assert [finding.level for finding in entries_] == ["broken"]


def test_files_that_the_client_does_not_have_are_a_note(
    new: NewPlugin, no_client: Path, home_dir: str, project_dir: str
) -> None:
    """The user has yet to run the commands that were printed."""
    (no_client / "claude").unlink()
    new.apply()

    assert "does not have it" in found(home_dir, project_dir)["plugin"].what


def test_an_old_plugin_is_a_warning(new: NewPlugin, home_dir: str, project_dir: str) -> None:
    """Another version wrote it; installing anew mends it."""
    new.apply()
    manifest = Path(plugin.folder(home_dir), "brim", ".claude-plugin", "plugin.json")
    manifest.write_text(manifest.read_text().replace('"version": "', '"version": "0.0.'))

    finding = found(home_dir, project_dir)["plugin"]

    assert (finding.level, finding.fix) == ("warning", "brimline install --as plugin")
    new.apply()
    assert found(home_dir, project_dir)["plugin"].level == "ok"


def test_an_interpreter_that_is_gone_is_broken(
    new: NewPlugin, home_dir: str, project_dir: str
) -> None:
    """Hooks then do nothing."""
    gone = NewPlugin(
        home_dir, new.wired._replace(interpreter="/gone/python3"), new.started, mcp=True
    )
    gone.apply()

    finding = found(home_dir, project_dir)["interpreter"]

    assert (finding.level, finding.fix) == ("broken", "brimline install --as plugin")


@pytest.mark.parametrize("what", ["files", "hooks", "moved"])
def test_a_plugin_that_is_not_where_the_client_looks_is_broken(
    what: str, new: NewPlugin, world: Path, home_dir: str, project_dir: str
) -> None:
    """Its files were deleted, or the client has those of another data folder."""
    new.apply()
    if what == "files":
        shutil.rmtree(plugin.folder(home_dir))
    elif what == "hooks":
        Path(plugin.folder(home_dir), "brim", "hooks", "hooks.json").write_text("{}")
    else:
        NewPlugin(str(world / "other"), new.wired, new.started, mcp=True).apply()

    finding = found(home_dir, project_dir)["plugin"]

    assert (finding.level, finding.fix) == ("broken", "brimline install --as plugin")
    new.apply()
    assert found(home_dir, project_dir)["plugin"].level == "ok"


def test_our_status_line_beside_the_plugin_is_seen(
    new: NewPlugin, user_settings: Path, home_dir: str, project_dir: str
) -> None:
    """Added by hand, as the installer tells."""
    new.apply()
    settings = json.loads(user_settings.read_bytes())
    command = entries.statusline_command(new.wired)
    settings["statusLine"] = {"type": "command", "command": command}
    user_settings.write_text(json.dumps(settings))

    assert "status-line" not in found(home_dir, project_dir)
