"""brimline as a plugin of the real client: loaded, installed, disabled, removed, doubled."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from brimline.clientsettings import RECALL_RULES
from brimline.store import stub as stubs

from .own_environment import OwnEnvironment
from .stub_api import bash, filled, text

if TYPE_CHECKING:
    from .harness import Client, PrintResult
    from .stub_api import StubApi

EVENTS = ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"]
THEIRS = b'{\n    "model": "claude-sonnet-4-5",   "cleanupPeriodDays": 365,\n\t"x": [1, 2.50]}'
BIG = "seq -f 'line %05g of a large result' 1 2000"


@pytest.fixture
def here(client: Client) -> OwnEnvironment:
    """brimline not installed yet, the client on PATH."""
    return OwnEnvironment(client)


@pytest.fixture
def plugged(here: OwnEnvironment) -> OwnEnvironment:
    """brimline installed as a plugin, through the client."""
    here.install("--as", "plugin")
    return here


def go(client: Client, stub: StubApi, *arguments: str) -> PrintResult:
    """A session with one quiet tool call."""
    stub.script(bash("true", filled(30_000)), text("end", filled(31_000)))
    run = client.run_print("go", args=arguments)
    assert run.result is not None, run.stderr
    return run


def events(here: OwnEnvironment, run: PrintResult) -> list[str]:
    """The events that hooks recorded of a session."""
    assert run.result is not None
    return [line["event"] for line in here.spool(run.result["session_id"])]


@pytest.mark.row("S4-44")
def test_the_client_finds_nothing_wrong_with_it(plugged: OwnEnvironment) -> None:
    """Neither with the marketplace nor with the plugin, warnings included."""
    folder = plugged.data / "plugin"

    plugged.claude("plugin", "validate", "--strict", str(folder))
    plugged.claude("plugin", "validate", "--strict", str(folder / "brim"))


def test_it_can_be_tried_for_one_session(
    client: Client, stub: StubApi, here: OwnEnvironment
) -> None:
    """With `--plugin-dir`: hooks fire, commands are there, nothing is installed."""
    done = here.command("install", "--as", "plugin", "--yes", env={"PATH": "/usr/bin:/bin"})
    assert b"claude plugin install brim@brimline" in done.stdout
    folder = str(here.data / "plugin" / "brim")

    run = go(client, stub, "--plugin-dir", folder)

    assert events(here, run) == EVENTS
    begun = here.beginning("hello", "--plugin-dir", folder)
    assert "brim:pin" in begun["slash_commands"]
    (server,) = begun["mcp_servers"]
    assert RECALL_RULES[-1] == f"mcp__{server['name'].replace(':', '_')}__recall"
    assert events(here, go(client, stub)) == []
    assert here.errors() == ""


def test_installed_disabled_enabled_removed(
    client: Client, stub: StubApi, here: OwnEnvironment
) -> None:
    """Hooks fire exactly while the client has it on, and the settings end as they began."""
    client.settings_path().write_bytes(THEIRS)
    first = here.report("install", "--as", "plugin", "--yes")
    assert len(first["client_calls"]) == 2
    assert here.report("install", "--as", "plugin", "--yes")["changed"] is False

    assert events(here, go(client, stub)) == EVENTS
    here.claude("plugin", "disable", "brim@brimline")
    assert events(here, go(client, stub)) == []
    assert here.report("install", "--as", "plugin", "--yes")["client_calls"] == [
        "claude plugin install brim@brimline"
    ]
    assert events(here, go(client, stub)) == EVENTS
    here.report("uninstall", "--yes")

    assert events(here, go(client, stub)) == []
    assert not (here.data / "plugin").exists()
    assert "brim@brimline" not in client.settings_path().read_text(encoding="utf-8")


def test_a_round_trip_leaves_the_settings_byte_identical(
    client: Client, stub: StubApi, here: OwnEnvironment
) -> None:
    """The client writes them anew in its own manner; uninstalling puts the bytes back."""
    client.settings_path().write_bytes(THEIRS)
    here.install("--as", "plugin")
    assert b"enabledPlugins" in client.settings_path().read_bytes()
    go(client, stub)

    assert here.command("uninstall", "--yes").returncode == 0

    assert client.settings_path().read_bytes() == THEIRS


def test_commands_and_server_come_with_it(
    client: Client, stub: StubApi, plugged: OwnEnvironment
) -> None:
    """Under the plugin's name; commands are answered by its hook, without a request."""
    stub.script(text("ok"))
    begun = plugged.beginning("hello")

    assert {f"brim:{name}" for name in ("pin", "status", "card")} <= set(begun["slash_commands"])
    names = [found["name"] for found in begun["mcp_servers"]]
    assert names == ["plugin:brim:brimline"]
    stub.script(text("end", filled(43_210)))
    first = client.run_print("go")
    assert first.result is not None
    run = client.run_print("/brim:status", args=["--resume", first.result["session_id"]])
    assert "43,210" in run.stdout
    assert run.requests == []


def test_tiers_and_references_come_from_the_plugin(
    client: Client, stub: StubApi, plugged: OwnEnvironment
) -> None:
    """As from the settings: announced once; the reference stands in, and the bytes come back."""
    stub.script(
        bash(BIG, filled(138_000)),
        *[bash("sleep 0.3", filled(tokens)) for tokens in (144_000, 145_000, 146_000)],
        text("end", filled(147_000)),
    )

    run = client.run_print("go")

    assert run.requests[-1].seen_text().count("[brimline] ") == 1
    block, *_ = run.requests[-1].blocks("tool_result")
    found = stubs.parse(str(block["content"]))
    assert found is not None
    stored = plugged.command("store", "get", found.key).stdout.decode()
    assert stored.splitlines()[-1] == "line 02000 of a large result"
    assert "line 01000 of a large result" not in str(block["content"])


@pytest.mark.row("S4-43")
def test_both_ways_together_have_one_effect(
    client: Client, stub: StubApi, plugged: OwnEnvironment
) -> None:
    """The client starts both; one line per event, one announcement, one blob, server, command."""
    plugged.install()
    stub.script(
        bash(BIG, filled(138_000)),
        *[bash("sleep 0.3", filled(tokens)) for tokens in (144_000, 145_000, 146_000)],
        text("end", filled(147_000)),
    )

    run = client.run_print("go")

    told = [event for event in events(plugged, run) if event in EVENTS]
    assert told == ["SessionStart", "UserPromptSubmit", *["PostToolUse"] * 4, "Stop"]
    assert run.requests[-1].seen_text().count("[brimline] ") == 1
    assert stubs.parse(str(run.requests[-1].blocks("tool_result")[0]["content"])) is not None
    assert "does not match" not in json.dumps(run.rows)
    assert json.loads(plugged.command("store", "list", "--json").stdout)["blobs"] == 1
    assert run.result is not None
    folder = plugged.data / "sessions" / run.result["session_id"]
    assert (folder / "yields-to-settings").exists()
    stub.script(text("ok"))
    begun = plugged.beginning("hello")
    assert begun["slash_commands"].count("brim:status") == 1
    assert [found["name"] for found in begun["mcp_servers"]] == ["brimline"]
    assert plugged.errors() == ""


def test_doctor_knows_both_ways(client: Client, plugged: OwnEnvironment) -> None:
    """The plugin alone is a good installation; beside the settings it is said who yields."""
    alone = {f["check"]: f for f in plugged.report("doctor")["findings"]}
    plugged.install()
    both = {f["check"]: f for f in plugged.report("doctor")["findings"]}

    assert alone["plugin"]["level"] == "ok"
    assert "both-ways" not in alone
    assert "yield" in both["both-ways"]["why"]
    assert (both["mcp"]["level"], both["slash-commands"]["level"]) == ("ok", "ok")


def test_both_ways_go_byte_for_byte(client: Client, stub: StubApi, here: OwnEnvironment) -> None:
    """Installed one after the other, removed at once."""
    client.settings_path().write_bytes(THEIRS)
    here.install()
    here.install("--as", "plugin")
    go(client, stub)

    assert here.command("uninstall", "--yes").returncode == 0

    assert client.settings_path().read_bytes() == THEIRS


@pytest.mark.parametrize("gone", ["package", "folder"])
def test_a_broken_plugin_leaves_the_session_unharmed(
    gone: str, client: Client, stub: StubApi, here: OwnEnvironment
) -> None:
    """The package or the plugin's own folder is gone: tools and prompts go on, silently."""
    here.install("--as", "plugin", "--no-mcp")  # the client itself tells of a server that is gone
    shutil.rmtree(here.root if gone == "package" else here.data / "plugin")
    stub.script(bash("echo one-1", filled(160_000)), text("ALL-DONE", filled(161_000)))

    run = client.run_print("go")

    assert run.rc == 0
    assert run.result is not None
    assert run.result["result"] == "ALL-DONE"
    assert "brimline" not in "".join(request.seen_text() for request in run.requests)
