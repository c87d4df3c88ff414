"""The plugin as files: the same wiring as in settings, from the same lists."""

from __future__ import annotations

import json

import pytest

from brimline import __version__
from brimline.hooks import table
from brimline.install import entries, pluginfiles
from brimline.install.program import Program
from brimline.slash import command_files

WIRED = entries.Wiring("/usr/bin/python3", "/opt/it's here/lib", "/data é")
STARTED = Program("/v/bin/python", ("-I", "-m", "brimline"), "/data é", has_sdk=True)


def test_it_registers_exactly_the_events_of_the_list() -> None:
    """With their matchers and timeouts, each marked as the plugin's."""
    hooks = json.loads(pluginfiles.files(WIRED, STARTED, mcp=True)[pluginfiles.HOOKS_FILE])["hooks"]

    assert list(hooks) == list(table.EVENTS)
    for event, answered in table.EVENTS.items():
        ((group,),) = [hooks[event]]
        (entry,) = group["hooks"]
        assert group.get("matcher") == answered.matcher()
        assert entry["timeout"] == answered.timeout_s
        assert entry["args"][-1] == event
        assert "'plugin')" in entry["args"][-2]


@pytest.mark.parametrize("scout", [True, False])
def test_the_scout_widens_it_as_it_does_the_settings(scout: bool) -> None:
    """One rule for both."""
    made = pluginfiles.files(WIRED._replace(scout=scout), STARTED, mcp=True)
    hooks = json.loads(made[pluginfiles.HOOKS_FILE])["hooks"]

    assert ("Read" in hooks["PreToolUse"][0]["matcher"]) is scout


def test_the_mark_does_not_hide_what_an_entry_says() -> None:
    """Doctor reads interpreter, package and data folder from it."""
    made = pluginfiles.files(WIRED, STARTED, mcp=True)
    found = pluginfiles.installed_hooks(made[pluginfiles.HOOKS_FILE])

    assert len(found) == len(table.EVENTS)
    for hook in found:
        assert (hook.interpreter, hook.root, hook.home) == WIRED[:3]


def test_the_server_comes_along_where_it_shall() -> None:
    """With the data folder in its environment, only where it is not the usual one."""
    made = pluginfiles.files(WIRED, STARTED, mcp=True)
    plain = pluginfiles.files(WIRED, STARTED._replace(home=None), mcp=True)
    server = {"command": "/v/bin/python", "args": ["-I", "-m", "brimline", "mcp"]}

    assert json.loads(made[pluginfiles.MCP_FILE])["mcpServers"]["brimline"] == server | {
        "env": {"BRIMLINE_HOME": "/data é"}
    }
    assert json.loads(plain[pluginfiles.MCP_FILE])["mcpServers"]["brimline"] == server
    assert pluginfiles.MCP_FILE not in pluginfiles.files(WIRED, STARTED, mcp=False)


def test_the_commands_are_the_same_files() -> None:
    """The plugin's name is their namespace."""
    made = pluginfiles.files(WIRED, STARTED, mcp=True)
    made_files = {
        name.rpartition("/")[2]: raw for name, raw in made.items() if "/commands/" in name
    }

    assert made_files == command_files.files(STARTED.line)
    assert json.loads(made["brim/.claude-plugin/plugin.json"])["name"] == "brim"


def test_both_manifests_carry_the_version() -> None:
    """By it the client tells an upgrade."""
    made = pluginfiles.files(WIRED, STARTED, mcp=True)
    (listed,) = json.loads(made[".claude-plugin/marketplace.json"])["plugins"]

    assert listed["version"] == __version__
    assert json.loads(made["brim/.claude-plugin/plugin.json"])["version"] == __version__


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"hooks": 1}', b'{"hooks": {"Stop": [1]}}'])
def test_a_damaged_hooks_file_holds_nothing(raw: bytes) -> None:
    """Doctor then says that the plugin is broken, instead of failing itself."""
    assert pluginfiles.installed_hooks(raw) == []
