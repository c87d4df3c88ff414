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
    _require_hooks(_checked(text), wanted)
    known = list(made) if has_entries(text) else []
    for event in _hooks(_checked(text)):
        text = _settle_event(text, event, wanted.get(event))
        if event not in wanted:
            text = _drop_if_empty(text, (*_HOOKS, event), known)
    for event, group in wanted.items():
        if not _ours(_checked(text), event):
            text = _add_group(text, event, group, known)
    text = _wire_statusline(text, wiring, known, inherited)
    text = _wire_rules(text, wiring.rules, known)
    return text, [path for path in known if _exists(text, path)]


def unwire(text: str, made: Collection[Path] | None = None) -> str:
    """Take exactly our entries out, and the empty containers that were made for them.

    Args:
        text: the settings.
        made: containers known to be ours; None: every container that our leaving empties counts.
    """
    touched = False
    for event in _hooks(_checked(text)):
        held_ours = bool(_ours(_checked(text), event))
        touched = touched or held_ours
        text = _settle_event(text, event, None)
        if held_ours or made is not None:
            text = _drop_if_empty(text, (*_HOOKS, event), made)
    if touched or made is not None:
        text = _drop_if_empty(text, _HOOKS, made)
    return _unwire_statusline(_unwire_rules(text, made), made)


def has_entries(text: str) -> bool:
    """Whether anything of ours is in the settings."""
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


def parse(text: str) -> dict[str, Any]:
    """The settings as a value; blank ones say nothing.

    Raises:
        InstallError: they are no JSON object.
    """
    return _checked(text) if text.strip() else {}


def _settle_event(text: str, event: str, wanted: dict[str, Any] | None) -> str:
    """Keep one current entry of ours in an event and take the others out."""
    found = _ours(_checked(text), event)
    groups = _hooks(_checked(text))[event]
    keep = next((at for at in found if wanted and _fits(groups[at[0]], wanted)), None)
    for at in reversed(found):
        if wanted and at == keep:
            text = _renew(text, event, at, wanted)
        else:
            text = _take_out(text, event, at)
    return text


def _fits(group: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether our entry can stay in its group: it is alone there, or all fire at the same calls."""
    return len(group["hooks"]) == 1 or group.get("matcher") == wanted.get("matcher")


def _renew(text: str, event: str, at: tuple[int, int], wanted: dict[str, Any]) -> str:
    place: Path = (*_HOOKS, event, at[0])
    group = _hooks(_checked(text))[event][at[0]]
    if len(group["hooks"]) == 1:
        return text if group == wanted else jsontext.replace_value(text, place, wanted)
    entry = wanted["hooks"][0]
    if group["hooks"][at[1]] == entry:
        return text
    return jsontext.replace_value(text, (*place, "hooks", at[1]), entry)


def _take_out(text: str, event: str, at: tuple[int, int]) -> str:
    place: Path = (*_HOOKS, event, at[0])
    if len(_hooks(_checked(text))[event][at[0]]["hooks"]) == 1:
        return jsontext.remove(text, place)
    return jsontext.remove(text, (*place, "hooks", at[1]))


def _add_group(text: str, event: str, group: dict[str, Any], made: list[Path]) -> str:
    settings = _checked(text)
    if "hooks" not in settings:
        text = jsontext.insert_member(text, (), "hooks", {})
        made.append(_HOOKS)
    if event not in _hooks(settings):
        made.append((*_HOOKS, event))
        return jsontext.insert_member(text, _HOOKS, event, [group])
    return jsontext.append_element(text, (*_HOOKS, event), group)


def _wire_statusline(
    text: str, wiring: entries.Wiring, made: list[Path], inherited: str | None
) -> str:
    settings = _checked(text)
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
    if ours is None and _STATUSLINE in made:
        made.remove(_STATUSLINE)
    if ours is None:
        wrapped: str | None = current
    else:
        wrapped = inherited if _STATUSLINE in made else ours.wrapped
    wanted = entries.statusline_command(wiring, wrapped)
    if current == wanted:
        return text
    return jsontext.replace_value(text, ("statusLine", "command"), wanted)


def _unwire_statusline(text: str, made: Collection[Path] | None) -> str:
    current = statusline_of(_checked(text))
    ours = entries.parse_statusline(current) if current is not None else None
    if ours is None:
        return text
    if ours.wrapped is None or _STATUSLINE in (made or ()):
        return jsontext.remove(text, _STATUSLINE)
    return jsontext.replace_value(text, ("statusLine", "command"), ours.wrapped)


def _wire_rules(text: str, rules: Collection[str], made: list[Path]) -> str:
    """Add the permission rules that are not there; what is no list of rules is left alone."""
    permissions = _checked(text).get("permissions", {})
    allowed = permissions.get("allow", []) if isinstance(permissions, dict) else None
    missing = [rule for rule in rules if isinstance(allowed, list) and rule not in allowed]
    for rule in missing:
        if "permissions" not in _checked(text):
            text = jsontext.insert_member(text, (), "permissions", {})
            made.append(_PERMISSIONS)
        if "allow" not in _checked(text)["permissions"]:
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
        ours = entries.is_our_rule(rule) if made is None else (*_ALLOW, rule) in made
        if ours:
            text, taken = jsontext.remove(text, (*_ALLOW, at)), True
    if taken:
        text = _drop_if_empty(_drop_if_empty(text, _ALLOW, made), _PERMISSIONS, made)
    return text


def _drop_if_empty(text: str, path: Path, made: Collection[Path] | None) -> str:
    if made is not None and path not in made:
        return text
    return jsontext.remove(text, path) if _value_at(text, path) in ({}, []) else text


def _exists(text: str, path: Path) -> bool:
    return _value_at(text, path) is not None


def _value_at(text: str, path: Path) -> Any:
    value: Any = _checked(text)
    for step in path:
        if isinstance(value, list):
            value = step if step in value else None  # a rule is known by its text
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _ours(settings: dict[str, Any], event: str) -> list[tuple[int, int]]:
    """Positions (group, entry) of our hooks in an event."""
    groups = _hooks(settings).get(event)
    return [
        (at, position)
        for at, group in enumerate(groups if isinstance(groups, list) else ())
        for position, entry in enumerate(entries.entries_of(group))
        if entries.is_our_hook(entry)
    ]


def _hooks(settings: dict[str, Any]) -> dict[str, Any]:
    hooks = settings.get("hooks")
    return hooks if isinstance(hooks, dict) else {}


def _require_hooks(settings: dict[str, Any], events: Collection[str]) -> None:
    """Refuse what our entries cannot be added to."""
    if not isinstance(settings.get("hooks", {}), dict):
        raise InstallError('"hooks" is not an object; remove it or make it {}')
    for event in events:
        if not isinstance(_hooks(settings).get(event, []), list):
            raise InstallError(f'"hooks": "{event}" is not a list; remove it or make it []')


@functools.lru_cache(maxsize=4)
def _checked(text: str) -> dict[str, Any]:
    """The settings as a value, once they are known to be an object; not to be changed."""
    try:
        settings = jsontext.parse(text).value
    except ValueError as error:
        raise InstallError(f"this is not valid JSON: {str(error).rstrip('.')}") from None
    if not isinstance(settings, dict):
        raise InstallError("this is not a JSON object")
    return settings
