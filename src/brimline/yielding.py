"""The plugin's hooks yield where the client's settings start brimline too: one effect, not two.

Fast path: imports only `fast.io`. The client runs the hooks of both. At a session's start the
plugin's one looks into the settings and leaves a mark in the session's folder, which is all that
the others look at. Hooks from the settings never come here.
"""

from __future__ import annotations

from brimline.fast import io

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.hooks.turn import Turn

MARK = "yields-to-settings"


def yields(turn: Turn) -> bool:
    """Whether a hook of the plugin leaves this event to the hook in the client's settings."""
    if turn.event.name != "SessionStart":
        return MARK in turn.state.names
    mark = f"{turn.state.folder}/{MARK}"
    if settings_start_us(turn.project):
        io.create_exclusively(mark, b"")
        return True
    io.remove(mark)
    return False


def settings_start_us(project_dir: str) -> bool:
    """Whether the client's settings hold entries of ours whose program is there.

    A shared project's settings may name an interpreter or a launcher of another machine; the client
    cannot start that one.
    """
    import os

    from brimline.settings import clientsettings

    found = [
        entry
        for path in clientsettings.settings_files(project_dir).values()
        for entry in _start_entries(clientsettings.read_settings(path))
    ]
    return any(_is_ours(entry) and os.path.exists(entry["command"]) for entry in found)


def _start_entries(settings: dict[str, Any]) -> list[Any]:
    """The entries that a settings object of any shape has for a session's start."""
    hooks = settings.get("hooks")
    groups = hooks.get("SessionStart") if isinstance(hooks, dict) else None
    sound = [group for group in _list(groups) if isinstance(group, dict)]
    return [entry for group in sound for entry in _list(group.get("hooks"))]


def _is_ours(entry: Any) -> bool:
    from brimline.launch import is_bootstrap, is_launcher

    if not isinstance(entry, dict) or not isinstance(entry.get("command"), str):
        return False
    texts = [text for text in _list(entry.get("args")) if isinstance(text, str)]
    return any(map(is_bootstrap, texts)) or (bool(texts) and is_launcher(entry["command"]))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
