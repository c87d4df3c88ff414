"""Turns a settings text into one with brimline wired in, or taken out again. Pure.

Everything that is not ours keeps its bytes: the edits are made in the text, not in a parsed copy.
"""

from __future__ import annotations

from typing import Any

from brimline.errors import InstallError
from brimline.install import entries, jsontext

Path = tuple[str | int, ...]


def wire(text: str, wiring: entries.Wiring) -> tuple[str, list[Path]]:
    """Add or renew our entries; returns the text and the containers that had to be made for them.

    Raises:
        InstallError: the settings have a shape that the client would not understand either.
    """
    text = text if text.strip() else "{}\n"
    settings = _checked(text)
    wanted = entries.hook_groups(wiring)
    made: list[Path] = []
    for event in settings.get("hooks", {}):
        text = _settle_event(text, event, wanted.get(event))
    for event, group in wanted.items():
        if not _ours(_checked(text), event):
            text = _add_group(text, event, group, made)
    return _wire_statusline(text, wiring, made), made


def unwire(text: str, made: list[Path] | None = None) -> str:
    """Take exactly our entries out, and the empty containers that were made for them.

    Args:
        text: the settings.
        made: containers known to be ours; None: every container that ends up empty counts.
    """
    for event in _checked(text).get("hooks", {}):
        text = _settle_event(text, event, None)
        text = _drop_if_empty(text, ("hooks", event), made)
    text = _drop_if_empty(text, ("hooks",), made)
    return _unwire_statusline(text)


def has_entries(text: str) -> bool:
    """Whether anything of ours is in the settings."""
    settings = _checked(text) if text.strip() else {}
    wired = any(_ours_in(settings, event) for event in settings.get("hooks", {}))
    return wired or entries.is_our_command(_statusline_command(settings))


def _settle_event(text: str, event: str, wanted: dict[str, Any] | None) -> str:
    """Keep one current group of ours in an event and remove the others."""
    found = _ours(_checked(text), event)
    keep = found[0] if wanted and found else None
    for group, entry in reversed(found):
        groups = _checked(text)["hooks"][event]
        if (group, entry) == keep:
            if groups[group] != wanted and len(groups[group]["hooks"]) == 1:
                text = jsontext.replace_value(text, ("hooks", event, group), wanted)
            elif len(groups[group]["hooks"]) > 1 and wanted:
                text = jsontext.replace_value(
                    text, ("hooks", event, group, "hooks", entry), wanted["hooks"][0]
                )
        elif len(groups[group]["hooks"]) == 1:
            text = jsontext.remove(text, ("hooks", event, group))
        else:
            text = jsontext.remove(text, ("hooks", event, group, "hooks", entry))
    return text


def _add_group(text: str, event: str, group: dict[str, Any], made: list[Path]) -> str:
    settings = _checked(text)
    if "hooks" not in settings:
        text = jsontext.insert_member(text, (), "hooks", {})
        made.append(("hooks",))
    if event not in settings.get("hooks", {}):
        made.append(("hooks", event))
        return jsontext.insert_member(text, ("hooks",), event, [group])
    return jsontext.append_element(text, ("hooks", event), group)


def _wire_statusline(text: str, wiring: entries.Wiring, made: list[Path]) -> str:
    settings = _checked(text)
    current = _statusline_command(settings)
    if "statusLine" not in settings:
        made.append(("statusLine",))
        value = {"type": "command", "command": entries.statusline_command(wiring)}
        return jsontext.insert_member(text, (), "statusLine", value)
    if current is None:
        return text  # a kind of status line we do not know: left alone
    ours = entries.is_our_command(current)
    wrapped = entries.wrapped_command(current) if ours else current
    wanted = entries.statusline_command(wiring, wrapped)
    if current == wanted:
        return text
    return jsontext.replace_value(text, ("statusLine", "command"), wanted)


def _unwire_statusline(text: str) -> str:
    current = _statusline_command(_checked(text))
    if current is None or not entries.is_our_command(current):
        return text
    wrapped = entries.wrapped_command(current)
    if wrapped:
        return jsontext.replace_value(text, ("statusLine", "command"), wrapped)
    return jsontext.remove(text, ("statusLine",))


def _drop_if_empty(text: str, path: Path, made: list[Path] | None) -> str:
    value: Any = _checked(text)
    for step in path:
        if not isinstance(value, dict) or step not in value:
            return text
        value = value[step]
    if value or (made is not None and path not in made):
        return text
    return jsontext.remove(text, path)


def _ours(settings: dict[str, Any], event: str) -> list[tuple[int, int]]:
    """Positions (group, entry) of our hooks in an event."""
    return [
        (at, position)
        for at, group in enumerate(settings.get("hooks", {}).get(event, []))
        for position, entry in enumerate(group["hooks"] if _is_group(group) else [])
        if entries.is_our_hook(entry)
    ]


def _ours_in(settings: dict[str, Any], event: str) -> bool:
    return bool(_ours(settings, event))


def _is_group(group: Any) -> bool:
    return isinstance(group, dict) and isinstance(group.get("hooks"), list)


def _statusline_command(settings: dict[str, Any]) -> str | None:
    line = settings.get("statusLine")
    if not isinstance(line, dict) or line.get("type", "command") != "command":
        return None
    command = line.get("command")
    return command if isinstance(command, str) else None


def _checked(text: str) -> dict[str, Any]:
    """The settings as a value, once their shape is known to be one we can edit."""
    try:
        settings = jsontext.parse(text).value
    except jsontext.JsonTextError as error:
        raise InstallError(f"the settings are not valid JSON ({error})") from None
    if not isinstance(settings, dict):
        raise InstallError("the settings are not a JSON object")
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(v, list) for v in hooks.values()):
        raise InstallError('"hooks" in the settings is not an object of lists')
    return settings
