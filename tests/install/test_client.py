"""The client's own record of brimline, in whatever shape it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline import programs
from brimline.install import client as clients
from brimline.settings import clientsettings, plugins

from . import fake_claude

if TYPE_CHECKING:
    from .conftest import Home


@pytest.mark.parametrize(
    ("noted", "found", "is_ours"),
    [
        ({"command": "/v/py", "args": ["-m", "brimline", "mcp"]}, True, True),
        ({"command": "/v/py", "args": ["-m", "brimline", "mcp", "--data", "/d"]}, True, True),
        ({"command": "/v/py", "args": ["-m", "brimline", "mcp", "x"]}, True, False),
        ({"command": "brimline", "args": ["mcp"]}, True, False),
        ({"command": "/v/py", "args": "brimline mcp"}, True, False),
        ({"command": "/v/py"}, True, False),
        ("brimline", False, False),
        (None, False, False),
    ],
)
def test_a_registered_server_is_ours_by_its_last_words(
    noted: object, found: bool, is_ours: bool, home: Home
) -> None:
    """Whatever shape the client's record has."""
    servers = {} if noted is None else {"brimline": noted}
    (home.config / ".claude.json").write_text(json.dumps({"mcpServers": servers}))

    server = clientsettings.registered_mcp_server()

    assert (server is not None) is found
    assert bool(server and clientsettings.is_mcp_server_ours()) is is_ours
    assert server is None or server["env"] == {}


def test_in_what_the_client_started_path_names_no_client(
    client: Home, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project may have set it; what the user installed for themselves is found."""
    monkeypatch.setattr(programs, "PLACES", ("/nowhere",))
    monkeypatch.setenv("CLAUDECODE", "1")
    assert clients.run_client_or_problem(["mcp", "list"]) == "there is no `claude` on PATH"
    assert fake_claude.calls(client.config) == []
    own = world / "home" / ".local" / "bin"
    own.mkdir(parents=True)
    fake_claude.put_on_path(own)
    assert clients.claude_on_path() == str(own / "claude")


@pytest.mark.parametrize(
    ("scopes", "is_on"),
    [
        ({}, None),
        ({"user": True}, True),
        ({"user": True, "project": False}, False),
        ({"user": False, "local": True}, True),
        ({"user": True, "local": "yes"}, True),
        ({"managed": False, "local": True}, False),
    ],
)
def test_the_strongest_settings_that_name_the_plugin_decide(
    scopes: dict[str, object], is_on: bool | None, home: Home
) -> None:
    """What is neither yes nor no says nothing."""
    files = clientsettings.path_by_scope(home.project)
    for scope, value in scopes.items():
        Path(files[scope]).parent.mkdir(parents=True, exist_ok=True)
        Path(files[scope]).write_text(json.dumps({"enabledPlugins": {plugins.MOD: value}}))

    assert plugins.is_mod_on(home.project) is is_on
