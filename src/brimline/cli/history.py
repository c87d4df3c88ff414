"""`brimline history`: what sessions went through, and how large their summaries are."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from brimline import clock
from brimline.cli import history_text
from brimline.errors import SessionError
from brimline.fast import paths
from brimline.state import history as questions
from brimline.transcript.find import beginning_with

if TYPE_CHECKING:
    from collections.abc import Iterable

    from brimline.state.figures import Compaction, Figures
    from brimline.state.history import Session

_RECENT_SESSIONS = 20
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
    notes = _update(home_dir, transcripts(session))
    known = {one.session_id: one for one in questions.sessions(home_dir)}
    if session is None:
        document = overview_document(known, every_compaction=compactions)
        text = history_text.overview(document, only_compactions=compactions)
    else:
        document = session_document(known[find(known, session)])
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


def transcripts(session: str | None) -> list[str]:
    """The client's session files, of all projects; with a session, those whose name begins so."""
    return beginning_with("" if session is None else paths.safe_session_id(session))


def find(known: Iterable[str], session: str) -> str:
    """The one known session with an id that is, or begins with, a text.

    Raises:
        SessionError: there is none, or more than one.
    """
    found = [name for name in known if name.startswith(session)] if session else []
    if not found:
        raise SessionError(f"no session {session!r} is known: `brimline history` lists them")
    if len(found) > 1 and session not in found:
        raise SessionError(f"{len(found)} sessions begin with {session!r}: write more of the id")
    return session if session in found else found[0]


def _update(home_dir: str, files: list[str]) -> list[str]:
    """Bring the history up to date; returns what a reader of its figures should know."""
    size = sum(os.path.getsize(file) for file in files if os.path.isfile(file))
    if size < _PROGRESS_FROM_BYTES or not os.isatty(2):
        return questions.update(home_dir, files)
    with click.progressbar(length=size, label="Reading", file=sys.stderr) as bar:
        return questions.update(home_dir, files, progress=bar.update)


def overview_document(known: dict[str, Session], *, every_compaction: bool) -> dict[str, Any]:
    """All sessions at a glance, under the keys that other programs rely on; unknown is null."""
    figures = {name: known[name].figures for name in sorted(known)}
    seen = [name for name, found in figures.items() if found.last_at is not None]
    seen.sort(key=lambda name: figures[name].last_at or 0.0, reverse=True)
    # A compaction that was copied into a resumed session counts once.
    every: dict[Any, tuple[str, Compaction]] = {}
    for name, found in figures.items():
        for number, one in enumerate(found.compactions):
            every.setdefault(one.uuid or (name, number), (name, one))
    compactions = sorted(every.values(), key=lambda pair: pair[1].begun_at)
    sizes = [one.summary_characters for _, one in compactions]
    document: dict[str, Any] = {
        "session_count": len(seen),
        "sessions": [_session_line(name, figures[name]) for name in seen[:_RECENT_SESSIONS]],
        "compaction_count": len(compactions),
        "summary_characters": percentiles([size for size in sizes if size is not None]),
        "damaged_lines": sum(one.damaged for one in known.values()),
    }
    if every_compaction:
        document["compactions"] = [_compaction(one, name) for name, one in compactions]
    return document


def percentiles(values: list[int]) -> dict[str, int] | None:
    """How a figure is spread, each a value that occurred (nearest rank); None without any."""
    if not values:
        return None
    ordered = sorted(values)
    shares = {f"p{share}": ordered[-(-len(ordered) * share // 100) - 1] for share in (50, 95, 99)}
    return {"count": len(ordered), **shares, "largest": ordered[-1]}


def session_document(session: Session) -> dict[str, Any]:
    """One session in full."""
    found = session.figures
    line = _session_line(session.session_id, found)
    return {
        **{name: line[name] for name in list(line)[:6]},
        "requests": line["requests"],
        "peak_occupancy_tokens": line["peak_occupancy_tokens"],
        "occupancy_tokens": found.occupancies,
        "turns": [{"number": n} | _timed(turn) for n, turn in enumerate(found.turns, 1)],
        "messages": [_timed(notice) for notice in found.messages],
        "blocks": [_timed(notice) for notice in found.blocks],
        "compactions": [_compaction(one, session.session_id) for one in found.compactions],
    }


def _session_line(session_id: str, found: Figures) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "project": found.project,
        "model": found.model,
        "window_tokens": found.window_tokens,
        "first_at": _time(found.first_at),
        "last_at": _time(found.last_at),
        "turns": len(found.turns),
        "requests": len(found.occupancies),
        "peak_occupancy_tokens": max(found.occupancies, default=None),
        "compactions": len(found.compactions),
        "messages": len(found.messages),
        "blocks": len(found.blocks),
    }


def _compaction(found: Compaction, session_id: str) -> dict[str, Any]:
    names = ("trigger", "pre_tokens", "post_tokens", "summary_characters", "summary_source")
    told = {name: getattr(found, name) for name in names}
    carried = {
        "messages_of_the_user": found.messages,
        "messages_in_summary": found.held,
        "card_characters": found.card_characters,
    }
    return {"session_id": session_id, "at": _time(found.at)} | told | carried


def _timed(found: Any) -> dict[str, Any]:
    return asdict(found) | {"at": _time(found.at)}


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else clock.format_utc(seconds)
