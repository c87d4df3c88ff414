"""`brimline config`: where settings come from, what they are, how to change them."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from brimline import output
from brimline.errors import ConfigError
from brimline.fast import paths
from brimline.foreign import flatten
from brimline.gauge.window import FALLING_UNITS
from brimline.settings import config
from brimline.settings.catalogue import BY_KEY, SETTINGS
from brimline.settings.values import coerce

_MOST_POINTS = 100


@output.command("list")
def list_command(as_json: bool) -> None:
    """Print every setting in force, and the file they come from.

    \b
    Example:
      brimline config list
    """
    loaded = _load_config()
    file = paths.user_config(paths.data_dir())
    document = {"file": file, "values": loaded.values, "problems": loaded.problems}
    lines = [
        output.wrapped_text(f"{key} = {_value_text(value)}", "", "    ")
        for key, value in loaded.values.items()
    ]
    missing = "" if os.path.exists(file) else "  (not there)"
    lines.append(f"# {flatten(file, 4_096)}{missing}")
    output.answer(document, "\n".join(lines), as_json=as_json)
    _warn_of_problems(loaded)


@output.command("get")
@click.argument("key")
def get_command(key: str, as_json: bool) -> None:
    """Print one setting.

    \b
    Example:
      brimline config get guard.tiers
    """
    config.find_setting(key)
    loaded = _load_config()
    output.answer(loaded.values[key], _value_text(loaded.values[key]), as_json=as_json)
    _warn_of_problems(loaded)


@output.command("set")
@click.argument("key")
@click.argument("value")
def set_command(key: str, value: str, as_json: bool) -> None:
    """Write one setting; comments and layout of the file stay.

    \b
    Example:
      brimline config set guard.preset off
    """
    file = paths.user_config(paths.data_dir())
    if key == "guard.tiers":
        _require_ordered_tiers(value)
    if key == "memory.url":
        from brimline.recall import place

        # Before anything could repeat what is wrong with it: it may hold a key.
        place.parse_place(value)
    written = config.write_setting(file, key, value)
    config.compile_policy(paths.data_dir(), os.getcwd())
    report = {"key": key, "value": written, "file": file}
    output.answer(report, f"{key} = {_value_text(written)}  in {file}", as_json=as_json)
    if key == "memory.exclude":
        output.print_note("`brimline memory index` brings the search in line, or the next session")
    if BY_KEY[key].kind == "path" and not os.path.exists(os.path.expanduser(written).split("%")[0]):
        output.print_note(f"there is no {written} yet")
    source = _load_config().sources[key]
    if source != "user":
        output.print_note(f"{key} is overridden by {source}")


set_command.context_settings = output.HELP | {"ignore_unknown_options": True}  # such as -5


@output.command("unset")
@click.argument("key")
def unset_command(key: str, as_json: bool) -> None:
    """Remove one setting from your file. The next weaker value counts again.

    \b
    Example:
      brimline config unset guard.preset
    """
    file = paths.user_config(paths.data_dir())
    removed = config.remove_setting(file, key)
    config.compile_policy(paths.data_dir(), os.getcwd())
    loaded = _load_config()
    value, source = loaded.values.get(key), loaded.sources.get(key, "no longer a setting")
    report = {"key": key, "removed": removed, "file": file, "value": value, "source": source}
    was = "was removed from" if removed else "was not in"
    told = f"{key} {was} {file}; in force: {_value_text(value)} ({source})"
    output.answer(report, told, as_json=as_json)


@output.command("explain")
@click.argument("key", required=False)
def explain_command(key: str | None, as_json: bool) -> None:
    """Say what each setting does, its value, and what set it.

    \b
    Example:
      brimline config explain context_window
    """
    if key:
        config.find_setting(key)
    loaded = _load_config()
    rows = {
        setting.key: {
            "value": loaded.values[setting.key],
            "source": loaded.sources[setting.key],
            "default": setting.default,
            "environment": setting.variable if setting.project else None,
            "meaning": setting.doc,
        }
        for setting in ([BY_KEY[key]] if key else SETTINGS)
    }
    lines = []
    for name, row in rows.items():
        told = f"{name} = {_value_text(row['value'])}  (from: {row['source']})"
        lines.append(output.wrapped_text(told, "", "    "))
        lines.append(
            output.wrapped_text(f"{row['meaning']}{_variable_text(row['environment'])}", "    ")
        )
    document = {"settings": rows, "problems": loaded.problems}
    output.answer(document, "\n".join(lines), as_json=as_json)
    _warn_of_problems(loaded)


def _variable_text(name: str | None) -> str:
    return f" Environment: {name}." if name else ""


@output.command("presets")
def presets_command(as_json: bool) -> None:
    """List the presets of `guard.preset` with what each does.

    \b
    Example:
      brimline config presets
      brimline config set guard.preset haios-80
    """
    from brimline.settings.presets import load_presets

    chosen = _load_config().values["guard.preset"]
    rows = [
        {"name": name, "meaning": one["doc"], "sets": one["settings"], "in_force": name == chosen}
        for name, one in load_presets().items()
    ]
    lines = [
        output.wrapped_text(
            row["meaning"], f"{'*' if row['in_force'] else ' '} {row['name']:16} ", " " * 19
        )
        for row in rows
    ]
    output.answer(rows, "\n".join(lines), as_json=as_json)


def _require_ordered_tiers(text: str) -> None:
    """Refuse tiers that run against their unit: figures of another one are meant, most likely.

    Raises:
        ConfigError: they fall where the unit rises with use, or the other way round.
    """
    try:
        tiers = coerce(BY_KEY["guard.tiers"], text)
    except ValueError:
        return  # whoever writes it says what is wrong
    unit = _load_config().values["guard.tier_unit"]
    falls = unit in FALLING_UNITS
    right = sorted(tiers, reverse=falls)
    told = f"{'fall' if falls else 'rise'} in the unit {unit}: write {','.join(map(str, right))}"
    if unit != "tokens" and max(tiers) > _MOST_POINTS:
        told = f"be 0 to {_MOST_POINTS} in the unit {unit}"
    elif tiers == right:
        return
    raise ConfigError(f"guard.tiers must {told}, or set guard.tier_unit first")


def _load_config() -> config.Config:
    return config.load(paths.data_dir(), os.getcwd())


def _warn_of_problems(loaded: config.Config) -> None:
    for problem in loaded.problems:
        output.complain(f"warning: {problem}")


def _value_text(value: Any) -> str:
    return "unset" if value is None else json.dumps(value)
