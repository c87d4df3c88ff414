"""Checks of what comes along for the user: slash commands and the MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline import clientsettings
from brimline.install import (
    claude,
    clientstate,
    entries,
    installer,
    interpreter,
    program,
    ways,
)
from brimline.install.finding import Finding
from brimline.install.pieces import mcp_server
from brimline.install.pieces.slash_commands import SlashCommands, folder
from brimline.slash import command_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.install.program import Program

_INSTALL = "brimline install"


def findings(home_dir: str, project_dir: str) -> Iterator[Finding]:
    """Everything about them; the plugin brings its own."""
    started = program.find(installer.home_to_bake(home_dir))
    user_file = clientsettings.settings_files(project_dir)["user"]
    in_settings = bool(entries.installed(clientsettings.read_settings(user_file)))
    if in_settings:
        yield _slash_commands(home_dir, started)
    from_plugin = bool(clientstate.plugin_is_on(project_dir)) and ways.has_server(home_dir)
    server = clientstate.server()
    if server is not None:
        yield _registered(server, started)
        if from_plugin and server.is_ours:
            yield from _two_servers(server, started)
    elif in_settings and not from_plugin:
        yield _not_registered(started)


def _slash_commands(home_dir: str, started: Program) -> Finding:
    piece = SlashCommands(home_dir, started)
    found = piece.own.plan(piece.wanted())
    if found.changes:
        names = [path.rpartition("/")[2] for path, _, _ in found.changes]
        return Finding(
            "slash-commands",
            "warning",
            f"missing or out of date: {_told(names)}",
            "The client does not know these commands, or they start another copy of brimline.",
            _INSTALL,
        )
    if found.foreign:
        return Finding(
            "slash-commands",
            "note",
            f"{', '.join(found.foreign)}: not brimline's, or changed since",
            "brimline never overwrites a file that it did not write.",
            f"move it away, then {_INSTALL}",
        )
    if started.line(*command_files.CARD.words) is None:
        return Finding(
            "slash-commands",
            "note",
            "/brim:card cannot be offered",
            f"The client cannot check a line that starts {started.interpreter} as it must be here.",
        )
    return Finding("slash-commands", "ok", f"the slash commands are in {folder()}")


def _told(names: list[str]) -> str:
    """Files by the command that each is for."""
    told = [
        f"/{command_files.NAMESPACE}:{n.removesuffix('.md')}" if n.endswith(".md") else n
        for n in names
    ]
    return ", ".join(told)


def _registered(server: clientstate.Server, started: Program) -> Finding:
    if not server.is_ours:
        return Finding(
            "mcp",
            "note",
            f"the client's MCP server `{clientstate.SERVER}` is not brimline's",
            "The model cannot recall what was kept out of the window.",
            f"{claude.line(mcp_server.removal())}, then {_INSTALL}",
        )
    problem = _problem(server)
    if problem:
        return Finding(
            "mcp",
            "broken",
            f"the MCP server is registered, but {problem}",
            "The client cannot start it: the model cannot recall what was kept out of the window.",
            _INSTALL
            if started.has_sdk
            else f"{program.INSTALL_SDK} in brimline's clone, then {_INSTALL}",
        )
    if server != mcp_server.wanted(started):
        return Finding(
            "mcp",
            "warning",
            "the MCP server is not registered as this version would do it",
            "It may start another copy of brimline or use another data folder.",
            _INSTALL,
        )
    return Finding("mcp", "ok", f"the MCP server is registered and runs in {server.command}")


def _problem(server: clientstate.Server) -> str | None:
    # A server may well run in an environment whose interpreter is a link: only its start counts.
    if interpreter.probe(server.command) is None:
        return f"{server.command} does not run as a Python"
    if program.sdk_is_missing(server.command, server.arguments):
        return f"{server.command} lacks the library `{program.SDK}`"
    return None


def _not_registered(started: Program) -> Finding:
    if not started.has_sdk:
        fix = f"{program.INSTALL_SDK} in brimline's clone, then {_INSTALL}"
    elif claude.on_path():
        fix = _INSTALL
    else:
        fix = claude.line(mcp_server.addition(started))
    return Finding(
        "mcp",
        "note",
        "the MCP server is not registered",
        "The model can recall what was kept out of the window through Bash only.",
        fix,
    )


def _two_servers(server: clientstate.Server, started: Program) -> Iterator[Finding]:
    """The client drops the plugin's server where it is started in the very same way."""
    if (server.command, server.arguments) != (started.interpreter, started.arguments("mcp")):
        yield Finding(
            "mcp-twice",
            "warning",
            "the plugin and the user's own registration start the MCP server in different ways",
            "The client runs both, and the model sees every tool twice.",
            f"{_INSTALL} && {_INSTALL} --as plugin",
        )
