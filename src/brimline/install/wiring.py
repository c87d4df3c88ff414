"""Turns a settings text into one with brimline wired in, or taken out again. Pure.

Everything that is not ours keeps its bytes: the edits are made in the text, not in a parsed copy.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from brimline.errors import InstallError
from brimline.install import entries, jsontext

if TYPE_CHECKING:
    from collections.abc import Collection

Path = tuple[str | int, ...]
_HOOKS: Path = ("hooks",)
_STATUSLINE: Path = ("statusLine",)
_PERMISSIONS: Path = ("permissions",)
_ALLOW: Path = ("permissions", "allow")


def wire(
    text: str,
    wiring: entries.Wiring,
    made: Collection[Path] = (),
    inherited: str | None = None,
) -> tuple[str, list[Path]]:
    """Add or renew our entries; returns the text and the containers that exist only for them.

    Args:
        text: the settings; blank ones become an object.
        wiring: where the entries shall point to.
        made: containers that an earlier run made.
        inherited: the status line that a new one here would hide, to be carried along.

    Raises:
        InstallError: the settings have a shape that the client would not understand either.
    """
    text = text if text.strip() else "{}\n"
    wanted = entries.hook_groups(wiring)
    _require_hooks(parse(text), wanted)
    known = list(made) if has_entries(text) else []
    for event in dict.fromkeys([*_hooks(text), *wanted]):
        text = _settle_event(text, event, wanted.get(event), known)
        if event not in wanted:
            text = _drop_if_empty(text, (*_HOOKS, event), known)
    text = _wire_statusline(text, wiring, known, inherited)
    text = _wire_rules(text, wiring.rules, known)
    return text, [path for path in dict.fromkeys(known) if _value_at(text, path) is not None]


def unwire(text: str, made: Collection[Path] | None = None) -> str:
    """Take exactly our entries out, and the empty containers that were made for them.

    Args:
        text: the settings.
        made: containers known to be ours; None: every container that our leaving empties counts.
    """
    touched = made is not None
    for event in _hooks(text):
        held_ours = bool(_ours(text, event))
        touched = touched or held_ours
        text = _settle_event(text, event, None, [])
        if held_ours or made is not None:
            text = _drop_if_empty(text, (*_HOOKS, event), made)
    if touched:
        text = _drop_if_empty(text, _HOOKS, made)
    return _unwire_statusline(_unwire_rules(text, made), made)


def has_entries(text: str) -> bool:
    """Whether any hook or status line of ours is in the settings."""
    settings = parse(text)
    command = statusline_of(settings)
    ours = command is not None and entries.parse_statusline(command) is not None
    return ours or bool(entries.installed(settings))


def statusline_of(settings: dict[str, Any]) -> str | None:
    """The status-line command of a settings object, or None where it has none of a kind we know."""
    line = settings.get("statusLine")
    if not isinstance(line, dict) or line.get("type", "command") != "command":
        return None
    command = line.get("command")
    return command if isinstance(command, str) else None


@functools.lru_cache(maxsize=4)
def parse(text: str) -> dict[str, Any]:
    """The settings as a value, not to be changed; blank ones say nothing.

    Raises:
        InstallError: they are no JSON object.
    """
    try:
        settings = jsontext.parse(text).value if text.strip() else {}
    except ValueError as error:
        raise InstallError(f"this is not valid JSON: {str(error).rstrip('.')}") from None
    if not isinstance(settings, dict):
        raise InstallError("this is not a JSON object")
    return settings


def _settle_event(text: str, event: str, wanted: dict[str, Any] | None, made: list[Path]) -> str:
    """Have the wanted group of ours in an event, and no other one of ours."""
    found, place = _ours(text, event), (*_HOOKS, event)
    if wanted and len(found) == 1 and _hooks(text)[event][found[0][0]] == wanted:
        return text
    for group, entry in reversed(found):
        alone = len(_hooks(text)[event][group]["hooks"]) == 1
        text = jsontext.remove(text, (*place, group) if alone else (*place, group, "hooks", entry))
    if wanted is None:
        return text
    if "hooks" not in parse(text):
        text = jsontext.insert_member(text, (), "hooks", {})
        made.append(_HOOKS)
    if event not in _hooks(text):
        made.append(place)
        return jsontext.insert_member(text, _HOOKS, event, [wanted])
    return jsontext.append_element(text, place, wanted)


def _wire_statusline(
    text: str, wiring: entries.Wiring, made: list[Path], inherited: str | None
) -> str:
    settings = parse(text)
    if "statusLine" not in settings:
        made.append(_STATUSLINE)
        value = {"type": "command", "command": entries.statusline_command(wiring, inherited)}
        return jsontext.insert_member(text, (), "statusLine", value)
    current = statusline_of(settings)
    if current is None:
        return text  # a kind of status line we do not know: left alone
    ours = entries.parse_statusline(current)
    if ours is None and entries.is_our_code(current):
        return text  # somebody built ours into a command of their own
    if ours is None:
        wrapped: str | None = current
        made[:] = [path for path in made if path != _STATUSLINE]
    else:
        wrapped = inherited if _STATUSLINE in made else ours.wrapped
    wanted = entries.statusline_command(wiring, wrapped)
    if current == wanted:
        return text
    return jsontext.replace_value(text, ("statusLine", "command"), wanted)


def _unwire_statusline(text: str, made: Collection[Path] | None) -> str:
    current = statusline_of(parse(text))
    ours = entries.parse_statusline(current) if current is not None else None
    if ours is None:
        return text
    if ours.wrapped is None or _STATUSLINE in (made or ()):
        return jsontext.remove(text, _STATUSLINE)
    return jsontext.replace_value(text, ("statusLine", "command"), ours.wrapped)


def _wire_rules(text: str, rules: Collection[str], made: list[Path]) -> str:
    """Add the permission rules that are not there; what is no list of rules is left alone."""
    permissions = parse(text).get("permissions", {})
    allowed = permissions.get("allow", []) if isinstance(permissions, dict) else None
    for rule in rules:
        if not isinstance(allowed, list) or rule in allowed:
            continue
        if "permissions" not in parse(text):
            text = jsontext.insert_member(text, (), "permissions", {})
            made.append(_PERMISSIONS)
        if "allow" not in parse(text)["permissions"]:
            text = jsontext.insert_member(text, _PERMISSIONS, "allow", [])
            made.append(_ALLOW)
        text = jsontext.append_element(text, _ALLOW, rule)
        made.append((*_ALLOW, rule))
    return text


def _unwire_rules(text: str, made: Collection[Path] | None) -> str:
    """Take out the rules that we added; without a record, those that only we write."""
    allowed = _value_at(text, _ALLOW)
    taken = False
    for at, rule in reversed(list(enumerate(allowed if isinstance(allowed, list) else ()))):
        if entries.is_our_rule(rule) if made is None else (*_ALLOW, rule) in made:
            text, taken = jsontext.remove(text, (*_ALLOW, at)), True
    if taken:
        text = _drop_if_empty(_drop_if_empty(text, _ALLOW, made), _PERMISSIONS, made)
    return text


def _drop_if_empty(text: str, path: Path, made: Collection[Path] | None) -> str:
    if made is not None and path not in made:
        return text
    return jsontext.remove(text, path) if _value_at(text, path) in ({}, []) else text


def _value_at(text: str, path: Path) -> Any:
    value: Any = parse(text)
    for step in path:
        if isinstance(value, list):
            value = step if step in value else None  # a rule is known by its text
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _ours(text: str, event: str) -> list[tuple[int, int]]:
    """Positions (group, entry) of our hooks in an event."""
    groups = _hooks(text).get(event)
    return [
        (at, position)
        for at, group in enumerate(groups if isinstance(groups, list) else ())
        for position, entry in enumerate(entries.entries_of(group))
        if entries.parse_hook(entry)
    ]


def _hooks(text: str) -> dict[str, Any]:
    hooks = parse(text).get("hooks")
    return hooks if isinstance(hooks, dict) else {}


def _require_hooks(settings: dict[str, Any], events: Collection[str]) -> None:
    """Refuse what our entries cannot be added to."""
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise InstallError('"hooks" is not an object; remove it or make it {}')
    for event in events:
        if not isinstance(hooks.get(event, []), list):
            raise InstallError(f'"hooks": "{event}" is not a list; remove it or make it []')
