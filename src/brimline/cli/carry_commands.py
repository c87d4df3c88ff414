"""`brimline carry`: what a session takes across a compaction, and what people add to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from brimline import output
from brimline.budget import items
from brimline.carry import card, ledger, links, notes, session_record
from brimline.errors import SessionError, StateError
from brimline.fast import io, paths
from brimline.rules import marked
from brimline.settings import config

if TYPE_CHECKING:
    from brimline.carry.ledger import Ledger
    from brimline.carry.session_record import Place

# Characters on a line behind its indent.
_ROOM = 78
_HIDDEN = ("v", "cursor", "calls", "queued", "failed", "summary_expected", "session")
_note_argument = click.argument("note_id", metavar="ID")


@output.command("show")
@output.session_option
def show_command(session_id: str | None, as_json: bool) -> None:
    """List notes and messages with ids, and what else is known.

    \b
    Example:
      brimline carry show
      brimline carry show --session 1f0c2d3e --json
    """
    place = session_record.choose_session(paths.data_dir(), session_id)
    record = session_record.bring_whole_ledger_up_to_date(paths.data_dir(), place)
    document = ledger.to_document(record)
    told = {name: value for name, value in document.items() if name not in _HIDDEN}
    told["notes"] = list(record.notes.values())
    output.answer({"session_id": place.session_id} | told, _ledger_text(record), as_json=as_json)


@output.command("add")
@click.argument("words", metavar="TEXT")
@click.option("--decision", is_flag=True, help="Mark it as a decision, with its reason.")
@output.session_option
def add_command(words: str, decision: bool, session_id: str | None, as_json: bool) -> None:
    """Write a note that the session must not lose.

    In a prompt, a line `brim:keep TEXT` or `brim:decide TEXT` does the same.

    \b
    Example:
      brimline carry add "Never touch the billing tables."
      brimline carry add --decision "Signed cookies: no session store to run."
    """
    text = words.strip()
    if not text:
        raise StateError("there is nothing to write down: give a TEXT")
    place = session_record.choose_session(paths.data_dir(), session_id)
    kind = ledger.DECIDE if decision else ledger.KEEP
    note_id = notes.append_note(paths.data_dir(), place.session_id, kind, text)
    note = session_record.bring_whole_ledger_up_to_date(paths.data_dir(), place).notes[note_id]
    report = {"session_id": place.session_id} | note
    output.answer(report, f"{note_id}  {output.one_line(note['text'])}", as_json=as_json)


@output.command("done")
@_note_argument
@output.session_option
def done_command(note_id: str, session_id: str | None, as_json: bool) -> None:
    """Mark a note as done: it leaves the card.

    \b
    Example:
      brimline carry done 3f2a9c01
    """
    _mark_note(note_id, session_id, "done", as_json=as_json)


@output.command("reopen")
@_note_argument
@output.session_option
def reopen_command(note_id: str, session_id: str | None, as_json: bool) -> None:
    """Put a note that was done back on the card.

    \b
    Example:
      brimline carry reopen 3f2a9c01
    """
    _mark_note(note_id, session_id, "reopen", as_json=as_json)


@output.command("forget")
@click.argument("item", metavar="ID")
@output.session_option
@output.yes_option
def forget_command(item: str, session_id: str | None, yes: bool, as_json: bool) -> None:
    """Forget a note or a message.

    `brimline forget` takes all that is kept of a session.

    \b
    Example:
      brimline carry forget 3f2a9c01
    """
    place = session_record.choose_session(paths.data_dir(), session_id)
    record = session_record.bring_whole_ledger_up_to_date(paths.data_dir(), place)
    found = record.notes.get(item) or next((m for m in record.messages if m["id"] == item), None)
    if found is None:
        raise SessionError(f"no note or message {item!r} is known: `brimline carry show` has them")
    output.require_consent(f"Forget {output.one_line(found['text'])!r}?", yes=yes)
    notes.append_done_reopen_or_forget(paths.data_dir(), place.session_id, item, "forget")
    ledger.forget_note_or_message(paths.data_dir(), place.session_id, item)
    report = {"session_id": place.session_id, "id": item, "forgotten": True}
    output.answer(report, f"{item}  forgotten: {output.one_line(found['text'])}", as_json=as_json)


@output.command("card")
@output.session_option
def card_command(session_id: str | None, as_json: bool) -> None:
    """Print what the model is given after a compaction.

    Run within a session that has no state of its own yet it is the card of the conversation before,
    or of the project's last session that left something, from which it then goes on.

    \b
    Example:
      brimline carry card
      brimline carry card --session 1f0c2d3e
    """
    place = session_record.choose_session(paths.data_dir(), session_id)
    record = session_record.bring_whole_ledger_up_to_date(paths.data_dir(), place)
    if session_id is None and record.adopted in ("", "-") and not record.has_state():
        place, record = _find_former_session_and_merge_if_running(place, record)
    rules = marked.rules_of_loaded_files(place.project_dir, record.instructions)
    pinned = items.load_pinned_texts_of_safety_and_task(paths.data_dir(), record.session)
    told = card.card_text(record, rules, pinned=pinned)
    report = {"session_id": place.session_id, "card": told, "characters": len(told)}
    output.answer(report, told or "Nothing is recorded here yet.", as_json=as_json)


@output.command("checkpoint")
@output.session_option
def checkpoint_command(session_id: str | None, as_json: bool) -> None:
    """Write a checkpoint now, and check that it can be read.

    \b
    Example:
      brimline carry checkpoint
    """
    place = session_record.choose_session(paths.data_dir(), session_id)
    policy = config.build_live_policy(paths.data_dir(), place.project_dir)
    document = session_record.save_checkpoint(paths.data_dir(), place, policy)
    output.answer(document, session_record.saved_checkpoint_text, as_json=as_json)


def _find_former_session_and_merge_if_running(place: Place, record: Ledger) -> tuple[Place, Ledger]:
    """The session that this one goes on from, made part of it where it is the running one."""
    home_dir = paths.data_dir()
    found = links.last_unfinished_session(home_dir, place.project_dir)
    previous = record.previous or (paths.safe_session_id(found["session"]) if found else None)
    if previous is None or previous == place.session_id:
        return place, record
    earlier = session_record.transcript_and_project_of_id(previous)
    origin = session_record.bring_whole_ledger_up_to_date(home_dir, earlier)
    if io.env("CLAUDE_CODE_SESSION_ID") == place.session_id:
        own = ledger.load(home_dir, place.session_id)
        links.merge_origins_ledger_into(own, origin)
        ledger.save(home_dir, own)
    return earlier, origin


def _mark_note(note_id: str, session_id: str | None, what: str, *, as_json: bool) -> None:
    place = session_record.choose_session(paths.data_dir(), session_id)
    found = session_record.bring_whole_ledger_up_to_date(paths.data_dir(), place).notes.get(note_id)
    if found is None:
        raise SessionError(f"no note {note_id!r} is known: `brimline carry show` lists them")
    notes.append_done_reopen_or_forget(paths.data_dir(), place.session_id, note_id, what)
    report = {"session_id": place.session_id, "id": note_id, "done": what == "done"}
    output.answer(report, f"{note_id}  {what}: {output.one_line(found['text'])}", as_json=as_json)


def _ledger_text(record: Ledger) -> str:
    """The record for a person."""
    lines = [f"Session {record.session}"]
    if record.previous:
        lines.append(f"goes on from {record.previous}")
    for title, entries in _ledger_lines_by_title(record).items():
        if entries:
            lines += ["", title, *[f"  {entry}" for entry in entries]]
    return "\n".join(lines if len(lines) > 1 else [*lines, "Nothing is known yet."])


def _ledger_lines_by_title(record: Ledger) -> dict[str, list[str]]:
    return {
        "Notes": [_note_line(note) for note in record.notes.values()],
        "Tasks": [f"{state}: {output.one_line(text)}" for state, text in record.tasks.values()],
        "Plan": [output.one_line(output.Path(record.plan), _ROOM)] if record.plan else [],
        "Commits": [f"{commit} {output.one_line(text)}" for commit, text in record.commits],
        "Pull requests": [output.one_line(address, _ROOM) for address in record.pulls],
        "Checks": [
            f"{output.one_line(check.get('command'))}: {output.one_line(check['result'], 14)}"
            for check in record.checks.values()
        ],
        "Files changed": [output.one_line(output.Path(path), _ROOM) for path in record.changed],
        "Messages of the user": [
            _id_line(message, message["text"], card.paste_size_text(message))
            for message in record.messages
        ],
    }


def _note_line(note: dict[str, Any]) -> str:
    return _id_line(note, f"{note['kind']}: {note['text']}", " (done)" if note.get("done") else "")


def _id_line(one: dict[str, Any], text: str, end: str) -> str:
    """A note or a message with its id, and what stands behind it."""
    return f"{one['id']}  {output.one_line(text, _ROOM - len(one['id']) - len(end) - 2)}{end}"
