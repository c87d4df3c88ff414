"""`brimline config`: where settings come from, what they are, how to change them."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from brimline import config as configuration
from brimline import presets as preset_list
from brimline.cli.lazy import LazyGroup
from brimline.cli.registry import CONFIG_COMMANDS
from brimline.fast import paths
from brimline.settings import BY_KEY, SETTINGS

_HELP = {"help_option_names": ["-h", "--help"]}
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(cls=LazyGroup, lazy=CONFIG_COMMANDS, context_settings=_HELP)
def config() -> None:
    """Show, explain and change settings.

    Precedence, weakest first: defaults, preset, user file, project file, environment.

    \b
    Example:
      brimline config explain
      brimline config set guard.tiers 40,20,10,5
    """


@config.command()
@_as_json
def path(as_json: bool) -> None:
    """Print where the user's and this project's settings are.

    \b
    Example:
      brimline config path
    """
    found = {
        "user": paths.user_config(paths.home()),
        "project": paths.project_config(os.getcwd()),
    }
    lines = [f"{scope:8} {file}" + _missing(file) for scope, file in found.items()]
    click.echo(json.dumps(found, indent=2) if as_json else "\n".join(lines))


@config.command()
@_as_json
def show(as_json: bool) -> None:
    """Print every setting in force.

    \b
    Example:
      brimline config show --json
    """
    loaded = _load()
    lines = [f"{key} = {_written(value)}" for key, value in loaded.values.items()]
    click.echo(json.dumps(loaded.values, indent=2) if as_json else "\n".join(lines))
    _warn(loaded)


@config.command()
@click.argument("key")
@_as_json
def get(key: str, as_json: bool) -> None:
    """Print one setting.

    \b
    Example:
      brimline config get guard.tiers
    """
    configuration.find(key)
    loaded = _load()
    value = loaded.values[key]
    click.echo(json.dumps(value) if as_json else _written(value))
    _warn(loaded)


@config.command("set")
@click.argument("key")
@click.argument("value")
@click.option("--project", is_flag=True, help="Write this project's file instead of the user's.")
@_as_json
def set_(key: str, value: str, project: bool, as_json: bool) -> None:
    """Write one setting; comments and layout of the file stay.

    \b
    Example:
      brimline config set guard.preset off
    """
    home_dir, project_dir = paths.home(), os.getcwd()
    user_file, project_file = paths.user_config(home_dir), paths.project_config(project_dir)
    file = project_file if project else user_file
    written = configuration.change(file, key, value, project=project)
    configuration.compile_policy(home_dir, project_dir)
    report = {"key": key, "value": written, "file": file}
    click.echo(json.dumps(report) if as_json else f"{key} = {_written(written)}  in {file}")
    source = _load().sources[key]
    if source != ("project" if project else "user"):
        click.echo(f"note: {key} is overridden by {source}", err=True)


@config.command()
@click.argument("key", required=False)
@_as_json
def explain(key: str | None, as_json: bool) -> None:
    """Say for each setting what it does, its value, and which source set it.

    \b
    Example:
      brimline config explain context_window
    """
    if key:
        configuration.find(key)
    loaded = _load()
    chosen = [BY_KEY[key]] if key else list(SETTINGS)
    if as_json:
        rows = {
            setting.key: {
                "value": loaded.values[setting.key],
                "source": loaded.sources[setting.key],
                "default": setting.default,
                "environment": setting.env,
                "meaning": setting.doc,
            }
            for setting in chosen
        }
        click.echo(json.dumps({"settings": rows, "problems": loaded.problems}, indent=2))
        return
    for setting in chosen:
        value, source = _written(loaded.values[setting.key]), loaded.sources[setting.key]
        click.echo(f"{setting.key} = {value}  (from: {source}; environment: {setting.env})")
        click.echo(f"    {setting.doc}")
    _warn(loaded)


@config.command()
@_as_json
def presets(as_json: bool) -> None:
    """List the presets of `guard.preset` with what each does.

    \b
    Example:
      brimline config presets
      brimline config set guard.preset haios-80
    """
    chosen = _load().values["guard.preset"]
    if as_json:
        rows = [
            {"name": name, "meaning": p["doc"], "sets": p["settings"], "in_force": name == chosen}
            for name, p in preset_list.load().items()
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    for name, preset in preset_list.load().items():
        mark = "*" if name == chosen else " "
        click.echo(f"{mark} {name:16} {preset['doc']}")


def _load() -> configuration.Config:
    return configuration.load(paths.home(), os.getcwd())


def _warn(loaded: configuration.Config) -> None:
    for problem in loaded.problems:
        click.echo(f"warning: {problem}", err=True)


def _written(value: Any) -> str:
    return "unset" if value is None else json.dumps(value)


def _missing(file: str) -> str:
    return "" if os.path.exists(file) else "  (not there)"
