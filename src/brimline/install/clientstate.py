"""What the client itself has on record about brimline: its MCP server and its plugin. Read-only."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from brimline import clientsettings
from brimline.fast import io, paths

SERVER = "brimline"
MARKETPLACE = "brimline"
PLUGIN = "brim"
PLUGIN_ID = f"{PLUGIN}@{MARKETPLACE}"


class Server(NamedTuple):
    """One registered MCP server, as far as it is a program that is started."""

    command: str
    arguments: list[str]
    environment: dict[str, str]

    @property
    def is_ours(self) -> bool:
        """Whether it is `brimline mcp`, however that is started."""
        named = " ".join(self.arguments)
        return self.arguments[-1:] == ["mcp"] and "brimline" in named


def server() -> Server | None:
    """The MCP server of our name in the user's scope; None without one."""
    found = _object(_read(_state_file()).get("mcpServers")).get(SERVER)
    if not isinstance(found, dict):
        return None
    arguments, environment = found.get("args"), _object(found.get("env"))
    texts = [str(text) for text in arguments] if isinstance(arguments, list) else []
    told = {name: str(value) for name, value in environment.items()}
    return Server(str(found.get("command")), texts, told)


def marketplace() -> str | None:
    """Where the client takes the marketplace of our name from: a folder, or a description."""
    settings = clientsettings.read_settings(clientsettings.settings_files("")["user"])
    known = _read(f"{paths.client_config_dir()}/plugins/known_marketplaces.json")
    for places in (known, _object(settings.get("extraKnownMarketplaces"))):
        source = _object(places.get(MARKETPLACE)).get("source")
        if source is not None:
            path = _object(source).get("path")
            return path if isinstance(path, str) else json.dumps(source)
    return None


def plugin_is_on(project_dir: str | None = None) -> bool | None:
    """Whether the plugin is enabled; None where it is not installed.

    Args:
        project_dir: the project whose settings count too; None: only the user's do.
    """
    found = None
    for scope, path in clientsettings.settings_files(project_dir or "").items():
        if project_dir is None and scope != "user":
            continue
        enabled = _object(clientsettings.read_settings(path).get("enabledPlugins")).get(PLUGIN_ID)
        found = enabled if isinstance(enabled, bool) else found
    return found


def _state_file() -> str:
    """The client keeps it in its configuration folder only where a variable names that."""
    if io.env("CLAUDE_CONFIG_DIR"):
        return f"{paths.client_config_dir()}/.claude.json"
    return f"{os.path.dirname(paths.client_config_dir())}/.claude.json"


def _read(path: str) -> dict[str, Any]:
    try:
        return _object(json.loads(Path(path).read_bytes()))
    except (OSError, ValueError, RecursionError):
        return {}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
