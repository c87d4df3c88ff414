"""`brimline rules`: which instruction files hold here, why, at what cost, with which faults."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from brimline import output
from brimline.errors import ConfigError
from brimline.fast import clock
from brimline.gauge import composition
from brimline.rules import loading, marked

if TYPE_CHECKING:
    from brimline.rules.cascade import Cascade


@output.command("show")
@click.argument("path", metavar="[PATH]", required=False)
@click.option("--text", "as_text", is_flag=True, help="Print all rules as one text.")
def show_command(path: str | None, as_text: bool, as_json: bool) -> None:
    """List what loads here, when and at what cost. With PATH, what holds for that file.

    Tokens are estimated from the length. --text has at most 4,000 characters of a file and 12,000
    in all; what is cut says so, and what depends on PATH stands at the end.

    \b
    Example:
      brimline rules show
      brimline rules show --text src/api/server.py > rules.txt
    """
    if path is None and not as_text:
        document = loading.project_document(os.getcwd(), composition.characters_to_tokens)
    elif as_text:
        made = marked.text_of_all_files(_files_for(path).sources, has_file=path is not None)
        output.answer({"text": made}, made.rstrip("\n"), as_json=as_json)
        return
    else:
        document = loading.document(_files_for(path), composition.characters_to_tokens)
        document["is_complete"] = True
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
    document = loading.explanation_document(
        _files_for(path), path, composition.characters_to_tokens
    )
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


def _files_for(path: str | None) -> Cascade:
    if path is not None and (not path.strip() or "\0" in path):
        raise ConfigError("PATH is empty: name a file or folder of the project")
    return loading.gather_files_for_commands(os.getcwd(), path or "")
