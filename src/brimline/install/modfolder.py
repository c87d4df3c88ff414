"""The mod: a plugin in the data folder, which the client loads because two of its settings say so.

The client loads it from the folder itself and keeps a record of its own that there is such a
plugin; only its own command takes that out.
"""

from __future__ import annotations

import json
import os
import shutil
from typing import Any

from brimline import __version__
from brimline.errors import InstallError
from brimline.fast import io
from brimline.hooks import slashcommands
from brimline.install import entries
from brimline.install.parts import Plan
from brimline.install.records import Change, read_if_plain_file
from brimline.settings import clientsettings, plugins

EFFECT = (
    "mod     compactions without a model request: old results become lines with a key;",
    "        a fuller context costs about an eighth more input (not with --no-mod)",
)
_ABOUT = "Compacts a Claude Code session without asking a model."
_ABOUT_IDLE = "Lets brimline compact a session in a pause, where the user has set so."
_OWNER = {"name": "brimline"}
_LEFT_TO_MOD = ("PostToolUse", "PostToolUseFailure")
_MARKETPLACE_FILE = ".claude-plugin/marketplace.json"


def mod_folder(home_dir: str) -> str:
    """Where the client loads the mod from."""
    return f"{home_dir}/mod"


class Mod:
    """The files; the settings that name them are edited with the hooks (`wiring`)."""

    def __init__(self, home_dir: str, wired: entries.Wiring = entries.NOWHERE) -> None:
        """Name the data folder, and for installing what the mod is to start."""
        self.folder, self.wired = mod_folder(home_dir), wired
        self.subject = f"the mod ({self.folder})"

    def plan_or_install(self, *, do: bool) -> Plan:
        """Write the files that are missing or out of date.

        Raises:
            InstallError: something that is not ours is in their place.
        """
        if io.list_names(self.folder) and not _is_our_folder(self.folder):
            raise InstallError(f"{self.folder} is not brimline's and in the mod's place: move it")
        wanted = {f"{self.folder}/{name}": text for name, text in mod_files(self.wired).items()}
        found = [Change(path, read_if_plain_file(path), text) for path, text in wanted.items()]
        plan = Plan([change for change in found if change.before != change.after])
        return plan.write_files() if do else plan

    def plan_or_remove(self, *, do: bool) -> Plan:
        """Remove the folder, and have the client forget that there was such a plugin."""
        ours = os.walk(self.folder) if _is_our_folder(self.folder) else ()
        present = [f"{at}/{name}" for at, _, names in ours for name in sorted(names)]
        plan = Plan([Change(path, read_if_plain_file(path), None) for path in present])
        known = plugins.folder_of_marketplace(plugins.NAME)
        if known and os.path.realpath(known) == os.path.realpath(self.folder):
            plan.calls = [("plugin", "marketplace", "remove", plugins.NAME)]
        if do and present:
            shutil.rmtree(self.folder, ignore_errors=True)
        plan.call_client("the client's record of the mod", do=do)
        return plan


def mod_files(wired: entries.Wiring) -> dict[str, bytes]:
    """Every file of the mod by its path in the folder."""
    about = {"name": plugins.MOD_NAME, "version": __version__, "description": _ABOUT}
    idle = {"name": plugins.IDLE_NAME, "version": __version__, "description": _ABOUT_IDLE}
    marketplace = {
        "name": plugins.NAME,
        "owner": _OWNER,
        "metadata": {"description": "brimline, as installed on this machine."},
        "plugins": [
            about | {"source": f"./{plugins.NAME}"},
            idle | {"source": "./idle"},
        ],
    }
    from brimline.mod import modsource  # the rest of us works without that room

    # Before an event's name `hook` is the whole of an entry of ours in the client's settings.
    started: dict[str, Any] = {"command": wired.hook_argv("mod"), "hook": wired.hook_argv("")[:-1]}
    started["commands"] = _commands_for_client(slashcommands.ANSWERED)
    return {
        _MARKETPLACE_FILE: _json_bytes(marketplace),
        f"{plugins.NAME}/.claude-plugin/plugin.json": _json_bytes(about | {"author": _OWNER}),
        f"{plugins.NAME}/hooks/hooks.json": _json_bytes({"modules": ["./register.js"]}),
        f"{plugins.NAME}/hooks/register.js": modsource.joined_mod_javascript_bytes(),
        f"{plugins.NAME}/brimline.json": _json_bytes(started),
        "idle/.claude-plugin/plugin.json": _json_bytes(idle | {"author": _OWNER}),
        "idle/hooks/hooks.json": _json_bytes({"modules": ["./register.js"]}),
        "idle/hooks/register.js": modsource.second_mod_javascript_bytes(),
    }


def plugin_files() -> dict[str, bytes]:
    """The files of the plugin that follow from the code, by their path in its folder.

    Results of tools are left to the mod: a hook would be a process for each of them.
    """
    from brimline.mod import modsource

    program = "${CLAUDE_PLUGIN_ROOT}/hooks/run"
    groups = entries.hook_group_by_event(entries.Wiring("", "", "", launcher=program))
    hooks = {event: [group] for event, group in groups.items() if event not in _LEFT_TO_MOD}
    for group in groups.values():
        group["hooks"][0]["args"].insert(0, "${CLAUDE_PLUGIN_DATA}")
    # This one looks whether the program still starts.
    hooks["SessionStart"][0]["hooks"][0]["command"] = "${CLAUDE_PLUGIN_ROOT}/hooks/start"
    commands = _commands_for_client(slashcommands.IN_PLUGIN)
    return {
        "hooks/hooks.json": _json_bytes({"modules": ["./register.js"], "hooks": hooks}),
        "hooks/register.js": modsource.joined_mod_javascript_bytes(),
        "brimline.json": _json_bytes({"is_plugin": True, "commands": commands}),
    }


def _commands_for_client(commands: tuple[slashcommands.SlashCommand, ...]) -> list[dict[str, str]]:
    return [
        {"name": f"{slashcommands.NAMESPACE}-{command.name}", "description": command.description}
        | ({"argumentHint": command.hint} if command.hint else {})
        for command in (*commands, slashcommands.PANE)
    ]


def _is_our_folder(place: str) -> bool:
    """Tell whether a folder is a marketplace that we generated, or holds what is left of one."""
    found = clientsettings.read_settings(f"{place}/{_MARKETPLACE_FILE}")
    there = {
        os.path.relpath(f"{at}/{name}", place) for at, _, names in os.walk(place) for name in names
    }
    is_named_ours = (found.get("name"), found.get("owner")) == (plugins.NAME, _OWNER)
    return is_named_ours or (bool(there) and there <= mod_files(entries.NOWHERE).keys())


def _json_bytes(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
