"""`brimline scout`: whether the client asks us before reads, too, and the project's ignore file."""

from __future__ import annotations

import json
import os

import click

from brimline import config
from brimline.errors import InstallError
from brimline.fast import paths
from brimline.install import entries, installer, interpreter, settingsfile, ways
from brimline.scout import reads

_HELP = {"help_option_names": ["-h", "--help"]}
_as_json = click.option("--json", "as_json", is_flag=True, help="Report as JSON.")


@click.group(context_settings=_HELP)
def scout() -> None:
    """Watch reads of folders that only fill the context window.

    Which ones is said by .brimlineignore (else .ckignore) in the project's folder, in the syntax of
    .gitignore; without patterns of its own, twelve default folders.

    \b
    Example:
      brimline scout init
      brimline scout on
    """


@scout.command()
@_as_json
def on(as_json: bool) -> None:
    """Register the scout's hook wherever brimline is installed.

    \b
    Example:
      brimline scout on
    """
    _switch(enabled=True, as_json=as_json)


@scout.command()
@_as_json
def off(as_json: bool) -> None:
    """Remove the scout's hook; reads cost nothing again.

    \b
    Example:
      brimline scout off
    """
    _switch(enabled=False, as_json=as_json)


@scout.command()
@click.option("--force", is_flag=True, help="Replace a .brimlineignore that is there.")
@_as_json
def init(force: bool, as_json: bool) -> None:
    """Write a first .brimlineignore: the default folders, or the lines of a .ckignore.

    \b
    Example:
      brimline scout init
    """
    path = reads.write_ignore_file(os.getcwd(), force=force)
    lines = [pattern.text for pattern in reads.load_ignored(os.getcwd()).patterns]
    text = f"Wrote {path} with {len(lines)} patterns. Edit it to taste."
    click.echo(json.dumps({"file": path, "patterns": lines}, indent=2) if as_json else text)


def _switch(*, enabled: bool, as_json: bool) -> None:
    home_dir, project_dir = paths.home(), os.getcwd()
    places = [path for path in installer.known_paths(home_dir, project_dir) if _is_wired(path)]
    plugin = bool(ways.plugin_hooks(home_dir))
    if not places and not plugin:
        raise InstallError("brimline is not installed here yet: run `brimline install` first")
    blocks = config.load(home_dir, project_dir).values["scout.mode"] == "block"
    word = ("block" if blocks else "advise") if enabled else "off"
    config.change(paths.user_config(home_dir), "scout.mode", word, project=False)
    config.compile_policy(home_dir, project_dir)
    changed = [path for path in places if _renew(path, home_dir, project_dir)]
    if plugin:
        places = [*places, "the plugin"]
        ways.refresh_plugin(home_dir)
    state = "on" if enabled else "off"
    problem = reads.load_ignored(project_dir).problem
    report = {"scout": state, "settings": changed, "problem": problem or None}
    text = f"The scout is {state} in new sessions ({', '.join(places)}). {problem}".rstrip()
    click.echo(json.dumps(report, indent=2) if as_json else text)


def _is_wired(path: str) -> bool:
    return entries.mention_us(settingsfile.read(path).raw or b"")


def _renew(path: str, home_dir: str, project_dir: str) -> bool:
    """Write the entries anew; False where they were right already."""
    python = interpreter.choose(None, installer.installed_interpreter(path, home_dir, project_dir))
    wired = installer.wiring_for(python, home_dir)
    return installer.install(path, wired, home_dir, project_dir) is not None
