"""`brimline scout on` and `off`: whether the client asks us before reads, too."""

from __future__ import annotations

import json
import os

import click

from brimline import config, libraries, paths
from brimline.errors import InstallError
from brimline.install import entries, installer, interpreter, settingsfile, ways

_HELP = {"help_option_names": ["-h", "--help"]}
_as_json = click.option("--json", "as_json", is_flag=True, help="Report as JSON.")


@click.command(context_settings=_HELP)
@_as_json
def on(as_json: bool) -> None:
    """Register the scout's hook wherever brimline is installed.

    \b
    Example:
      brimline scout init
      brimline scout on
    """
    _switch(enabled=True, as_json=as_json)


@click.command(context_settings=_HELP)
@_as_json
def off(as_json: bool) -> None:
    """Remove the scout's hook; reads cost nothing again.

    \b
    Example:
      brimline scout off
    """
    _switch(enabled=False, as_json=as_json)


def _switch(*, enabled: bool, as_json: bool) -> None:
    home_dir, project_dir = paths.home(), os.getcwd()
    places = [path for path in installer.known_paths(home_dir, project_dir) if _is_wired(path)]
    plugin = bool(ways.plugin_hooks(home_dir))
    if not places and not plugin:
        raise InstallError("brimline is not installed here yet: run `brimline install` first")
    word = "true" if enabled else "false"
    config.change(paths.user_config(home_dir), "scout.enabled", word, project=False)
    libraries.remember(home_dir)
    config.compile_policy(home_dir, project_dir)
    changed = [path for path in places if _renew(path, home_dir, project_dir)]
    if plugin:
        places = [*places, "the plugin"]
        ways.refresh_plugin(home_dir)
    report = {"scout": "on" if enabled else "off", "settings": changed}
    state = "on" if enabled else "off"
    text = f"The scout is {state} in new sessions ({', '.join(places)})."
    click.echo(json.dumps(report, indent=2) if as_json else text)


def _is_wired(path: str) -> bool:
    return entries.mention_us(settingsfile.read(path).raw or b"")


def _renew(path: str, home_dir: str, project_dir: str) -> bool:
    """Write the entries anew; False where they were right already."""
    python = interpreter.choose(None, installer.installed_interpreter(path, home_dir, project_dir))
    wired = installer.wiring_for(python, home_dir)
    return installer.install(path, wired, home_dir, project_dir) is not None
