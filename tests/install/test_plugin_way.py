"""`brimline install --as plugin`: a generated folder, the client's record, no trace afterwards."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from brimline.hooks import table

from . import fake_claude
from .conftest import ORIGINAL, Home


def plugin(home: Home) -> Path:
    """The generated folder."""
    return Path(home.data, "plugin")


def test_a_round_trip_through_the_client_gives_the_settings_back(client: Home) -> None:
    """The client writes them anew in between; a second install asks it nothing."""
    first, again = (client.install("--as", "plugin") for _ in range(2))

    assert len(first["client_calls"]) == 2
    assert Path(first["backup"]).read_bytes() == ORIGINAL
    assert (again["changed"], again["client_calls"]) == (False, [])
    assert client.settings.read_bytes() != ORIGINAL
    client.uninstall()
    assert client.settings.read_bytes() == ORIGINAL
    assert not plugin(client).exists()
    client.install("--as", "plugin")
    client.edit(theirs=True)
    client.uninstall()
    assert client.value == json.loads(ORIGINAL) | {"theirs": True}


@pytest.mark.parametrize("original", [None, b"{}", b'{"enabledPlugins": {}}'])
def test_settings_of_any_kind_come_back(original: bytes | None, client: Home, world: Path) -> None:
    """No file stays no file, an empty member stays; run without the variable of install time."""
    client.settings.unlink()
    if original is not None:
        client.settings.write_bytes(original)
    client.install("--as", "plugin", BRIMLINE_HOME=str(world / "other"))
    client.uninstall()

    found = client.settings.read_bytes() if client.settings.exists() else None
    assert found == original
    assert not os.path.exists(world / "other" / "plugin")


@pytest.mark.parametrize("order", [("settings", "plugin"), ("plugin", "settings")])
def test_both_ways_go_without_a_trace_in_either_order(order: tuple[str, str], client: Home) -> None:
    """Whoever wrote the settings last is taken out first."""
    for way in order:
        notes = client.install("--as", way)["notes"]
    assert any("yield" in note for note in notes)

    client.uninstall()

    assert client.settings.read_bytes() == ORIGINAL
    assert not plugin(client).exists()


@pytest.mark.parametrize("way", ["settings", "plugin"])
def test_one_way_can_be_taken_out_alone(way: str, client: Home) -> None:
    """The other one works on."""
    client.install()
    client.install("--as", "plugin")
    client.uninstall("--as", way)

    assert plugin(client).exists() is (way == "settings")
    assert ("hooks" in client.value) is (way == "plugin")
    assert client.launcher.exists() is (way == "plugin")


@pytest.mark.row("S4-44")
def test_the_folder_is_generated_from_the_list(client: Home) -> None:
    """Hooks with a launcher of their own, commands, server; nothing of the user's data."""
    client.install("--as", "plugin")
    brim = plugin(client) / "brim"
    hooks = json.loads((brim / "hooks" / "hooks.json").read_bytes())["hooks"]
    launcher = brim / "bin" / "hook"

    assert list(hooks) == list(table.EVENTS)
    for name, answered in table.EVENTS.items():
        (group,) = hooks[name]
        assert group.get("matcher") == answered.matcher()
        (entry,) = group["hooks"]
        assert (entry["command"], entry["args"]) == (str(launcher), [name])
    assert launcher.stat().st_mode & 0o777 == 0o700
    assert f"main({client.data!r},'plugin')" in launcher.read_text()
    assert not client.launcher.exists()
    server = json.loads((brim / ".mcp.json").read_bytes())["mcpServers"]["brimline"]
    assert server["env"] == {"BRIMLINE_HOME": client.data}
    assert (brim / "commands" / "status.md").exists()


def test_the_folder_refreshes_in_place(client: Home) -> None:
    """What is stale or gone comes back, what an old version left goes."""
    client.install("--as", "plugin")
    before = client.everything()
    hooks = plugin(client) / "brim" / "hooks" / "hooks.json"
    hooks.write_text("{}")
    (plugin(client) / "brim" / "old.md").write_text("of an old version")
    (plugin(client) / "brim" / "commands" / "pin.md").unlink()
    assert client.findings()["plugin"]["level"] == "broken"

    assert len(client.install("--as", "plugin")["files"]) == 3

    assert client.everything().keys() == before.keys()
    assert hooks.read_bytes() == before[str(hooks)]


def test_without_a_client_its_commands_are_left_to_the_user(home: Home) -> None:
    """The folder is there to be tried; a person is told how to get the status line and recall."""
    report = home.install("--as", "plugin")

    assert [text.split("    #")[0] for text in report["to_do"]] == [
        f"claude plugin marketplace add {plugin(home)}",
        "claude plugin install brim@brimline",
    ]
    line = json.loads(report["notes"][0].partition('"statusLine": ')[2])["command"]
    shown = subprocess.run(["/bin/sh", "-c", line], input=b"{}", capture_output=True, check=True)
    assert len(shown.stdout.splitlines()) == 1
    assert "mcp__plugin_brim_brimline__recall" in report["notes"][1]
    assert home.settings.read_bytes() == ORIGINAL
    assert home.uninstall()["to_do"] == []
    assert not plugin(home).exists()


def test_a_client_that_fails_halfway_is_told_and_taken_up_again(
    client: Home, no_client: Path
) -> None:
    """What is left to do is named; the next run does it, and the settings come back."""
    fake_claude.script(no_client, "#!/bin/sh\necho no network >&2\nexit 1\n")
    report = client.install("--as", "plugin")
    assert "no network" in report["warnings"][0]
    assert len(report["to_do"]) == 2

    fake_claude.put_on_path(no_client)
    assert len(client.install("--as", "plugin")["client_calls"]) == 2
    client.uninstall()
    assert client.settings.read_bytes() == ORIGINAL


@pytest.mark.parametrize("taken", ["folder", "marketplace"])
def test_what_is_somebody_elses_is_not_taken(taken: str, client: Home, world: Path) -> None:
    """Neither a folder in the plugin's place nor a marketplace of our name."""
    if taken == "folder":
        plugin(client).mkdir(parents=True)
        (plugin(client) / "mine").write_text("mine")
    else:
        (world / "other").mkdir()
        source = {"brimline": {"source": {"source": "directory", "path": str(world / "other")}}}
        (client.config / "plugins").mkdir()
        (client.config / "plugins" / "known_marketplaces.json").write_text(json.dumps(source))
    before = client.everything()

    done = client.run("install", "--as", "plugin", "--yes")

    assert done.code == 1
    assert ("move it away" in done.err) or ("makes room" in done.err)
    client.uninstall()
    assert client.everything() == before
