"""Turns a settings text into one with brimline wired in, or taken out again. Pure.

Everything that is not ours keeps its bytes: the edits are made in the text, not in a parsed copy.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from brimline.errors import InstallError
from brimline.install import entries, jsontext
from brimline.settings import plugins

if TYPE_CHECKING:
    from collections.abc import Collection


def with_entries(text: str, wiring: entries.Wiring, original: dict[str, Any] | None = None) -> str:
    """Add or renew our entries.

    Args:
        text: the settings; blank ones become an object.
        wiring: where the entries shall point to.
        original: what they were before us, where that is known: rules that are not in it are ours,
            and go.

    Raises:
        InstallError: the settings have a shape that the client would not understand either.
    """
    text = text if text.strip() else "{}\n"
    wanted = entries.hook_group_by_event(wiring)
    _refuse_unusable_hooks_value(parse_settings(text), wanted)
    for event in dict.fromkeys([*_groups_by_event(text), *wanted]):
        text = _with_only_our_group(text, event, wanted.get(event))
    text = with_statusline(text, wiring)
    text = text if original is None else _without_rules(text, original)
    return text if wiring.mod is None else _with_mod(text, wiring.mod)


def without_entries(text: str, original: dict[str, Any] | None = None) -> str:
    """Take exactly our entries out, and the containers that this empties.

    Args:
        text: the settings.
        original: what they were before us, where that is known: its empty containers, permission
            rules and status line stay.
    """
    before = original or {}
    held_ours = has_entries_of_ours(text)
    for event in _groups_by_event(text):
        text = _with_only_our_group(text, event, None, before)
    if held_ours:
        text = _without_empty_at(text, ("hooks",), before)
    return without_statusline(_without_mod(_without_rules(text, before), before), original)


def has_entries_of_ours(text: str) -> bool:
    """Tell whether any hook, status line or mod of ours is in the settings."""
    settings = parse_settings(text)
    line = entries.parse_our_statusline(statusline_command_of(settings))
    return bool(line or entries.our_hooks_in(settings) or _value_at(settings, _SOURCE))


def statusline_command_of(settings: dict[str, Any]) -> str | None:
    """The status-line command of a settings object, or None where it has none of a kind we know."""
    command = _value_at(settings, _LINE)
    is_command = _value_at(settings, ("statusLine", "type")) in (None, "command")
    return command if is_command and isinstance(command, str) else None


@functools.lru_cache(maxsize=4)
def parse_settings(text: str) -> dict[str, Any]:
    """The settings as a value, not to be changed; blank ones say nothing.

    Raises:
        InstallError: they are not a JSON object.
    """
    settings = jsontext.parse_json_text(text) if text.strip() else {}
    if not isinstance(settings, dict):
        raise InstallError("this is not a JSON object")
    return settings


def _with_only_our_group(
    text: str, event: str, wanted: dict[str, Any] | None, before: dict[str, Any] | None = None
) -> str:
    """Make our group the only one of ours under this event."""
    found, place = _our_positions_in_event(text, event), ("hooks", event)
    if wanted and len(found) == 1 and _groups_by_event(text)[event][found[0][0]] == wanted:
        return text
    for group, entry in reversed(found):
        alone = len(_groups_by_event(text)[event][group]["hooks"]) == 1
        text = jsontext.without_value(
            text, (*place, group) if alone else (*place, group, "hooks", entry)
        )
    if wanted is None:
        return _without_empty_at(text, place, before or {}) if found else text
    if event not in _groups_by_event(text):
        return jsontext.with_new_member(text, ("hooks",), event, [wanted])
    return jsontext.with_appended(text, place, wanted)


def with_statusline(text: str, wiring: entries.Wiring) -> str:
    """Add or renew our status line, with what was there before inside it."""
    settings = parse_settings(text)
    if "statusLine" not in settings:
        value = {"type": "command", "command": entries.statusline_command(wiring)}
        return jsontext.with_new_member(text, (), "statusLine", value)
    current = statusline_command_of(settings)
    ours = entries.parse_our_statusline(current)
    if current is None or (ours is None and entries.starts_brimline(current)):
        return text  # of a kind we do not know, or somebody built ours into a command of their own
    wanted = entries.statusline_command(wiring, ours.wrapped if ours else current)
    return text if current == wanted else jsontext.with_value(text, _LINE, wanted)


def without_statusline(text: str, original: dict[str, Any] | None) -> str:
    """Put back the status line that ours had taken in; none where there was none."""
    ours = entries.parse_our_statusline(statusline_command_of(parse_settings(text)))
    if ours is None:
        return text
    made = original is not None and "statusLine" not in original
    if ours.wrapped is None or made:
        return jsontext.without_value(text, ("statusLine",))
    return jsontext.with_value(text, _LINE, ours.wrapped)


def _without_rules(text: str, before: dict[str, Any]) -> str:
    """Take out the rules that only earlier versions wrote, and the containers that this empties."""
    allowed, kept = _value_at(parse_settings(text), _ALLOW), _value_at(before, _ALLOW)
    ours = [
        at
        for at, rule in enumerate(allowed if isinstance(allowed, list) else ())
        if entries.is_our_rule(rule) and not (isinstance(kept, list) and rule in kept)
    ]
    for at in reversed(ours):
        text = jsontext.without_value(text, (*_ALLOW, at))
    if ours:
        text = _without_empty_at(_without_empty_at(text, _ALLOW, before), _ALLOW[:1], before)
    return text


_LINE = ("statusLine", "command")
_ALLOW = ("permissions", "allow")
# Where the client is told of a folder with plugins, and which of them it loads.
_SOURCE = ("extraKnownMarketplaces", plugins.NAME)
_ENABLED = ("enabledPlugins", plugins.MOD)
_ENABLED_IDLE = ("enabledPlugins", plugins.IDLE)
_ENABLED_EARLIER = ("enabledPlugins", plugins.EARLIER_MOD)


def _with_mod(text: str, folder: str) -> str:
    """Have the client load the mod from a folder, or from none; a mod that is disabled stays so."""
    if not folder:
        return _without_mod(text, {})
    source = {"source": {"source": "directory", "path": folder}}
    is_on = _value_at(parse_settings(text), _ENABLED_EARLIER)
    if is_on is not None:
        text = jsontext.without_value(text, _ENABLED_EARLIER)
    for path, value in ((_SOURCE, source), (_ENABLED, is_on is not False), (_ENABLED_IDLE, True)):
        held = parse_settings(text).get(path[0], {})
        if not isinstance(held, dict):
            continue  # the client does not understand it either
        if path[1] not in held:
            text = jsontext.with_new_member(text, path[:1], path[1], value)
        elif path == _SOURCE and held[path[1]] != value:
            text = jsontext.with_value(text, path, value)
    return text


def _without_mod(text: str, before: dict[str, Any]) -> str:
    for path in (_ENABLED, _ENABLED_IDLE, _ENABLED_EARLIER, _SOURCE):
        if _value_at(parse_settings(text), path) is not None and _value_at(before, path) is None:
            text = _without_empty_at(jsontext.without_value(text, path), path[:1], before)
    return text


def _without_empty_at(text: str, path: jsontext.Path, before: dict[str, Any]) -> str:
    if _value_at(before, path) is not None or _value_at(parse_settings(text), path) not in ({}, []):
        return text
    return jsontext.without_value(text, path)


def _value_at(settings: dict[str, Any], path: jsontext.Path) -> Any:
    value: Any = settings
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _our_positions_in_event(text: str, event: str) -> list[tuple[int, int]]:
    """Positions (group, entry) of our hooks in an event."""
    groups = _groups_by_event(text).get(event)
    return [
        (at, position)
        for at, group in enumerate(groups if isinstance(groups, list) else ())
        for position, entry in enumerate(entries.entries_of_group(group))
        if entries.parse_our_hook(entry)
    ]


def _groups_by_event(text: str) -> dict[str, Any]:
    hooks = parse_settings(text).get("hooks")
    return hooks if isinstance(hooks, dict) else {}


def _refuse_unusable_hooks_value(settings: dict[str, Any], events: Collection[str]) -> None:
    """Refuse what our entries cannot be added to."""
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise InstallError('"hooks" is not an object; remove it or make it {}')
    for event in events:
        if not isinstance(hooks.get(event, []), list):
            raise InstallError(f'"hooks": "{event}" is not a list; remove it or make it []')
