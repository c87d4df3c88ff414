"""brimline as a plugin: a generated folder under the data folder, and the client's knowledge of it.

The folder is a local marketplace with the plugin `brim` in it, from which the client loads in
place. Nothing of a user's data is ever in there: the client copies plugins, and deletes them.

The client writes the user's settings anew in its own manner when it installs a plugin. The bytes
from before, of which there is a backup, come back once they say the same again.
"""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

from brimline import __version__
from brimline.errors import InstallError
from brimline.fast import io
from brimline.install import client, entries, jsontext, parts, pythons, settingsfile, wiring
from brimline.install.parts import Plan
from brimline.install.records import Change, read_plain
from brimline.launch import LAUNCHER
from brimline.slash import command_files

if TYPE_CHECKING:
    from collections.abc import Iterable

_ABOUT = "Keeps a Claude Code session below the brim of its context window."
_OWNER = {"name": "brimline"}
_MARKETPLACE_FILE = ".claude-plugin/marketplace.json"
_HOOKS_FILE = f"{client.PLUGIN}/hooks/hooks.json"
_MCP_FILE = f"{client.PLUGIN}/.mcp.json"
_MADE_BY_CLIENT = ("enabledPlugins", "extraKnownMarketplaces")


class Plugin:
    """The folder, and the client's record of it."""

    def __init__(
        self,
        home_dir: str,
        wired: entries.Wiring = entries.NOWHERE,
        started: pythons.Program = pythons.NOTHING,
        *,
        mcp: bool = True,
    ) -> None:
        """Name the data folder, and for installing what is to be started."""
        self.home_dir, self.wired, self.started, self.mcp = home_dir, wired, started, mcp
        self.folder = f"{home_dir}/plugin"
        self.subject = f"the plugin {client.PLUGIN_ID} ({self.folder})"

    @property
    def is_known(self) -> bool:
        """Whether the client takes its marketplace from our folder."""
        known = client.marketplace()
        return known is not None and os.path.realpath(known) == os.path.realpath(self.folder)

    @property
    def brings_server(self) -> bool:
        """Whether it brings the MCP server, as it is in the data folder."""
        return os.path.exists(f"{self.folder}/{_MCP_FILE}")

    def hooks(self) -> list[entries.Installed]:
        """Its hooks, as the file in the data folder has them; none where it cannot be read."""
        found = client.object_in(read_plain(f"{self.folder}/{_HOOKS_FILE}"))
        return entries.installed(found) if is_ours(self.folder) else []

    def install(self, *, do: bool) -> Plan:
        """The files, then what makes the client use them."""
        _require_room(self.folder)
        plan = Plan(self._changes(), self.additions())
        if self.mcp and not self.started.has_sdk:
            plan.to_do.append(parts.sdk_to_do(self.started, "brimline install --as plugin"))
        before = _user_settings()
        if plan.calls:
            settingsfile.require_writable(before)
        if do:
            self.refresh()
            plan.backup = (
                settingsfile.back_up(before, f"{self.home_dir}/backups") if plan.calls else ""
            )
        plan.call_client("the plugin", do=do)
        return plan

    def additions(self) -> list[tuple[str, ...]]:
        """What makes the client know and use it."""
        known = [] if self.is_known else [("plugin", "marketplace", "add", self.folder)]
        used = client.plugin_is_on() is True
        return [*known, *([] if used else [("plugin", "install", client.PLUGIN_ID)])]

    def refresh(self) -> None:
        """Write the files anew.

        Raises:
            InstallError: one of them cannot be written.
        """
        Plan(self._changes()).carried_out()

    def remove(self, *, do: bool) -> Plan:
        """Have the client forget the plugin, then the files; the settings as they were before."""
        plan = Plan([Change(p, read_plain(p), None) for p in self._present()])
        if self.is_known:
            plan.calls = [("plugin", "marketplace", "remove", client.MARKETPLACE)]
            if client.plugin_is_on() is not None:
                plan.calls.insert(0, ("plugin", "uninstall", client.PLUGIN_ID))
            settingsfile.require_writable(_user_settings())
        if do and plan.calls and client.on_path():
            plan.backup = settingsfile.back_up(_user_settings(), f"{self.home_dir}/backups")
        plan.call_client("the plugin", do=do)
        if do and is_ours(self.folder):
            shutil.rmtree(self.folder, ignore_errors=True)
        if do and plan.calls and not plan.warnings:
            _put_back(self.home_dir)
        return plan

    def _changes(self) -> list[Change]:
        mcp = self.mcp and self.started.has_sdk
        made = files(self.wired, self.started, mcp=mcp)
        wanted = {f"{self.folder}/{name}": content for name, content in made.items()}
        found = [
            Change(path, read_plain(path), wanted.get(path))
            for path in dict.fromkeys([*wanted, *self._present()])
        ]
        return [change for change in found if change.before != change.after]

    def _present(self) -> Iterable[str]:
        found = os.walk(self.folder) if is_ours(self.folder) else ()
        return [f"{at}/{name}" for at, _, names in found for name in sorted(names)]


def files(wired: entries.Wiring, started: pythons.Program, *, mcp: bool) -> dict[str, bytes]:
    """Every file by its path in the marketplace's folder.

    Args:
        wired: where the hooks shall point to.
        started: how the command is started.
        mcp: whether the MCP server comes along.
    """
    about = {"name": client.PLUGIN, "version": __version__, "description": _ABOUT}
    marketplace = {
        "name": client.MARKETPLACE,
        "owner": _OWNER,
        "metadata": {"description": "brimline, as installed on this machine."},
        "plugins": [about | {"source": f"./{client.PLUGIN}"}],
    }
    wired = wired.for_plugin()
    groups = {event: [group] for event, group in entries.hook_groups(wired).items()}
    found = {
        _MARKETPLACE_FILE: _document(marketplace),
        f"{client.PLUGIN}/.claude-plugin/plugin.json": _document(
            about | {"author": _OWNER, "license": "MIT"}
        ),
        _HOOKS_FILE: _document({"description": _ABOUT, "hooks": groups}),
    }
    if wired.launcher:
        found[client.PLUGIN + LAUNCHER] = wired.launcher_bytes()
    if mcp:
        found[_MCP_FILE] = _document({"mcpServers": {client.SERVER: started.server()}})
    listed = command_files.files(started.line)
    return found | {f"{client.PLUGIN}/commands/{name}": text for name, text in listed.items()}


def interpreter_in_use(home_dir: str, path: str) -> str | None:
    """What runs the hooks already: by the launcher, the plugin, or a settings file."""
    earlier = [
        entries.parse(home_dir + LAUNCHER, ["Stop"]),
        *Plugin(home_dir).hooks(),
        *[entry for entry in parts.entries_in(path) if parts.may_start(entry, path, home_dir)],
    ]
    return next((entry.interpreter for entry in earlier if entry and entry.interpreter), None)


def is_ours(folder: str) -> bool:
    """Whether a folder is a marketplace that we generated."""
    found = client.object_in(read_plain(f"{folder}/{_MARKETPLACE_FILE}"))
    return (found.get("name"), found.get("owner")) == (client.MARKETPLACE, _OWNER)


def home_of(marketplace: str | None) -> str | None:
    """The data folder of a marketplace that we generated; None for any other one."""
    home_dir, _, name = (marketplace or "").rstrip("/").rpartition("/")
    return home_dir if name == "plugin" and is_ours(marketplace or "") else None


def _require_room(folder: str) -> None:
    """Refuse to take a folder, or a marketplace's name, from somebody else."""
    if io.names_in(folder) and not is_ours(folder):
        raise InstallError(f"{folder} is not brimline's and in the plugin's place: move it away")
    found = client.marketplace()
    if found and not is_ours(found) and (os.path.lexists(found) or not os.path.isabs(found)):
        raise InstallError(
            f"the client knows another marketplace `{client.MARKETPLACE}`, {found}: "
            f"`claude plugin marketplace remove {client.MARKETPLACE}` makes room"
        )


def _put_back(home_dir: str) -> None:
    """After the client took its edits back: the bytes from before, or at least no empty members.

    The bytes are those of the newest backup that says the same.
    """
    file, backups = _user_settings(), f"{home_dir}/backups"
    if file.raw is None:
        return
    text = file.text
    for key in _MADE_BY_CLIENT:
        if wiring.parse(text).get(key) == {}:
            text = jsontext.remove(text, (key,))
    after = file.encode(text) if wiring.parse(text) else None
    for name in sorted(n for n in io.names_in(backups) if n.startswith("settings.json.")):
        kept = read_plain(f"{backups}/{name}")
        said = client.object_in(kept)
        said = {key: said[key] for key in said if said[key] or key not in _MADE_BY_CLIENT}
        after = kept if kept is not None and said == wiring.parse(text) else after
    if after != file.raw:
        settingsfile.replace(file, after, backups)


def _user_settings() -> settingsfile.SettingsFile:
    return settingsfile.read(parts.settings_path("user", ""))


def _document(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
