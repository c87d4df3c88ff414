"""The check of the mod: whether the client loads it, and what keeps it from answering."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from brimline.fast import paths
from brimline.install import client, entries, modfolder, parts
from brimline.settings import clientsettings, config, plugins
from brimline.state.session import MOD_ALIVE, SessionState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.install.doctor import Said

# An organisation's settings that allow no mods but its own.
_MANAGED_ONLY = ("allowManagedHooksOnly", "allowManagedModsOnly")


def check_mod(home_dir: str, project_dir: str) -> Iterator[Said]:
    """Say whether the mod is there and was loaded, and what keeps it from answering."""
    if not parts.our_entries_in(parts.settings_path("user", project_dir)):
        return
    enabled = plugins.is_mod_on(project_dir)
    if not enabled:
        yield ("mod-left-out" if enabled is None else "mod-disabled"), {"plugin": plugins.MOD}
        return
    inside = config.load(home_dir, project_dir).values["compaction.inside"]
    if inside == "off":
        yield "mod-off", {}
        return
    wired = parts.wiring_of_chosen_python(home_dir, parts.settings_path("user", project_dir))
    if stale := modfolder.Mod(home_dir, wired).plan_or_install(do=False).files:
        yield "mod-stale", {"files": ", ".join(change.path for change in stale)}
    settings = _read_all_settings(project_dir)
    yield _judge_whether_last_session_had_mod(home_dir, settings)
    for command in _foreign_precompact_commands(settings):
        yield "mod-precompact", {"command": command}


def _read_all_settings(project_dir: str) -> list[dict[str, Any]]:
    files = clientsettings.path_by_scope(project_dir).values()
    return [clientsettings.read_settings(path) for path in files]


def _judge_whether_last_session_had_mod(home_dir: str, settings: list[dict[str, Any]]) -> Said:
    """Whether the last session had the mod, and if not, why."""
    folder = paths.sessions_dir(home_dir)
    spools = sorted(Path(folder).glob("*/spool.jsonl"), key=lambda path: path.stat().st_mtime)
    if not spools:
        return "mod-unseen", {}
    state = SessionState(home_dir, spools[-1].parent.name)
    sign = state.read_document(MOD_ALIVE)
    if sign:
        return "mod", {"client": sign.get("client") or "unknown", "inside": sign.get("inside")}
    return "mod-not-loaded", {"session": state.session_id, "reason": _why_mod_not_loaded(settings)}


def _why_mod_not_loaded(settings: list[dict[str, Any]]) -> str:
    if any(found.get("disableAllHooks") is True for found in settings):
        return 'settings have "disableAllHooks"'
    if any(name in str(found) for found in settings[-1:] for name in _MANAGED_ONLY):
        return "the organisation's settings allow no other mods"
    if client.is_client_too_old_for_mods():
        return f"the client is older than {'.'.join(map(str, client.MODS_FROM))}"
    return "it began before the mod was installed, or with --bare, --safe-mode or another policy"


def _foreign_precompact_commands(settings: list[dict[str, Any]]) -> list[str]:
    """Commands under PreCompact that are not ours: a compaction without a model runs none."""
    found = [hook for each in settings for hook in entries.all_hooks_in(each)]
    held = [entry for event, entry in found if event == "PreCompact" and isinstance(entry, dict)]
    return [str(entry.get("command")) for entry in held if not entries.parse_our_hook(entry)]
