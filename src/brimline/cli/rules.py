"""`brimline rules`: which instruction files load here, why, at what cost, with which faults."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from brimline import clock, config, paths
from brimline.cli import rules_report as report
from brimline.cli import rules_text as text
from brimline.errors import ConfigError

_HELP = {"help_option_names": ["-h", "--help"]}
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(context_settings=_HELP)
def rules() -> None:
    """See which instruction files hold in this folder: CLAUDE.md, AGENTS.md, rules, imports.

    Files are listed weakest first: organisation, user, your own for this project, folders above it,
    the project, folders below it on the way to the file at hand.

    \b
    Example:
      brimline rules list
      brimline rules explain src/api/server.py
      brimline rules lint
    """


@rules.command("list")
@_as_json
def list_(as_json: bool) -> None:
    """List what loads here, when, what it costs, and what survives a compaction.

    Tokens are estimated from the length of the text.

    \b
    Example:
      brimline rules list
      brimline rules list --json
    """
    found = report.listing(_project(), _values())
    _answer(found, text.listing(found), as_json=as_json)


@rules.command()
@click.argument("path", metavar="PATH")
@_as_json
def explain(path: str, as_json: bool) -> None:
    """Say which rules hold for a file or folder, where each is from, and which is nearer.

    PATH need not exist yet.

    \b
    Example:
      brimline rules explain src/api/server.py
    """
    found = report.explanation(_project(), _checked(path), _values())
    _answer(found, text.explanation(found), as_json=as_json)


@rules.command()
@click.option("--strict", is_flag=True, help="End with code 1 on doubtful findings too.")
@_as_json
def lint(strict: bool, as_json: bool) -> None:
    """Check for missing files, circles, conflicts, duplicates, stale and oversized rules.

    Ends with code 1 where something is broken.

    \b
    Example:
      brimline rules lint
      brimline rules lint --strict --json
    """
    found = report.findings(_project(), _values(), clock.now())
    _answer(found, text.findings(found), as_json=as_json)
    if found["broken"] or (strict and found["doubtful"]):
        raise SystemExit(1)


@rules.command()
@click.argument("path", metavar="[PATH]", required=False)
@_as_json
def assemble(path: str | None, as_json: bool) -> None:
    """Print all rules as one text, for other tools; with PATH, those for that file too.

    At most 4,000 characters of a file and 12,000 in all, headings included; what is cut says so.
    What depends on PATH stands below a line of its own, after what is the same for every file.

    \b
    Example:
      brimline rules assemble
      brimline rules assemble src/api/server.py > rules.txt
    """
    found = report.assembly(_project(), _checked(path) if path else None, _values())
    _answer(found, found["text"].rstrip("\n"), as_json=as_json)


def _project() -> str:
    return os.getcwd()


def _values() -> dict[str, Any]:
    return config.load(paths.home(), _project()).values


def _checked(path: str) -> str:
    if not path.strip() or "\0" in path:
        raise ConfigError("PATH is empty: name a file or folder of the project")
    return path


def _answer(document: Any, words: str, *, as_json: bool) -> None:
    """Print for a program or for a person; a name that is no text is shown with question marks."""
    if as_json:
        click.echo(json.dumps(document, indent=2))
    elif words:
        click.echo(words.encode("utf-8", "replace").decode("utf-8"))
