"""The two ways to install brimline, in the client's settings or as a plugin, piece by piece."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brimline import clientsettings, yielding
from brimline.install import (
    clientedits,
    clientstate,
    entries,
    installer,
    interpreter,
    ownfiles,
    pluginfiles,
    program,
    wiring,
)
from brimline.install.pieces import plugin, slash_commands
from brimline.install.pieces.mcp_server import McpServer
from brimline.install.pieces.plugin import NewPlugin, Plugin
from brimline.install.pieces.settings_entries import NewSettingsEntries, SettingsEntries
from brimline.install.pieces.slash_commands import SlashCommands

if TYPE_CHECKING:
    from brimline.install.pieces.piece import Installable, Removable

SETTINGS, PLUGIN = "settings", "plugin"
WAYS = (SETTINGS, PLUGIN)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user wants installed."""

    way: str
    scope: str
    interpreter: str | None
    mcp: bool
    allow: bool = True
    """Whether the model may fetch stored output without asking."""


def wiring_for(asked: Asked, home_dir: str, project_dir: str) -> entries.Wiring:
    """Where hooks shall point to; an earlier choice of interpreter is kept while it works.

    Raises:
        InstallError: no interpreter can be used, or a path cannot be written into settings.
    """
    path = installer.settings_path(asked.scope, project_dir)
    earlier = installer.installed_interpreter(path, home_dir, project_dir)
    hooks = plugin_hooks(home_dir)
    if hooks and (asked.way == PLUGIN or not earlier):
        earlier = hooks[0].interpreter
    return installer.wiring_for(interpreter.choose(asked.interpreter, earlier), home_dir)


def pieces(
    asked: Asked, wired: entries.Wiring, home_dir: str, project_dir: str
) -> list[Installable]:
    """What to install, the one that matters most first.

    Slash commands and the MCP server are the user's: the other scopes are shared with others, or
    would show them in one folder only, so that there they are left out.
    """
    started = program.find(installer.home_to_bake(home_dir))
    if asked.way == PLUGIN:
        return [NewPlugin(home_dir, wired, started, mcp=asked.mcp)]
    path = installer.settings_path(asked.scope, project_dir)
    if asked.allow and asked.scope != "project":  # that one is shared: others decide for themselves
        wired = wired._replace(rules=entries.recall_rules(started.line()))
    found: list[Installable] = [NewSettingsEntries(path, home_dir, project_dir, wired)]
    if asked.scope == "user":
        found.append(SlashCommands(home_dir, started))
        found += [McpServer(started)] if asked.mcp else []
    return found


def remarks(asked: Asked, wired: entries.Wiring, project_dir: str) -> list[str]:
    """What the user should know about the way that was chosen."""
    notes = []
    both = "the plugin's hooks yield to those in the settings"
    if asked.way == PLUGIN:
        path = installer.settings_path("user", project_dir)
        line = {"type": "command", "command": entries.statusline_command(wired)}
        if not _shows_our_line(path):
            notes.append(
                "a plugin cannot set the status line; to have it, add this to "
                f'{path}: "statusLine": {json.dumps(line, ensure_ascii=False)}'
            )
        if asked.allow:
            rule = clientsettings.RECALL_RULES[-1]
            notes.append(
                f'a plugin cannot allow its own tools; to recall without being asked, add "{rule}" '
                f'to "permissions": "allow" in {path}'
            )
        if yielding.settings_start_us(project_dir):
            notes.append(f"brimline is in the settings as well: {both}")
    elif clientstate.plugin_is_on(project_dir):
        notes.append(f"brimline is installed as a plugin as well: {both}")
    if asked.way == SETTINGS and asked.scope != "user":
        notes.append(
            "slash commands and the MCP server come with `brimline install --scope user` only"
        )
    return notes


def installed(
    way: str | None, scope: str | None, home_dir: str, project_dir: str
) -> list[Removable]:
    """What may have to be taken out, in order: of the two that write one file, the later first."""
    known = installer.known_paths(home_dir, project_dir)
    chosen = [installer.settings_path(scope, project_dir)] if scope else known
    homes = [home_dir, *installer.other_homes(chosen, home_dir)]
    found: list[Removable] = []
    if way != PLUGIN:
        found += [SettingsEntries(path, home_dir) for path in chosen]
        if scope in (None, "user"):
            started = program.find(installer.home_to_bake(home_dir))
            found += [SlashCommands(_with_record(homes), started), McpServer(started)]
    if way == SETTINGS or scope is not None:
        return found
    plugin_home = plugin.home_of(clientstate.marketplace() or "") or home_dir
    piece = Plugin(plugin_home)
    return [piece, *found] if clientedits.is_last_writer(plugin_home) else [*found, piece]


def plugin_hooks(home_dir: str) -> list[entries.Installed]:
    """The plugin's hooks, as its file in the data folder has them."""
    try:
        raw = Path(f"{plugin.folder(home_dir)}/{pluginfiles.HOOKS_FILE}").read_bytes()
    except OSError:
        return []
    return pluginfiles.installed_hooks(raw)


def refresh_plugin(home_dir: str) -> bool:
    """Write the plugin's files anew, where there are any; False where nothing changed.

    Raises:
        InstallError: they cannot be written.
    """
    hooks = plugin_hooks(home_dir)
    if not hooks or not ownfiles.OwnFiles(home_dir, plugin.RECORD).is_recorded:
        return False
    wired = installer.wiring_for(interpreter.choose(None, hooks[0].interpreter), home_dir)
    started = program.find(installer.home_to_bake(home_dir))
    return NewPlugin(home_dir, wired, started, mcp=has_server(home_dir)).refresh()


def has_server(home_dir: str) -> bool:
    """Whether the plugin, as it is in the data folder, brings the MCP server."""
    return Path(f"{plugin.folder(home_dir)}/{pluginfiles.MCP_FILE}").exists()


def _shows_our_line(path: str) -> bool:
    command = wiring.statusline_of(clientsettings.read_settings(path))
    return command is not None and entries.is_our_code(command)


def _with_record(homes: list[str]) -> str:
    """The data folder that knows of slash commands, which the user's entries may name."""
    recorded = (h for h in homes if ownfiles.OwnFiles(h, slash_commands.RECORD).is_recorded)
    return next(recorded, homes[0])
