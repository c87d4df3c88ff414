"""The pieces of an installation: planned, applied, applied again, removed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.errors import InstallError
from brimline.install import clientstate, ways
from brimline.install.pieces import mcp_server, plugin
from brimline.install.pieces.mcp_server import McpServer
from brimline.install.pieces.plugin import NewPlugin, Plugin
from brimline.install.pieces.slash_commands import SlashCommands, folder
from brimline.install.program import Program
from brimline.slash.command_files import COMMANDS

from . import fake_claude

if TYPE_CHECKING:
    from brimline.install import entries

STARTED = Program("/v/bin/python", ("-I", "-m", "brimline"), None, has_sdk=True)
ORIGINAL = b'{\r\n\t"model": "opus",   "n": [1, 2.50]\r\n}'

# The commands that run something, which the client has to be able to check.
RUNNING = "/brim:card"


@pytest.fixture
def config(user_settings: Path) -> Path:
    """The client's configuration folder."""
    return user_settings.parent


@pytest.fixture
def client(no_client: Path, config: Path) -> Path:
    """A client on PATH that does what it is asked for; its configuration folder."""
    fake_claude.put_on_path(no_client)
    return config


# --- slash commands ----------------------------------------------------------------------------


def test_slash_commands_come_and_go(home_dir: str, config: Path) -> None:
    """In the namespace's folder, which goes with them, as does the one around it."""
    piece = SlashCommands(home_dir, STARTED)

    assert len(piece.plan().files) == len(COMMANDS) + 1
    assert not os.path.exists(folder())
    piece.apply()
    assert {"pin.md", "card.md"} <= set(os.listdir(folder()))
    assert not piece.plan().changes
    assert len(piece.remove().files) == len(COMMANDS) + 1
    assert os.listdir(config) == []


def test_a_command_of_the_users_stays_and_is_told(home_dir: str, config: Path) -> None:
    """The others are written around it."""
    theirs = Path(folder(), "status.md")
    theirs.parent.mkdir(parents=True)
    theirs.write_text("my own status")
    piece = SlashCommands(home_dir, STARTED)

    (note,) = piece.apply().notes

    assert str(theirs) in note
    assert "left as it is" in note
    piece.remove()
    assert theirs.read_text() == "my own status"
    assert os.listdir(folder()) == ["status.md"]


def test_an_edited_command_stays_and_is_told(home_dir: str, config: Path) -> None:
    """Removing must not destroy what somebody wrote into it."""
    piece = SlashCommands(home_dir, STARTED)
    piece.apply()
    edited = Path(folder(), "pin.md")
    edited.write_text(edited.read_text() + "and shorter")

    (note,) = piece.remove().notes

    assert str(edited) in note
    assert os.listdir(folder()) == ["pin.md"]


def test_what_cannot_be_offered_is_told(home_dir: str, config: Path) -> None:
    """By the names that people would type."""
    (note,) = SlashCommands(home_dir, STARTED._replace(interpreter="/a(b)/python")).plan().notes

    assert note.startswith(f"{RUNNING} left out")


# --- the MCP server ----------------------------------------------------------------------------


def test_the_server_is_registered_once_and_removed(client: Path) -> None:
    """Through the client; a second time there is nothing to do."""
    piece = McpServer(STARTED._replace(home="/my data"))

    (line,) = piece.apply().call_lines
    variable, server = "-e 'BRIMLINE_HOME=/my data'", "/v/bin/python -I -m brimline mcp"
    assert line == f"claude mcp add -s user brimline {variable} -- {server}"
    assert clientstate.server() == mcp_server.wanted(piece.started)
    assert not piece.apply().changes
    assert piece.remove().call_lines == ["claude mcp remove -s user brimline"]
    assert clientstate.server() is None
    assert not piece.remove().changes
    assert len(fake_claude.calls(client)) == 2


def test_another_interpreter_means_removing_and_adding(client: Path) -> None:
    """The client refuses a name that it knows."""
    McpServer(STARTED).apply()
    moved = McpServer(STARTED._replace(interpreter="/new/python"))

    assert [call[1] for call in moved.plan().calls] == ["remove", "add"]
    assert moved.apply().warnings == []
    assert clientstate.server() == mcp_server.wanted(moved.started)


def test_without_the_client_the_exact_command_is_handed_over(config: Path) -> None:
    """Nothing is tried, and nothing counts as a change."""
    (line,) = McpServer(STARTED).apply().to_do

    assert line.startswith("claude mcp add -s user brimline -- /v/bin/python -I -m brimline mcp ")
    assert os.listdir(config) == []


def test_a_registered_server_without_the_client_is_handed_over_for_removal(
    client: Path, no_client: Path
) -> None:
    """The client was taken off PATH since."""
    McpServer(STARTED).apply()
    (no_client / "claude").unlink()

    plan = McpServer(STARTED).remove()

    assert not plan.changes
    assert plan.to_do[0].startswith("claude mcp remove -s user brimline ")


def test_without_the_sdk_the_user_is_told_what_to_install(client: Path) -> None:
    """A server that cannot start is not registered."""
    plan = McpServer(STARTED._replace(has_sdk=False)).apply()

    assert plan.to_do[0].startswith("pip install '.[mcp]' && brimline install ")
    assert fake_claude.calls(client) == []


def test_a_server_of_somebody_else_keeps_the_name(client: Path) -> None:
    """It is neither replaced nor removed."""
    state = {"mcpServers": {"brimline": {"command": "node", "args": ["x.js"]}}}
    (client / ".claude.json").write_text(json.dumps(state))
    piece = McpServer(STARTED)

    assert "not ours" in piece.apply().notes[0]
    assert not piece.remove().changes
    assert fake_claude.calls(client) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [("#!/bin/sh\necho no room >&2\nexit 1\n", "failed: no room"), ("#!/bin/sh\n", "but did not")],
)
def test_a_client_that_does_not_do_it_is_one_sentence(
    text: str, reason: str, no_client: Path, config: Path
) -> None:
    """Whether it says so or not; the command is left for the user where it failed."""
    fake_claude.script(no_client, text)

    plan = McpServer(STARTED).apply()

    (warning,) = plan.warnings
    assert reason in warning
    assert bool(plan.to_do) is ("failed" in reason)


# --- the plugin --------------------------------------------------------------------------------


@pytest.fixture
def new(home_dir: str, wired: entries.Wiring) -> NewPlugin:
    """The plugin for the copied package."""
    return NewPlugin(home_dir, wired, STARTED, mcp=True)


def files(home_dir: str) -> list[str]:
    """What is in the plugin's folder."""
    root = Path(plugin.folder(home_dir))
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


@pytest.mark.parametrize("original", [ORIGINAL, None])
def test_the_plugin_comes_and_goes_without_a_trace(
    original: bytes | None, new: NewPlugin, client: Path, user_settings: Path, home_dir: str
) -> None:
    """The settings that the client edits meanwhile are the same to the byte, or gone again."""
    if original is not None:
        user_settings.write_bytes(original)

    done = new.apply()

    assert [call[:3] for call in done.calls] == [
        ("plugin", "marketplace", "add"),
        ("plugin", "install", "brim@brimline"),
    ]
    assert clientstate.plugin_is_on() is True
    assert json.loads(user_settings.read_bytes())["enabledPlugins"] == {"brim@brimline": True}
    assert "brim/.mcp.json" in files(home_dir)
    assert not new.apply().changes
    assert Plugin(home_dir).remove().changes
    assert not os.path.exists(plugin.folder(home_dir))
    assert os.listdir(f"{home_dir}/install") == []
    assert (user_settings.read_bytes() if original else user_settings.exists()) == (
        original or False
    )
    assert not Plugin(home_dir).remove().changes


def test_backups_of_the_settings_are_kept(
    new: NewPlugin, client: Path, user_settings: Path
) -> None:
    """Each time before the client writes them anew."""
    user_settings.write_bytes(ORIGINAL)

    first = new.apply().backup
    edited = user_settings.read_bytes()
    second = Plugin(new.home_dir).remove().backup

    assert first is not None
    assert Path(first).read_bytes() == ORIGINAL
    assert second is not None
    assert Path(second).read_bytes() == edited


def test_it_refreshes_in_place(new: NewPlugin, client: Path, home_dir: str) -> None:
    """Another interpreter, no MCP server any more: the files follow, the client is not asked."""
    new.apply()
    moved = NewPlugin(home_dir, new.wired._replace(interpreter="/new/python3"), STARTED, mcp=False)

    plan = moved.apply()

    assert plan.calls == []
    assert {hook.interpreter for hook in ways.plugin_hooks(home_dir)} == {"/new/python3"}
    assert "brim/.mcp.json" not in files(home_dir)
    assert len(fake_claude.calls(client)) == 2


def test_edited_files_of_the_plugin_are_written_anew(
    new: NewPlugin, client: Path, home_dir: str
) -> None:
    """They are made, not kept."""
    new.apply()
    hooks = Path(plugin.folder(home_dir), "brim", "hooks", "hooks.json")
    wanted = hooks.read_bytes()
    hooks.write_text("{}")

    new.apply()

    assert hooks.read_bytes() == wanted


def test_a_disabled_plugin_is_installed_anew(
    new: NewPlugin, client: Path, user_settings: Path
) -> None:
    """The client's `install` enables it."""
    new.apply()
    settings = json.loads(user_settings.read_bytes())
    settings["enabledPlugins"]["brim@brimline"] = False
    user_settings.write_text(json.dumps(settings))

    assert [call[1] for call in new.plan().calls] == ["install"]


def test_without_the_client_the_commands_are_handed_over(
    new: NewPlugin, home_dir: str, user_settings: Path
) -> None:
    """The files are there; the settings are not touched."""
    plan = new.apply()

    folder_ = plugin.folder(home_dir)
    assert [text.partition("    #")[0] for text in plan.to_do] == [
        f"claude plugin marketplace add {folder_}",
        "claude plugin install brim@brimline",
    ]
    assert "brim/hooks/hooks.json" in files(home_dir)
    assert not user_settings.exists()


def test_removing_without_the_client_takes_the_files_and_hands_the_rest_over(
    new: NewPlugin, client: Path, no_client: Path, home_dir: str
) -> None:
    """Without its files the client starts nothing any more."""
    new.apply()
    (no_client / "claude").unlink()

    plan = Plugin(home_dir).remove()

    assert [text.partition("    #")[0] for text in plan.to_do] == [
        "claude plugin uninstall brim@brimline",
        "claude plugin marketplace remove brimline",
    ]
    assert not os.path.exists(plugin.folder(home_dir))


def test_without_the_sdk_the_plugin_comes_without_its_server(
    home_dir: str, wired: entries.Wiring, client: Path
) -> None:
    """And says what to install."""
    piece = NewPlugin(home_dir, wired, STARTED._replace(has_sdk=False), mcp=True)

    (line,) = piece.apply().to_do

    assert line.startswith("pip install '.[mcp]' && brimline install --as plugin ")
    assert "brim/.mcp.json" not in files(home_dir)


def test_a_failing_client_leaves_the_rest_to_the_user(
    new: NewPlugin, no_client: Path, user_settings: Path
) -> None:
    """From the call that failed on; the settings are as they were."""
    user_settings.write_bytes(ORIGINAL)
    fake_claude.script(no_client, "#!/bin/sh\necho 'not today' >&2\nexit 1\n")

    plan = new.apply()

    assert len(plan.warnings) == 1
    assert "not today" in plan.warnings[0]
    assert len(plan.to_do) == 2
    assert user_settings.read_bytes() == ORIGINAL


def test_somebody_elses_file_in_its_place_stops_it(new: NewPlugin, home_dir: str) -> None:
    """The data folder may be one that the user had before."""
    theirs = Path(plugin.folder(home_dir), ".claude-plugin", "marketplace.json")
    theirs.parent.mkdir(parents=True)
    theirs.write_text("theirs")

    with pytest.raises(InstallError, match="move it away"):
        new.plan()
    assert theirs.read_text() == "theirs"


@pytest.mark.parametrize(
    "source", [{"source": "github", "repo": "a/b"}, {"source": "directory", "path": "/"}]
)
def test_a_marketplace_of_somebody_else_stops_it(
    source: dict[str, Any], new: NewPlugin, client: Path, user_settings: Path
) -> None:
    """The client would silently point its name at us."""
    user_settings.write_text(
        json.dumps({"extraKnownMarketplaces": {"brimline": {"source": source}}})
    )

    with pytest.raises(InstallError, match="another marketplace"):
        new.plan()


def test_a_marketplace_of_another_data_folder_is_taken_over(
    new: NewPlugin, client: Path, world: Path, home_dir: str
) -> None:
    """Ours, from before the data folder was moved; also where that one is gone."""
    old = NewPlugin(str(world / "old"), new.wired, STARTED, mcp=True)
    old.apply()

    assert [call[2] for call in new.plan().calls] == ["add"]
    shutil.rmtree(world / "old")
    new.apply()
    assert clientstate.marketplace() == plugin.folder(home_dir)


def test_nothing_in_the_plugins_folder_is_state(
    new: NewPlugin, client: Path, home_dir: str
) -> None:
    """Its hooks name the data folder and write nowhere else."""
    new.apply()

    for hook in ways.plugin_hooks(home_dir):
        assert hook.home == home_dir
        assert hook.launcher == f"{plugin.folder(home_dir)}/brim/bin/hook"
        assert Path(hook.launcher).stat().st_mode & 0o777 == 0o700
        assert f"main({home_dir!r},'plugin')" in Path(hook.launcher).read_text()
