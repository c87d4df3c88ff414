"""`brimline memory`: the topics of a project and the search; `brimline forget`: the opposite.

A search loads as little as it can: people and slash commands wait for it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from brimline import output
from brimline.errors import BrimlineError, StateError, TeamError
from brimline.fast import paths
from brimline.recall import database, hits, overview, together
from brimline.transcript.project import is_within, project_of_caller, real_folder

if TYPE_CHECKING:
    import sqlite3

    from brimline.recall.hot import Topic
    from brimline.recall.place import Place
    from brimline.session.copies import Copy
    from brimline.state.forgotten import Asked


@output.command("search")
@click.argument("words", metavar="TEXT...", nargs=-1, required=True)
@click.option("--everywhere", is_flag=True, help="In all projects, not only this one.")
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 100))
def search_command(words: tuple[str, ...], everywhere: bool, limit: int, as_json: bool) -> None:
    """Find what was said. It covers messages, replies, summaries, checkpoints, notes, topics.

    It looks into what `brimline memory index` and housekeeping took in by now.

    \b
    Example:
      brimline memory search why did we drop the session store
      brimline memory search --everywhere "retry budget" --limit 3
    """
    query = " ".join(words)
    within = None if everywhere else project_of_caller()
    document = together.document(paths.data_dir(), os.getcwd(), query, limit, within)
    _print_note_if_search_was_renewed()
    if document["problem"]:
        output.print_note(f"from this machine alone: {document['problem']}")
    if document["reading"]:
        output.print_note(hits.progress_text(document["reading"]))
    if not document["hits"] and not everywhere:
        output.print_note("this project alone was searched; `--everywhere` looks into all")
    output.answer(document, hits.text, as_json=as_json)


@output.command("show")
@click.argument("key", metavar="KEY")
def show_command(key: str, as_json: bool) -> None:
    """Show an entry, with what came before and after it.

    A KEY is what `brimline memory search` shows before a hit.

    \b
    Example:
      brimline memory show m1204
    """
    output.answer(
        hits.entry_with_neighbours(paths.data_dir(), key), hits.neighbourhood_text, as_json=as_json
    )


@output.command("add")
@click.argument("name", metavar="NAME")
@click.argument("text", metavar="TEXT")
@click.option("--type", "kind", required=True, help="user, feedback, project or reference.")
@click.option("--description", required=True, help="One line: what the index says about it.")
def add_command(name: str, text: str, kind: str, description: str, as_json: bool) -> None:
    """Write a topic, and its line in the index. TEXT may be `-` for standard input.

    \b
    Example:
      brimline memory add deploys --type project --description "How" "By tag."
    """
    from brimline.recall import hot

    topic = hot.add_topic(_memory_folder(), name, kind, description, _text_or_stdin(text))
    _update_topic_in_search(topic)
    output.answer(overview.topic_head_document(topic), topic.path, as_json=as_json)


@output.command("list")
def list_command(as_json: bool) -> None:
    """List the topics of this project.

    \b
    Example:
      brimline memory list
    """
    output.answer(overview.topics_document(_memory_folder()), overview.topics_text, as_json=as_json)


@output.command("lint")
def lint_command(as_json: bool) -> None:
    """Check the topics and the index. The exit code is 1 where something is wrong.

    \b
    Example:
      brimline memory lint
    """
    from brimline.recall import hot

    place = _memory_folder()
    problems = hot.lint(place)
    text = "\n".join(f"{problem.path}:{problem.line}: {problem.text}" for problem in problems)
    document = {"folder": place, "problems": [problem._asdict() for problem in problems]}
    output.answer(document, text or f"{place}: nothing is wrong.", as_json=as_json)
    if problems:
        raise click.exceptions.Exit(1)


@output.command("index")
@click.option("--rebuild", is_flag=True, help="Read every source again, from its beginning.")
def index_command(rebuild: bool, as_json: bool) -> None:
    """Index all sessions, checkpoints, notes and topics.

    Housekeeping does the same, a little at each session's start. What the client has deleted
    since it was read stays, also with --rebuild.

    \b
    Example:
      brimline memory index
    """
    from brimline.recall import deep
    from brimline.settings import config

    home_dir, project = paths.data_dir(), os.getcwd()
    exclude = config.load(home_dir, project).values["memory.exclude"]
    if rebuild:
        hits.open_or_make_memory(home_dir).run_on_database(_mark_all_sources_unread)
    total = deep.bytes_of_unread_sources(home_dir, project)
    with output.Progress("Reading sessions", total) as progress:
        done = deep.index_sources(home_dir, project, exclude, progress=progress.advance)
    _print_note_if_search_was_renewed()
    counts = hits.open_or_make_memory(home_dir).run_on_database(overview.entry_and_session_counts)
    total = sum(counts["entries"].values())
    told = f"{_entry_count_text(done.added)} added, {total:,} in all."
    output.answer(done._asdict(), told, as_json=as_json)


@output.command("sync")
@click.option("--rebuild", is_flag=True, help="Send everything, and delete there what is not here.")
def sync_command(rebuild: bool, as_json: bool) -> None:
    """Send what is new to the team's server. What is gone here is deleted there.

    The first time, and for every other address, it shows on a terminal what goes where, and asks.
    After that the MCP server does the same every few minutes. What fails stays in the queue.

    \b
    Example:
      brimline memory sync
    """
    from brimline.recall import deep
    from brimline.recall.queue import Queue
    from brimline.settings import config

    home_dir, project = paths.data_dir(), os.getcwd()
    place = together.named_place(home_dir, project)
    if place is None:
        raise TeamError("there is no team's server: `brimline config set memory.url` names one")
    exclude = config.load(home_dir, project).values["memory.exclude"]
    deep.index_sources(home_dir, project, exclude)
    _confirm_new_address(home_dir, place, exclude)
    queue = Queue(home_dir, place)
    waiting = queue.sync_list_and_find_waiting(rebuild=rebuild)
    with output.Progress("Sending", waiting.total) as progress:
        done = queue.drain(waiting, progress=progress.advance)
    told = f"{done['sent']:,} sent to {queue.place.name}, {done['deleted']:,} deleted there."
    if done["unknown"]:
        told += f" {done['unknown']:,} from here are known there alone: --rebuild deletes them."
    output.answer(done, told, as_json=as_json)


@output.command("status")
def status_command(as_json: bool) -> None:
    """Show topics, entries by source, the team's server.

    \b
    Example:
      brimline memory status
    """
    document = overview.status_document(paths.data_dir(), _memory_folder())
    _print_note_if_search_was_renewed()
    document["team"] = together.status(paths.data_dir(), os.getcwd())
    rows = overview.status_rows(document)
    rows += [("team", together.status_text(document["team"]))] if document["team"] else []
    output.answer(document, output.name_value_text(rows), as_json=as_json)


@output.command("forget")
@click.option(
    "--session", "session_id", metavar="ID", help="One session, by its id or how it begins."
)
@click.option("--project", metavar="FOLDER", help="The sessions of a project.")
@click.option("--before", metavar="DATE", help="Sessions that ended before a day: 2026-01-31.")
@click.option("--copies", "takes_copies", is_flag=True, help="Delete their copies too.")
@output.dry_run_option
@output.yes_option
def forget_command(
    session_id: str | None,
    project: str | None,
    before: str | None,
    takes_copies: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete all that brimline keeps of sessions, wherever it is.

    Outputs in the store, ledger, notes, checkpoint, figures, entries of the search, backups of
    rewrites, its name in logs. The sessions themselves are Claude Code's and stay, and so do topic
    files; a reference to a stored output in a session then leads nowhere. Purged, mended or
    restored copies of a session are named, and go too if you say so.

    \b
    Example:
      brimline forget --session 1f0c2d3e --dry-run
      brimline forget --project ~/clients/acme --yes
      brimline forget --before 2026-01-31 --yes
    """
    from brimline.recall import forget
    from brimline.rooms import values_in_all_traces
    from brimline.session import copies, copying

    if [session_id, project, before].count(None) != 2:  # noqa: PLR2004 - one of three
        raise StateError("name one of --session, --project and --before")
    home_dir = paths.data_dir()
    kept, problem = forget.sessions_with_kept_data(home_dir, values_in_all_traces)
    if problem:
        output.print_note(f"there may be more sessions than are known: {problem}")
    chosen = _choose_sessions(kept, session_id, project, before)
    made = copies.living_copies_of(home_dir, chosen.sessions)
    going = made if takes_copies or _are_copies_to_go(made, is_asked=not (yes or dry_run)) else []
    chosen = chosen._replace(sessions=(*chosen.sessions, *[one.session for one in going]))
    document: dict[str, Any] = {"session_ids": sorted(chosen.sessions), "dry_run": dry_run}
    document["copies"] = list(copies.documents(made))
    if dry_run:
        document |= forget.forget(home_dir, chosen, values_in_all_traces, dry_run=True)
        output.answer(document, f"{_deleted_counts_text(document)} would go.", as_json=as_json)
        return
    sessions = output.count_text(len(chosen.sessions), "session")
    output.require_consent(f"Delete all that is kept of {sessions}, for good?", yes=yes)
    document |= forget.forget(home_dir, chosen, values_in_all_traces)
    for one in going:
        copying.delete_copy(one.path)
    if together.is_server_named(home_dir):
        output.print_note("`brimline memory sync` deletes it on the team's server too")
    output.answer(document, f"{_deleted_counts_text(document)} forgotten.", as_json=as_json)


def _are_copies_to_go(made: list[Copy], *, is_asked: bool) -> bool:
    """Name the copies of what is forgotten, and ask a person on a terminal whether they go too."""
    if not made:
        return False
    names = ", ".join(f"{one.session} ({one.kind})" for one in made)
    output.print_note(f"what was said is also in {names}: --copies deletes that too")
    is_asked &= sys.stdin.isatty()
    return is_asked and click.confirm("Delete these copies too?", err=True)


def _confirm_new_address(home_dir: str, place: Place, exclude: list[str]) -> None:
    """Ask a person on a terminal, once for an address; neither an option nor a model answers."""
    from brimline.recall import confirmation
    from brimline.settings import pinned

    try:
        confirmation.require(home_dir, place)
    except TeamError as error:
        if pinned.is_client_above():
            raise
        rows = output.name_value_text(confirmation.rows_to_confirm(home_dir, place, exclude))
        question = "Whoever has the key there can read and delete all of it. Share it?"
        output.require_consent(f"Memory is to be shared.\n{rows}\n{question}", alone=str(error))
        confirmation.keep(home_dir, place)


def _choose_sessions(
    sessions: dict[str, Any], session_id: str | None, project: str | None, before: str | None
) -> Asked:
    """The sessions that the user named: one, those of a project, or those before a day."""
    from brimline.state.forgotten import Asked
    from brimline.transcript import find

    if session_id is not None:
        return Asked((find.only_matching_id(session_id, sessions),))
    if before is not None:
        moment = _parse_day_as_timestamp(before)
        older = [name for name, kept in sessions.items() if kept.last_at < moment]
        return Asked(tuple(older), before=moment)
    if not project or not project.strip():
        raise StateError("--project is empty: name a folder")
    place = real_folder(os.path.abspath(os.path.expanduser(project)))
    inside = [name for name, kept in sessions.items() if is_within(kept.project, place)]
    if not inside and not os.path.isdir(place):
        raise StateError(f"{place} is not a folder, and nothing is kept of sessions in it")
    return Asked(tuple(inside), project=place)


def _print_note_if_search_was_renewed() -> None:
    """Say that a damaged search file was replaced, and what that costs."""
    if database.renewed:
        output.print_note(
            "the search file was damaged and begun anew: `brimline memory index` fills it from "
            "the sessions there are; of those that Claude Code has deleted nothing is left in it"
        )


def _deleted_counts_text(document: dict[str, Any]) -> str:
    """Return how much forgetting would delete."""
    parts = [
        output.count_text(document[f"{name}s"], name) for name in ("session", "output", "backup")
    ]
    parts.insert(1, _entry_count_text(document["entries"]))
    return ", ".join(parts[:-1]) + f" and {parts[-1]}"


def _entry_count_text(number: int) -> str:
    return "1 entry" if number == 1 else f"{number:,} entries"


def _memory_folder() -> str:
    from brimline.settings import clientsettings

    return clientsettings.memory_folder(os.getcwd())


def _update_topic_in_search(topic: Topic) -> None:
    """Let the search know at once; the topic stands without it, and housekeeping tries again."""
    from brimline.recall import deep
    from brimline.settings import config

    home_dir, project = paths.data_dir(), os.getcwd()
    with contextlib.suppress(BrimlineError):
        exclude = config.load(home_dir, project).values["memory.exclude"]
        deep.reindex_topic(home_dir, project, topic.path, exclude or ())


def _text_or_stdin(text: str) -> str:
    return sys.stdin.read() if text == "-" else text


def _mark_all_sources_unread(connection: sqlite3.Connection) -> None:
    """Let every source count as unread; a file with any damage in it is begun anew."""
    import sqlite3

    ((state,),) = connection.execute("PRAGMA integrity_check(1)").fetchall()
    if state != "ok":
        raise sqlite3.DatabaseError(f"malformed: {state}")
    connection.execute("DELETE FROM facts WHERE name GLOB 'file:*'")


def _parse_day_as_timestamp(text: str) -> float:
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except ValueError as error:
        raise StateError(f"{text!r} is not a day: write it as 2026-01-31") from error
