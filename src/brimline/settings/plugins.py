"""The client's plugins that are brimline: the one that brings all of it, and the command's mod.

Where both are there the plugin acts, and what the command installed leaves everything to it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brimline.fast import owntools, paths
from brimline.settings import clientsettings

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME, MARKETPLACE = "brimline", "brimline-plugin"
PLUGIN = f"{NAME}@{MARKETPLACE}"
# The mod that the command installs has a name of its own: the client loads one mod of each name.
MOD_NAME = f"{NAME}-mod"
MOD = f"{MOD_NAME}@{NAME}"
# Does no more than what the mod cannot do by itself; it is switched on and off with it.
IDLE_NAME = f"{NAME}-idle"
IDLE = f"{IDLE_NAME}@{NAME}"
EARLIER_MOD = f"{NAME}@{NAME}"
_RECALL = owntools.names("recall")


def plugin_at_work(project_dir: str) -> str | None:
    """The plugin that acts in a project, by its id; None without one.

    The user alone switches it on; a project's settings may switch it off.
    """
    found = [name for name in plugins_of_our_name(project_dir) if _is_whole(name)]
    files = clientsettings.path_by_scope(project_dir)
    chosen = [_enabled_in(files[scope]) for scope in ("user", "managed")]
    return next((name for name in found if any(one.get(name) is True for one in chosen)), None)


def plugins_of_our_name(project_dir: str) -> list[str]:
    """The ids of all plugins that are on in a project and are called like ours."""
    enabled: dict[str, Any] = {}
    for path in clientsettings.path_by_scope(project_dir).values():
        enabled |= _enabled_in(path)
    return [name for name, is_on in enabled.items() if is_on is True and _is_of_our_name(name)]


def namesakes(project_dir: str) -> list[str]:
    """Files of a project, or above it, that put something in the place of what is ours by name.

    The client prefers a project's MCP server to the user's. Once the folder is trusted it also
    takes a marketplace from where the project says, for good and in all projects.
    """
    places = [Path(project_dir), *Path(project_dir).parents]
    files = clientsettings.path_by_scope(project_dir)
    found = [f"{place}/.mcp.json" for place in places]
    found += [files[scope] for scope in ("project", "local") if files[scope] != files["user"]]
    return [path for path in found if _puts_something_in_our_place(path)]


def _puts_something_in_our_place(path: str) -> bool:
    if clientsettings.is_too_large_or_deep(path):
        return True
    held = clientsettings.read_settings(path)
    servers, sources = (_as_dict(held.get(key)) for key in ("mcpServers", "extraKnownMarketplaces"))
    if path.endswith(".mcp.json"):
        return clientsettings.SERVER in servers
    others = [name for name, on in _enabled_in(path).items() if on is True and name != PLUGIN]
    if NAME in sources or any(map(_is_of_our_name, others)):
        return True
    source = _as_dict(_as_dict(sources.get(MARKETPLACE)).get("source"))
    is_own = source == {"source": "github", "repo": _own_repository()}
    return MARKETPLACE in sources and not is_own


def _own_repository() -> str:
    """Where this plugin comes from, by its own word; empty where it is none."""
    about = clientsettings.read_settings(os.path.dirname(paths.PACKAGE_DIR) + paths.PLUGIN_MANIFEST)
    return str(about.get("repository", "")).removeprefix("https://github.com/")


def is_recall_allowed(project_dir: str) -> bool:
    """Tell whether the model may fetch what this project stored without asking: our hook lets it.

    It does so in the plugin, and where settings of the user's have it called before a recall. A
    rule that asks or denies is stronger.
    """
    held = {
        name: clientsettings.texts_listed_in_settings(project_dir, "permissions", name)
        for name in ("allow", "ask", "deny")
    }
    about = {name: any(map(clientsettings.is_rule_about_recall, held[name])) for name in held}
    files = clientsettings.path_by_scope(project_dir)
    may = about["allow"] or plugin_at_work(project_dir) is not None
    may = may or any(_is_asked_before_recall(files[scope]) for scope in ("user", "local"))
    return may and not (about["ask"] or about["deny"])


def _is_asked_before_recall(settings_path: str) -> bool:
    hooks = _as_dict(clientsettings.read_settings(settings_path).get("hooks"))
    groups = hooks.get("PreToolUse")
    found = groups if isinstance(groups, list) else []
    matchers = [_as_dict(group).get("matcher") for group in found]
    return any(name in str(matcher).split("|") for matcher in matchers for name in _RECALL)


def folder_of_marketplace(name: str) -> str | None:
    """The folder that the client takes a marketplace from; None without one."""
    known = _read_clients_record("known_marketplaces")
    path = _as_dict(_as_dict(known.get(name)).get("source")).get("path")
    return path if isinstance(path, str) else None


def is_mod_on(project_dir: str) -> bool | None:
    """Whether the settings that hold in a project enable the mod; None: they do not name it."""
    found = None
    for path in clientsettings.path_by_scope(project_dir).values():
        is_on = _enabled_in(path).get(MOD)
        found = is_on if isinstance(is_on, bool) else found
    return found


def folders_of_plugin(name: str) -> Iterator[str]:
    """Yield where the client has installed a plugin, by its own record."""
    records = _as_dict(_read_clients_record("installed_plugins").get("plugins")).get(name)
    for record in records if isinstance(records, list) else []:
        place = _as_dict(record).get("installPath")
        if isinstance(place, str):
            yield place


def version_of_plugin(name: str) -> str:
    """The version of a plugin that is installed; empty where that is not known."""
    for place in folders_of_plugin(name):
        version = clientsettings.read_settings(f"{place}{paths.PLUGIN_MANIFEST}").get("version")
        if isinstance(version, str):
            return version
    return ""


def _is_of_our_name(name: str) -> bool:
    return name.partition("@")[0] == NAME and name != EARLIER_MOD


def _is_whole(name: str) -> bool:
    return any(os.path.isfile(f"{place}/hooks/start") for place in folders_of_plugin(name))


def _enabled_in(settings_path: str) -> dict[str, Any]:
    return _as_dict(clientsettings.read_settings(settings_path).get("enabledPlugins"))


def _read_clients_record(name: str) -> dict[str, Any]:
    return clientsettings.read_settings(f"{paths.client_config_dir()}/plugins/{name}.json")


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
