"""`brimline scout`: the ignore file, its rules, and what they say about a tool call."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from brimline.cli.lazy import LazyGroup
from brimline.cli.registry import SCOUT_COMMANDS
from brimline.guard import scout as scouting

_HELP = {"help_option_names": ["-h", "--help"]}
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(cls=LazyGroup, lazy=SCOUT_COMMANDS, context_settings=_HELP)
def scout() -> None:
    """Keep reads out of folders that only fill the context window.

    The rules are in .brimlineignore (else .ckignore) in the project's folder, in the syntax of
    .gitignore; without rules of its own, twelve default folders are kept out.

    \b
    Example:
      brimline scout init
      brimline scout check Bash 'cat node_modules/react/index.js'
    """


@scout.command()
@click.option("--force", is_flag=True, help="Replace a .brimlineignore that is there.")
@_as_json
def init(force: bool, as_json: bool) -> None:
    """Write a first .brimlineignore.

    It lists the default folders, or the rules of a .ckignore that is there.

    \b
    Example:
      brimline scout init
    """
    from brimline.guard import ignorefile

    path = ignorefile.init(os.getcwd(), force=force)
    report = {"file": path, "rules": list(ignorefile.load(os.getcwd()).rules)}
    text = f"Wrote {path} with {len(report['rules'])} rules. Edit it to taste."
    click.echo(json.dumps(report, indent=2) if as_json else text)


@scout.command()
@_as_json
def status(as_json: bool) -> None:
    """Show the rules in force, where they come from, and the mode.

    \b
    Example:
      brimline scout status
    """
    report = read_status(os.getcwd())
    click.echo(json.dumps(report, indent=2) if as_json else render_status(report))


@scout.command()
@click.argument("tool", type=click.Choice(scouting.TOOLS), metavar="TOOL")
@click.argument("tool_input", metavar="INPUT")
@_as_json
def check(tool: str, tool_input: str, as_json: bool) -> None:
    """Say what the scout makes of a tool call.

    TOOL is Read, Glob, Grep or Bash.
    INPUT is a file for Read, a pattern for Glob, a folder for Grep, a command line for Bash, or the
    tool's whole input as JSON.

    \b
    Example:
      brimline scout check Bash 'cat node_modules/react/index.js'
      brimline scout check Glob '{"pattern": "**/*.ts", "path": "src"}'
    """
    report = judge(tool, _parsed(tool, tool_input), os.getcwd())
    click.echo(json.dumps(report, indent=2) if as_json else report["message"])


def read_status(project_dir: str) -> dict[str, Any]:
    """What is in force for a project, under stable keys."""
    from brimline.guard import ignorefile

    ignore = ignorefile.load(project_dir)
    return {
        "enabled": bool(_values(project_dir)["scout.enabled"]),
        "mode": _mode(project_dir),
        "file": ignore.path,
        "defaults_in_force": ignore.defaults_in_force,
        "rules": list(ignore.rules),
        "problems": list(ignore.problems),
    }


def render_status(report: dict[str, Any]) -> str:
    """The status for a person."""
    origin = "the default folders" if report["defaults_in_force"] else report["file"]
    if report["defaults_in_force"] and report["file"]:
        origin += f" and {report['file']}"
    lines = [
        f"scout  {'on' if report['enabled'] else 'off: `brimline scout on` registers its hook'}",
        f"mode   {report['mode']}",
        f"rules  from {origin}",
        *[f"         {rule}" for rule in report["rules"]],
        *[f"warning: {problem}" for problem in report["problems"]],
    ]
    return "\n".join(lines)


def judge(tool: str, tool_input: Any, project_dir: str) -> dict[str, Any]:
    """The verdict on a tool call made in the project's folder, under stable keys."""
    from brimline.guard import ignorefile

    ignore = ignorefile.load(project_dir)
    scene = scouting.make_scene(project_dir, project_dir, ignore.matcher)
    finding = scouting.examine(tool, tool_input, scene)
    mode = _mode(project_dir)
    verdict = "allow" if finding is None else {"block": "deny"}.get(mode, "advise")
    text = scouting.message(finding, ignore, mode) if finding else "Nothing in it is kept out."
    return {
        "tool": tool,
        "verdict": verdict,
        "kind": finding.kind if finding else None,
        "path": finding.path if finding else None,
        "rule": (finding.rule or None) if finding else None,
        "allow_line": (finding.allow or None) if finding else None,
        "suggestions": list(finding.suggestions) if finding else [],
        "message": f"{verdict}: {text}",
    }


def _parsed(tool: str, text: str) -> Any:
    if not text.lstrip().startswith("{"):
        return {scouting.MAIN_FIELD[tool]: text}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        # A brace may also open a glob such as {a,b}/**, or a group of commands.
        return {scouting.MAIN_FIELD[tool]: text}


def _mode(project_dir: str) -> str:
    mode: str = _values(project_dir)["scout.mode"]
    return mode


def _values(project_dir: str) -> dict[str, Any]:
    from brimline import config, paths

    return config.load(paths.home(), project_dir).values
