"""`brimline offload`: what experience taught about keeping outputs out, and how to unlearn it."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from brimline import clock
from brimline.cli import store_text as text
from brimline.errors import StateError
from brimline.fast import paths
from brimline.offload import learning

_HELP = {"help_option_names": ["-h", "--help"]}
_PATTERN_CHARACTERS = 80
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_in_project = click.option("--project", "here", is_flag=True, help="Only what this project taught.")
_NOTHING = "Nothing was learned yet: no large output was seen in the last 30 days."
_MEANING = {
    learning.LARGE: "large  kept out where its kind is",
    learning.PASS: "pass   left alone, as its stubs came back; every fifth is kept out to see",
}


@click.group(context_settings=_HELP)
def offload() -> None:
    """See which outputs turn out large, and which are left alone because they are fetched back.

    \b
    Example:
      brimline offload learned
      brimline offload forget 'npm run build'
    """


@offload.command()
@_in_project
@_as_json
def learned(here: bool, as_json: bool) -> None:
    """List what was learned from large outputs and from what was fetched back.

    Without --project all projects count together. What happened more than 30 days ago does not
    count.

    \b
    Example:
      brimline offload learned
      brimline offload learned --project --json
    """
    found = learning.learned(paths.home(), project_dir() if here else None)
    documents = [entry_document(entry) for entry in found]
    text.answer(documents, render(documents), as_json=as_json)


@offload.command()
@click.argument("pattern")
@_in_project
@click.option("--yes", is_flag=True, help="Do not ask.")
@_as_json
def forget(pattern: str, here: bool, yes: bool, as_json: bool) -> None:
    """Unlearn a pattern, as `learned` lists it.

    \b
    Example:
      brimline offload forget 'npm run build'
      brimline offload forget 'git log' --project --yes
    """
    home_dir, project = paths.home(), project_dir() if here else None
    if pattern not in {entry.pattern for entry in learning.learned(home_dir, project)}:
        where = " in this project" if here else ""
        raise StateError(
            f"nothing was learned about {pattern!r}{where}: `brimline offload learned` lists it all"
        )
    _require_consent(yes=yes)
    where = "in this project" if here else "in all projects"
    text.ask(f"Forget what was learned about {text.shown(pattern)} {where}?", yes=yes)
    projects = learning.forget(home_dir, pattern, project)
    document = {"pattern": pattern, "project": project, "projects": projects}
    told = f"Forgotten in {text.count(projects, 'project')}: {text.shown(pattern)}"
    text.answer(document, told, as_json=as_json)


def project_dir() -> str:
    """The project that the command is called in, as the hooks know it."""
    return os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()


def entry_document(entry: learning.Learned) -> dict[str, Any]:
    """One pattern under stable keys."""
    return {
        "pattern": entry.pattern,
        "tool": entry.tool,
        "verdict": entry.verdict,
        "last_at": clock.format_utc(entry.last_at),
        "count": len(entry.sizes_bytes),
        "smallest_bytes": min(entry.sizes_bytes),
        "largest_bytes": max(entry.sizes_bytes),
        "stubs": len(entry.stubs),
        "recalls": entry.recalls,
    }


def render(documents: list[dict[str, Any]]) -> str:
    """All patterns for a person."""
    if not documents:
        return _NOTHING
    rows = [
        [
            text.minute(one["last_at"]),
            _sizes(one["smallest_bytes"], one["largest_bytes"]),
            f"{one['count']:,}",
            f"{one['stubs']:,}",
            f"{one['recalls']:,}",
            one["verdict"],
            text.shown(one["tool"]),
            text.shown(one["pattern"], _PATTERN_CHARACTERS),
        ]
        for one in documents
    ]
    head = ["last seen", "sizes", "large", "stubs", "came back", "verdict", "tool", "pattern"]
    verdicts = {one["verdict"] for one in documents}
    meanings = [meaning for verdict, meaning in _MEANING.items() if verdict in verdicts]
    return "\n".join([text.table(head, rows, {1, 2, 3, 4}), "", *meanings])


def _sizes(smallest: int, largest: int) -> str:
    low, high = text.size(smallest), text.size(largest)
    return low if low == high else f"{low} to {high}"


def _require_consent(*, yes: bool) -> None:
    if not yes and (not sys.stdin or not sys.stdin.isatty()):
        raise StateError("this forgets what was learned: add --yes where there is no terminal")
