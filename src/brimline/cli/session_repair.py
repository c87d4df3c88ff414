"""`brimline session repair`: mends what has exactly one mend, and says what it left alone."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from brimline.cli import session as group
from brimline.cli import session_inspect as inspecting
from brimline.cli import session_inspect_text as render
from brimline.cli import store_text as text
from brimline.cli.session_progress import Progress
from brimline.purge import live as liveness
from brimline.purge import repair as repairing
from brimline.purge.errors import PurgeError

if TYPE_CHECKING:
    from brimline.purge.repair import Report

_ACTIONS = {
    "split": "each row gets a line of its own",
    "unmark": "the mark is taken out",
    "cut": "the piece is taken out and stored",
    "relink": "the row gets another parent",
    "drop": "the second copy is taken out",
    "stub": "the result is stored, a short text takes its place",
    "answer": "a result is added that says it is missing",
}


_HELP = f"""Mend the structure of a session; by default the newest one of this project.

What has exactly one mend is mended: lost parents, calls and results that lost each other, several
rows on one line, rows that stand there twice, a torn last line. Where two mends are possible
nothing is guessed, and the command says where. A backup is kept, and `brimline session restore`
undoes the repair.

\b
Example:
  brimline session repair --dry-run
  brimline session repair session.jsonl --yes

{group.EXIT_CODES}"""


@click.command(context_settings=group.HELP, help=_HELP)
@group.file_argument
@group.current_option
@group.session_option
@click.option("--dry-run", is_flag=True, help="Say what would be mended; touch nothing.")
@group.live_option
@group.yes_option
@group.as_json_option
def repair(
    *,
    file: str | None,
    current: bool,
    session_id: str | None,
    dry_run: bool,
    live: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Mend a session."""
    path = group.target(file, session_id, current=current)
    home_dir = group.home()
    with Progress("Reading", os.path.getsize(path)) as progress:
        report = repairing.repair(
            path, home_dir=home_dir, dry_run=True, live=live, progress=progress.update
        )
    if report.mended and not dry_run:
        if not live:
            liveness.require_idle(report.path, home_dir)
        if not yes:
            _require_terminal()
            click.echo(render.encodable("\n".join(_found(report))), err=True)
            click.confirm(f"Mend {text.count(len(report.mended), 'fault')}?", abort=True, err=True)
        with Progress("Mending", 3 * os.path.getsize(path)) as progress:
            report = repairing.repair(
                path,
                home_dir=home_dir,
                live=live,
                progress=progress.update,
                on_wait=progress.follow,
            )
    document = as_document(report, dry_run=dry_run)
    text.answer(document, "" if as_json else _told(report, document), as_json=as_json)


def as_document(report: Report, *, dry_run: bool) -> dict[str, Any]:
    """What was found and done, under the keys that other programs rely on."""
    return {
        "transcript": report.path,
        "dry_run": dry_run,
        "before": inspecting.findings_document(report.before),
        "mended": [inspecting.fault_document(fault) for fault in report.mended],
        "left_alone": [inspecting.fault_document(fault) for fault in report.left_alone],
        "after": inspecting.findings_document(report.after) if report.after else None,
        "changed": report.after is not None,
        "backup": report.backup,
        "torn_line_key": report.cut_key,
        "is_still_written": not report.is_over,
    }


def _require_terminal() -> None:
    if not sys.stdin or not sys.stdin.isatty():
        raise PurgeError("this rewrites the session: add --yes where there is no terminal to ask")


def _told(report: Report, document: dict[str, Any]) -> str:
    lines = _found(report)
    if report.after is not None:
        left = document["after"]["faults"]
        lines.append(f"Mended {text.count(len(report.mended), 'fault')}.")
        lines.append(f"After: {text.count(len(left), 'fault')}" + ("" if left else ", sound"))
        lines += render.fault_lines(left)
        lines.append(f"Backup: {report.backup}")
        if report.cut_key:
            lines.append(
                f"The torn line is stored: brimline store get {text.short(report.cut_key)}"
            )
        lines.append(f"Undo: brimline session restore {report.path}")
    elif report.mended:
        lines.append(f"Would mend {text.count(len(report.mended), 'fault')}; nothing was changed.")
    else:
        lines.append("Nothing to mend.")
    if not report.is_over:
        lines.append("A program still writes to the file that was replaced; what it writes is")
        lines.append("carried over by the next brimline command on this session.")
    return render.encodable("\n".join(lines))


def _found(report: Report) -> list[str]:
    """What is wrong, what is to be done about it, and what is left alone."""
    mended = [inspecting.fault_document(fault) for fault in report.mended]
    left = [inspecting.fault_document(fault) for fault in report.left_alone]
    lines = [text.shown(report.path, 300)]
    if not mended and not left:
        return [*lines, "Sound: no faults."]
    if mended:
        lines += ["Faults with one mend:", *render.fault_lines(mended)]
        lines += [f"  {action}: {_ACTIONS[action]}" for action in _actions(report)]
    if left:
        lines += ["Left alone, as no mend of them is certain:", *render.fault_lines(left)]
    return lines


def _actions(report: Report) -> list[str]:
    used = {fault.mend.action for fault in report.mended if fault.mend}
    return [action for action in _ACTIONS if action in used]
