"""Checks of the plugin: whether the client has it, whether it is current, and who yields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline import clientsettings, yielding
from brimline.errors import InstallError
from brimline.install import (
    checks_wiring,
    clientstate,
    entries,
    installer,
    ownfiles,
    program,
    ways,
    wiring,
)
from brimline.install.finding import Finding
from brimline.install.pieces import plugin
from brimline.install.pieces.plugin import NewPlugin

if TYPE_CHECKING:
    from collections.abc import Iterator

_INSTALL = "brimline install --as plugin"
_UNINSTALL = "brimline uninstall --as plugin"


def findings(home_dir: str, project_dir: str) -> Iterator[Finding]:
    """Everything about the plugin; nothing where there is none."""
    enabled = clientstate.plugin_is_on(project_dir)
    if not enabled:
        yield from _not_enabled(enabled, home_dir)
        return
    yield from _files(home_dir)
    if yielding.settings_start_us(project_dir):
        yield Finding(
            "both-ways",
            "note",
            "brimline is installed in the settings and as a plugin",
            "At every event the client starts both; the plugin's hooks yield, which costs time.",
            f"{_UNINSTALL}, or brimline uninstall --as settings",
        )
    else:
        yield from _status_line(project_dir)


def _not_enabled(enabled: bool | None, home_dir: str) -> Iterator[Finding]:
    if enabled is False:
        yield Finding(
            "plugin",
            "note",
            f"the plugin {clientstate.PLUGIN_ID} is disabled",
            "The client starts nothing of it.",
            f"claude plugin enable {clientstate.PLUGIN_ID}, or {_UNINSTALL}",
        )
    elif ownfiles.OwnFiles(home_dir, plugin.RECORD).is_recorded:
        yield Finding(
            "plugin",
            "note",
            f"the plugin is in {plugin.folder(home_dir)}, but the client does not have it",
            "It takes effect only once the client has installed it.",
            f"{_INSTALL}, or {_UNINSTALL}",
        )


def _files(home_dir: str) -> Iterator[Finding]:
    known = clientstate.marketplace()
    hooks = ways.plugin_hooks(home_dir)
    if not hooks or not plugin.Plugin(home_dir).is_known:
        yield Finding(
            "plugin",
            "broken",
            f"the client loads the plugin from {known or 'a marketplace that it does not know'}, "
            f"and there is none in {plugin.folder(home_dir)}"
            if not hooks
            else f"the client loads the plugin from {known}, not from {plugin.folder(home_dir)}",
            "What it starts, if anything, is not this installation.",
            _INSTALL,
        )
        return
    yield _current(home_dir, hooks[0])
    yield from checks_wiring.program_findings(hooks[0], _INSTALL)


def _current(home_dir: str, hook: entries.Installed) -> Finding:
    try:
        wired = installer.wiring_for(hook.interpreter or "", home_dir)
        started = program.find(installer.home_to_bake(home_dir))
        piece = NewPlugin(home_dir, wired, started, mcp=ways.has_server(home_dir))
        stale = [change.path for change in piece.plan().files]
    except InstallError as error:
        return Finding("plugin", "broken", str(error), "It cannot be brought up to date.", _INSTALL)
    if stale:
        return Finding(
            "plugin",
            "warning",
            f"the plugin's files are not what this version would write: {stale[0]}",
            "They may start another copy of brimline, use another data folder or miss what is new.",
            _INSTALL,
        )
    return Finding("plugin", "ok", f"the plugin in {plugin.folder(home_dir)} is current")


def _status_line(project_dir: str) -> Iterator[Finding]:
    lines = [
        wiring.statusline_of(clientsettings.read_settings(path))
        for path in clientsettings.settings_files(project_dir).values()
    ]
    if not any(line is not None and entries.is_our_code(line) for line in lines):
        yield Finding(
            "status-line",
            "note",
            "the plugin brings no status line",
            "Without it brimline does not learn the size of the window from the client.",
            f"{_INSTALL} tells what to add",
        )
