"""What `doctor` says about slash commands and the MCP server."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.install import checks_user, installer, program
from brimline.install.pieces.mcp_server import McpServer
from brimline.install.pieces.plugin import NewPlugin
from brimline.install.pieces.slash_commands import SlashCommands, folder

from . import fake_claude

if TYPE_CHECKING:
    from brimline.install import entries
    from brimline.install.finding import Finding

# The commands that run something, which the client has to be able to check.
RUNNING = "/brim:card"


@pytest.fixture
def started(home_dir: str) -> program.Program:
    """The command as it would be started here."""
    return program.find(installer.home_to_bake(home_dir))


@pytest.fixture
def client(no_client: Path) -> None:
    """A client on PATH that does what it is asked for."""
    fake_claude.put_on_path(no_client)


@pytest.fixture
def wired_in_settings(
    user_settings: Path, python: str, home_dir: str, project_dir: str
) -> entries.Wiring:
    """Hooks in the user's settings, and nothing else."""
    wired = installer.wiring_for(python, home_dir)
    installer.install(str(user_settings), wired, home_dir, project_dir)
    return wired


def found(home_dir: str, project_dir: str) -> dict[str, Finding]:
    """The findings by check."""
    return {finding.check: finding for finding in checks_user.findings(home_dir, project_dir)}


def state(world: Path, server: dict[str, Any]) -> None:
    """Put a server into the client's state."""
    path = world / "home" / ".claude" / ".claude.json"
    path.write_text(json.dumps({"mcpServers": {"brimline": server}}))


def test_a_complete_installation_is_well(
    wired_in_settings: entries.Wiring, client: None, started: program.Program,
    home_dir: str, project_dir: str,
) -> None:  # fmt: skip
    """Both are there and current."""
    SlashCommands(home_dir, started).apply()
    McpServer(started).apply()

    assert {key: f.level for key, f in found(home_dir, project_dir).items()} == {
        "slash-commands": "ok",
        "mcp": "ok",
    }


def test_without_hooks_in_the_users_settings_nothing_is_missed(
    home_dir: str, project_dir: str
) -> None:
    """Whoever installed in one project only has no commands, and needs none."""
    assert found(home_dir, project_dir) == {}


def test_missing_and_old_commands_are_named(
    wired_in_settings: entries.Wiring, started: program.Program, home_dir: str, project_dir: str
) -> None:
    """The remedy writes them."""
    old = started._replace(interpreter="/old/python")
    SlashCommands(home_dir, old).apply()
    Path(folder(), "pin.md").unlink()

    finding = found(home_dir, project_dir)["slash-commands"]

    assert (finding.level, finding.fix) == ("warning", "brimline install")
    assert finding.what == f"missing or out of date: /brim:pin, {RUNNING}, program.json"
    SlashCommands(home_dir, started).apply()
    assert found(home_dir, project_dir)["slash-commands"].level == "ok"


def test_a_changed_command_is_a_note(
    wired_in_settings: entries.Wiring, started: program.Program, home_dir: str, project_dir: str
) -> None:
    """It is the user's right, and may be forgotten by now."""
    SlashCommands(home_dir, started).apply()
    Path(folder(), "status.md").write_text("mine")

    finding = found(home_dir, project_dir)["slash-commands"]

    assert finding.level == "note"
    assert "status.md" in finding.what


def test_commands_that_cannot_be_offered_are_a_note(
    wired_in_settings: entries.Wiring, root: Path, home_dir: str, project_dir: str
) -> None:
    """The package lies where no plain line leads to it."""
    SlashCommands(home_dir, program.find(installer.home_to_bake(home_dir))).apply()

    finding = found(home_dir, project_dir)["slash-commands"]

    assert finding.level == "note"
    assert finding.what == f"{RUNNING} cannot be offered"


@pytest.mark.parametrize("on_path", [True, False])
def test_a_server_that_is_not_registered_is_a_note(
    on_path: bool, wired_in_settings: entries.Wiring, no_client: Path, home_dir: str,
    project_dir: str,
) -> None:  # fmt: skip
    """The remedy is the installer, or the very command where the client is not on PATH."""
    if on_path:
        fake_claude.put_on_path(no_client)

    finding = found(home_dir, project_dir)["mcp"]

    assert finding.level == "note"
    assert finding.fix.startswith("brimline install" if on_path else "claude mcp add -s user ")


def test_a_server_without_its_sdk_is_broken(
    wired_in_settings: entries.Wiring, world: Path, python: str, home_dir: str, project_dir: str
) -> None:
    """The interpreter that is registered counts, not the one that runs now."""
    state(world, {"command": "/usr/bin/python3", "args": ["-S", "-I", "-m", "brimline", "mcp"]})
    if not os.path.exists("/usr/bin/python3") or _has_sdk("/usr/bin/python3"):
        pytest.skip("the system's Python has the SDK, or there is none")

    finding = found(home_dir, project_dir)["mcp"]

    assert finding.level == "broken"
    assert "lacks the library `mcp`" in finding.what


def test_a_server_whose_interpreter_is_gone_is_broken(
    wired_in_settings: entries.Wiring, world: Path, home_dir: str, project_dir: str
) -> None:
    """An environment was deleted; installing anew mends it."""
    state(world, {"command": "/gone/python", "args": ["-I", "-m", "brimline", "mcp"]})

    finding = found(home_dir, project_dir)["mcp"]

    assert (finding.level, finding.fix) == ("broken", "brimline install")
    assert "/gone/python" in finding.what


def test_a_server_that_is_started_in_another_way_is_a_warning(
    wired_in_settings: entries.Wiring, client: None, started: program.Program,
    home_dir: str, project_dir: str,
) -> None:  # fmt: skip
    """Such as with another data folder."""
    McpServer(started._replace(home="/another")).apply()

    assert found(home_dir, project_dir)["mcp"].level == "warning"


def test_a_server_of_somebody_else_is_a_note(
    wired_in_settings: entries.Wiring, world: Path, home_dir: str, project_dir: str
) -> None:
    """Its name is ours, and the remedy says how to get it."""
    state(world, {"command": "node", "args": ["server.js"]})

    finding = found(home_dir, project_dir)["mcp"]

    assert finding.level == "note"
    assert finding.fix.startswith("claude mcp remove -s user brimline")


def test_two_servers_in_different_ways_are_a_warning(
    wired_in_settings: entries.Wiring, client: None, started: program.Program,
    home_dir: str, project_dir: str,
) -> None:  # fmt: skip
    """In the same way the client drops the plugin's, and all is well."""
    NewPlugin(home_dir, wired_in_settings, started, mcp=True).apply()
    McpServer(started).apply()
    assert "mcp-twice" not in found(home_dir, project_dir)
    McpServer(started).remove()
    McpServer(started._replace(options=("-P", "-m", "brimline"))).apply()

    assert found(home_dir, project_dir)["mcp-twice"].level == "warning"


def test_the_plugins_server_is_enough(
    wired_in_settings: entries.Wiring, client: None, started: program.Program,
    home_dir: str, project_dir: str,
) -> None:  # fmt: skip
    """Then nobody is told to register another one."""
    NewPlugin(home_dir, wired_in_settings, started, mcp=True).apply()

    assert "mcp" not in found(home_dir, project_dir)


def _has_sdk(interpreter: str) -> bool:
    return not program.sdk_is_missing(interpreter, ["-I"])
