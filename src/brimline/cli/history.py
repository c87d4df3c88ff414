"""`brimline history`: what sessions went through, and how large their summaries are."""

from __future__ import annotations

import glob
import json
import os
import sys
from typing import TYPE_CHECKING

import click

from brimline import paths
from brimline.cli import history_audits, history_text
from brimline.cli.history_document import overview_document, session_document
from brimline.errors import SessionError
from brimline.state import database, recorded, series
from brimline.state import history as questions

if TYPE_CHECKING:
    from collections.abc import Iterable

# Reading transcripts takes about a second for this much.
_PROGRESS_FROM_BYTES = 500 << 20


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--session", metavar="ID", help="One session, by its id or the start of it.")
@click.option("--compactions", is_flag=True, help="Only compactions, each on a line.")
@click.option("--savings", is_flag=True, help="What offloading kept out, less what it cost.")
@click.option("--all", "every", is_flag=True, help="With --savings: list every session.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON with stable keys.")
def history(
    session: str | None, compactions: bool, savings: bool, every: bool, as_json: bool
) -> None:
    """Show sessions with their turns, growth and compactions, and how large summaries are.

    Figures come from what hooks recorded; compactions also from the client's transcripts.

    \b
    Example:
      brimline history
      brimline history --session 1f0c2d3e
      brimline history --compactions --json
      brimline history --savings
    """
    if savings:
        _show_savings(session, compactions=compactions, every=every, as_json=as_json)
        return
    if every:
        raise click.UsageError("--all goes with --savings only")
    home_dir = paths.home()
    notes = gather(home_dir, session)
    if session is None:
        document = overview_document(questions.overview(home_dir), every_compaction=compactions)
        history_audits.add(home_dir, document)
        text = history_text.overview(document, only_compactions=compactions)
    else:
        document = session_document(questions.session(home_dir, find(home_dir, session)))
        history_audits.add(home_dir, document)
        text = history_text.session(document, only_compactions=compactions)
    if as_json:
        click.echo(json.dumps(document | {"notes": notes}, indent=2))
        return
    click.echo(text)
    for note in notes:
        click.echo(f"note: {note}", err=True)


def _show_savings(session: str | None, *, compactions: bool, every: bool, as_json: bool) -> None:
    if compactions:
        raise click.UsageError("--savings and --compactions exclude each other")
    from brimline.cli import savings

    savings.show(session, every=every, as_json=as_json)


def gather(home_dir: str, session: str | None) -> list[str]:
    """Bring the series up to date; returns what a reader of its figures should know.

    Raises:
        StateError: the series cannot be opened or written.
    """
    drained = series.drain(home_dir)
    notes = [f"a spool could not be read: {told}" for told in drained.unreadable]
    if not drained.finished:
        notes.append("not everything that hooks recorded is in yet: run it again")
    files = recorded.unread(home_dir, transcripts(session))
    notes += [f"a transcript could not be read: {told}" for told in _read(home_dir, files)]
    kept = [os.path.basename(path) for path in database.set_aside(home_dir)]
    if kept:
        notes.append(
            f"the series was damaged and made anew from the spools; kept: {', '.join(kept)}"
        )
    return notes


def transcripts(session: str | None) -> list[str]:
    """The client's session files, of all projects; with a session, those whose name begins so."""
    name = "" if session is None else glob.escape(paths.safe_session_id(session))
    return glob.glob(f"{glob.escape(paths.client_config_dir())}/projects/*/{name}*.jsonl")


def find(home_dir: str, session: str) -> str:
    """The one known session with an id that is, or begins with, a text.

    Raises:
        SessionError: there is none, or more than one.
        StateError: the series cannot be read.
    """
    found = questions.matching(home_dir, session) if session else []
    if not found:
        raise SessionError(f"no session {session!r} is known: `brimline history` lists them")
    if len(found) > 1:
        raise SessionError(f"{len(found)} sessions begin with {session!r}: write more of the id")
    return found[0]


def _read(home_dir: str, files: list[recorded.Transcript]) -> Iterable[str]:
    size = sum(file.size for file in files)
    if size < _PROGRESS_FROM_BYTES or not os.isatty(2):
        return recorded.remember(home_dir, files) if files else []
    with click.progressbar(length=size, label="Reading", file=sys.stderr) as bar:
        return recorded.remember(home_dir, files, bar.update)
