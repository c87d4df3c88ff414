"""What the client has on record, read from whatever is in its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from brimline.install import clientstate

OURS = {
    "type": "stdio",
    "command": "/v/bin/python",
    "args": ["-I", "-m", "brimline", "mcp"],
    "env": {"BRIMLINE_HOME": "/d"},
}


@pytest.fixture
def config(world: Path) -> Path:
    """The client's configuration folder."""
    folder = world / "home" / ".claude"
    folder.mkdir()
    return folder


def write(path: Path, document: Any) -> None:
    """Write one of the client's files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")


def test_a_registered_server_is_found(config: Path) -> None:
    """With its arguments and variables."""
    write(config / ".claude.json", {"mcpServers": {"other": {}, "brimline": OURS}})

    found = clientstate.server()

    assert found is not None
    assert found.is_ours
    assert (found.command, found.arguments[-1]) == ("/v/bin/python", "mcp")
    assert found.environment == {"BRIMLINE_HOME": "/d"}


def test_without_the_variable_the_state_lies_beside_the_folder(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the user's home itself."""
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    write(world / "home" / ".claude.json", {"mcpServers": {"brimline": OURS}})

    assert clientstate.server() is not None


@pytest.mark.parametrize(
    "server",
    [
        {"type": "http", "url": "https://brimline.example/mcp"},
        {"command": "npx", "args": ["brimline-mcp"]},
        {"command": "node", "args": ["server.js", "mcp"]},
        {"command": 5, "args": 7, "env": 9},
    ],
)
def test_a_server_of_somebody_else_is_not_ours(server: Any, config: Path) -> None:
    """Only the name is the same."""
    write(config / ".claude.json", {"mcpServers": {"brimline": server}})

    found = clientstate.server()

    assert found is not None
    assert not found.is_ours


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"\xff", b'{"mcpServers": 1}', b'{"mcpServers": {"brimline": 1}}']
)
def test_a_damaged_state_says_nothing(raw: bytes, config: Path) -> None:
    """The client may be writing it just now."""
    (config / ".claude.json").write_bytes(raw)

    assert clientstate.server() is None


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ({"source": "directory", "path": "/d/plugin"}, "/d/plugin"),
        ({"source": "github", "repo": "a/b"}, '{"source": "github", "repo": "a/b"}'),
        ("text", '"text"'),
    ],
)
@pytest.mark.parametrize("place", ["settings", "known"])
def test_the_marketplace_is_known_from_either_file(
    source: Any, told: str, place: str, config: Path
) -> None:
    """Its folder, or what else it comes from."""
    entry = {"brimline": {"source": source}}
    if place == "settings":
        write(config / "settings.json", {"extraKnownMarketplaces": entry})
    else:
        write(config / "plugins" / "known_marketplaces.json", entry)

    assert clientstate.marketplace() == told


def test_a_stronger_scope_decides_about_the_plugin(config: Path, project_dir: str) -> None:
    """A project may switch off what the user switched on."""
    assert clientstate.plugin_is_on(project_dir) is None
    write(config / "settings.json", {"enabledPlugins": {"brim@brimline": True, "x@y": False}})
    assert clientstate.plugin_is_on(project_dir) is True
    local = Path(project_dir, ".claude", "settings.local.json")
    write(local, {"enabledPlugins": {"brim@brimline": False}})

    assert clientstate.plugin_is_on(project_dir) is False
    assert clientstate.plugin_is_on() is True
    write(local, {"enabledPlugins": {"brim@brimline": "yes"}})
    assert clientstate.plugin_is_on(project_dir) is True
