"""brimline as a plugin of the real client: loaded, installed, disabled, removed, doubled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from brimline.settings.clientsettings import RECALL_RULES
from brimline.store import stub as stubs

from .own_environment import OwnEnvironment
from .stub_api import bash, filled, rounds, text

if TYPE_CHECKING:
    from .harness import Client, PrintResult
    from .stub_api import StubApi

EVENTS = ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"]
THEIRS = b'{\n    "model": "claude-sonnet-4-5",   "cleanupPeriodDays": 365,\n\t"x": [1, 2.50]}'
BIG = "seq -f 'line %05g of a large result' 1 2000"


@pytest.fixture
def here(client: Client) -> OwnEnvironment:
    """brimline not installed yet, the client on PATH, settings of the user's own."""
    client.settings_path().write_bytes(THEIRS)
    return OwnEnvironment(client)


def heard(client: Client, stub: StubApi, here: OwnEnvironment, *arguments: str) -> list[str]:
    """The events that hooks recorded of a session with one quiet tool call."""
    stub.script(bash("true", filled(30_000)), text("end", filled(31_000)))
    run = client.run_print("go", args=arguments)
    return here.events(run.session_id)


def climb(client: Client, stub: StubApi) -> PrintResult:
    """A session with a large result, and a tier that it enters."""
    stub.script(bash(BIG, filled(138_000)), *rounds(144_000, 145_000, 146_000))
    stub.script(text("end", filled(147_000)))
    run = client.run_print("go")
    assert run.requests[-1].seen_text().count("[brimline] ") == 1
    assert "does not match" not in json.dumps(run.rows)
    return run


def test_it_can_be_tried_for_a_session(client: Client, stub: StubApi, here: OwnEnvironment) -> None:
    """With `--plugin-dir`: hooks fire, commands are there, nothing is installed."""
    done = here.command("install", "--as", "plugin", "--yes", env={"PATH": "/usr/bin:/bin"})
    assert b"claude plugin install brim@brimline" in done.stdout
    tried = ["--plugin-dir", str(here.data / "plugin" / "brim")]

    assert heard(client, stub, here, *tried) == EVENTS
    begun, _ = client.converse("hello", args=tried)
    assert "brim:pin" in begun["slash_commands"]
    (server,) = begun["mcp_servers"]
    assert RECALL_RULES[-1] == f"mcp__{server['name'].replace(':', '_')}__recall"
    assert heard(client, stub, here) == []
    assert here.errors() == ""


@pytest.mark.row("S4-44")
def test_installed_disabled_removed(client: Client, stub: StubApi, here: OwnEnvironment) -> None:
    """Hooks fire exactly while the client has it on, and the settings end byte for byte."""
    first = here.report("install", "--as", "plugin", "--yes")
    assert len(first["client_calls"]) == 2
    assert here.report("install", "--as", "plugin", "--yes")["changed"] is False
    assert b"enabledPlugins" in client.settings_path().read_bytes()
    folder = here.data / "plugin"
    for checked in (folder, folder / "brim"):
        here.claude("plugin", "validate", "--strict", str(checked))
    findings = {f["check"]: f for f in here.report("doctor")["findings"]}
    assert findings["plugin"]["level"] == "ok"
    assert "both-ways" not in findings

    # Commands and the server come under the plugin's name, tiers and references as usual.
    stub.script(text("end", filled(43_210)))
    begun, (_, status) = client.converse("hello", "/brim:status")
    assert {f"brim:{name}" for name in ("pin", "status", "card")} <= set(begun["slash_commands"])
    assert [found["name"] for found in begun["mcp_servers"]] == ["plugin:brim:brimline"]
    assert "43,210" in status
    assert len(stub.requests("main")) == 1
    shown, *_ = climb(client, stub).requests[-1].results()
    found = stubs.parse(shown)
    assert found is not None
    stored = here.command("store", "get", found.key).stdout.decode()
    assert stored.splitlines()[-1] == "line 02000 of a large result"
    assert "line 01000 of a large result" not in shown

    here.claude("plugin", "disable", "brim@brimline")
    assert heard(client, stub, here) == []
    calls = here.report("install", "--as", "plugin", "--yes")["client_calls"]
    assert calls == ["claude plugin install brim@brimline"]
    assert heard(client, stub, here) == EVENTS
    here.report("uninstall", "--yes")
    assert heard(client, stub, here) == []
    assert not folder.exists()
    assert "brim@brimline" not in client.settings_path().read_text(encoding="utf-8")


@pytest.mark.row("S4-43")
def test_both_ways_together_have_one_effect_and_go_byte_for_byte(
    client: Client, stub: StubApi, here: OwnEnvironment
) -> None:
    """The client starts both; one line per event, one announcement, one blob, server, command."""
    here.install("--as", "plugin")
    here.install()

    run = climb(client, stub)

    told = [event for event in here.events(run.session_id) if event in EVENTS]
    assert told == ["SessionStart", "UserPromptSubmit", *["PostToolUse"] * 4, "Stop"]
    assert stubs.parse(run.requests[-1].results()[0]) is not None
    assert json.loads(here.command("store", "list", "--json").stdout)["blobs"] == 1
    assert (here.data / "sessions" / run.session_id / "yields-to-settings").exists()
    begun, _ = client.converse("hello")
    assert begun["slash_commands"].count("brim:status") == 1
    assert [found["name"] for found in begun["mcp_servers"]] == ["brimline"]
    findings = {f["check"]: f for f in here.report("doctor")["findings"]}
    assert "yield" in findings["both-ways"]["why"]
    assert (findings["mcp"]["level"], findings["slash-commands"]["level"]) == ("ok", "ok")
    assert here.errors() == ""
    assert here.command("uninstall", "--yes").returncode == 0
    assert client.settings_path().read_bytes() == THEIRS
