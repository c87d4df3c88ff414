"""`brimline rules`: which instruction files hold here, why, at what cost, with which faults."""

from __future__ import annotations

import os

import click

from brimline import output
from brimline.errors import ConfigError
from brimline.fast import clock
from brimline.gauge import composition
from brimline.rules import loading


@output.command("show")
def show_command(as_json: bool) -> None:
    """List what loads here, when and at what cost.

    Tokens are estimated from the length.

    \b
    Example:
      brimline rules show
    """
    document = loading.project_document(os.getcwd(), composition.characters_to_tokens)
    output.answer(document, loading.text, as_json=as_json)


@output.command("explain")
@click.argument("path", metavar="PATH")
def explain_command(path: str, as_json: bool) -> None:
    """Say which rules hold for a file or folder, and where from.

    PATH need not exist yet.

    \b
    Example:
      brimline rules explain src/api/server.py
    """
    if not path.strip() or "\0" in path:
        raise ConfigError("PATH is empty: name a file or folder of the project")
    cascade = loading.gather_files_for_commands(os.getcwd(), path)
    document = loading.explanation_document(cascade, path, composition.characters_to_tokens)
    output.answer(document, loading.explanation_text, as_json=as_json)


@output.command("lint")
@click.option("--strict", is_flag=True, help="End with code 1 on doubtful findings too.")
def lint_command(strict: bool, as_json: bool) -> None:
    """Check for missing, circular, double, stale, large rules.

    Ends with code 1 where something is broken.

    \b
    Example:
      brimline rules lint
      brimline rules lint --strict --json
    """
    document = loading.findings_document(os.getcwd(), clock.now_s())
    output.answer(document, loading.findings_text, as_json=as_json)
    if document["broken"] or (strict and document["findings"]):
        raise SystemExit(1)
