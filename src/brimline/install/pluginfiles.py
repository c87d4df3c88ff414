"""The plugin as files: a local marketplace with the plugin `brim` in it. Pure.

Nothing of a user's data is ever in there: the client copies plugins, and deletes them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from brimline import __version__
from brimline.install import clientstate, entries
from brimline.launch import LAUNCHER
from brimline.slash import answer, command_files

if TYPE_CHECKING:
    from brimline.install.program import Program

_ABOUT = "Keeps a Claude Code session below the brim of its context window."
_OWNER = {"name": "brimline"}
HOOKS_FILE = f"{clientstate.PLUGIN}/hooks/hooks.json"
MCP_FILE = f"{clientstate.PLUGIN}/.mcp.json"
_README = """# brim

brimline as a plugin of Claude Code: hooks, slash commands `/brim:…` and, where its library is
installed, the MCP server. It is made for this machine by `brimline install --as plugin`; run that
again after an upgrade instead of editing these files.

A plugin cannot set the status line. `brimline install --as plugin` tells how to add it.
`brimline uninstall --as plugin` takes the plugin out again.
"""


def files(wired: entries.Wiring, started: Program, *, mcp: bool) -> dict[str, bytes]:
    """Every file by its path in the marketplace's folder.

    Args:
        wired: where the hooks shall point to.
        started: how the command is started.
        mcp: whether the MCP server comes along.
    """
    plugin = clientstate.PLUGIN
    wired = wired.for_plugin()
    found = {
        ".claude-plugin/marketplace.json": _document(_marketplace()),
        f"{plugin}/.claude-plugin/plugin.json": _document(_manifest()),
        f"{plugin}/README.md": _README.encode(),
        HOOKS_FILE: _document(_hooks(wired)),
        answer.PROGRAM_FILES[1].removeprefix("plugin/"): started.words(),
    }
    if wired.launcher:
        found[f"{plugin}{LAUNCHER}"] = wired.launcher_bytes()
    if mcp:
        found[MCP_FILE] = _document(_servers(started))
    listed = command_files.files(started.line)
    return found | {f"{plugin}/commands/{name}": content for name, content in listed.items()}


def installed_hooks(raw: bytes) -> list[entries.Installed]:
    """The entries in a hooks file of the plugin; none where it cannot be read."""
    try:
        document = json.loads(raw)
    except ValueError:
        return []
    return entries.installed(document) if isinstance(document, dict) else []


def _marketplace() -> dict[str, Any]:
    listed = {
        "name": clientstate.PLUGIN,
        "source": f"./{clientstate.PLUGIN}",
        "description": _ABOUT,
        "version": __version__,
    }
    return {
        "name": clientstate.MARKETPLACE,
        "owner": _OWNER,
        "metadata": {"description": "brimline, as installed on this machine."},
        "plugins": [listed],
    }


def _manifest() -> dict[str, Any]:
    return {
        "name": clientstate.PLUGIN,
        "version": __version__,
        "description": _ABOUT,
        "author": _OWNER,
        "license": "MIT",
    }


def _hooks(wired: entries.Wiring) -> dict[str, Any]:
    groups = entries.hook_groups(wired)
    return {"description": _ABOUT, "hooks": {event: [group] for event, group in groups.items()}}


def _servers(started: Program) -> dict[str, Any]:
    server: dict[str, Any] = {
        "command": started.interpreter,
        "args": started.arguments("mcp"),
    }
    if started.environment():
        server["env"] = started.environment()
    return {"mcpServers": {clientstate.SERVER: server}}


def _document(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
