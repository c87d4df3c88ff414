"""`brimline carry`: what a session must not lose, what was added to it, how it is handed back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from brimline import paths
from brimline.carry import items, notes
from brimline.cli import carry_text as text
from brimline.cli.carry_sessions import chosen, ledger_of, with_something
from brimline.cli.store_text import answer
from brimline.errors import SessionError, StateError

if TYPE_CHECKING:
    from brimline.carry.items import Item, Ledger

_HELP = {"help_option_names": ["-h", "--help"]}
_session = click.option("--session", metavar="ID", help="Another session, by its id's start.")
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
# What people may write down; the others only a transcript can tell.
_WRITTEN_KINDS = tuple(
    kind for kind in items.KINDS if kind not in (items.PROMPT, items.BACKGROUND, items.AGENT)
)


class _Group(click.Group):
    """Turns what the disk refuses into one sentence, for all commands of the group."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command.

        Raises:
            StateError: a file or folder cannot be read or written.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except OSError as error:
            name = os.fsdecode(error.filename or paths.carry_dir(paths.home()))
            raise StateError(f"{name}: {error.strerror or error}") from error


@click.group(cls=_Group, context_settings=_HELP)
def carry() -> None:
    """Look at what a session carries across a compaction, and add to it.

    Goals, constraints, decisions, tasks, errors and exact values are taken from the session itself.
    Without --session it is the running one, else the newest of this project.

    \b
    Example:
      brimline carry show
      brimline carry add constraint "Never touch the billing tables."
      brimline carry card
    """


@carry.command()
@click.option("--all", "every", is_flag=True, help="Closed items, prompts and all files too.")
@_session
@_as_json
def show(every: bool, session: str | None, as_json: bool) -> None:
    """List what is known of a session, by kind.

    \b
    Example:
      brimline carry show
      brimline carry show --all --json
    """
    home_dir = paths.home()
    place = chosen(home_dir, session)
    document = text.document(ledger_of(home_dir, place), every=every)
    answer(document, text.listing(document), as_json=as_json)


@carry.command()
@click.argument("kind", metavar="KIND", type=click.Choice(_WRITTEN_KINDS))
@click.argument("words", metavar="TEXT")
@_session
@_as_json
def add(kind: str, words: str, session: str | None, as_json: bool) -> None:
    """Write something down that the session must not lose.

    KIND is constraint, goal, task, plan, decision, rejected, fact, answer, error, file or note.

    \b
    Example:
      brimline carry add constraint "Never touch the billing tables."
      brimline carry add decision "Sessions live in signed cookies." --session 1f0c2d3e
    """
    home_dir = paths.home()
    told = words.strip()
    if not told:
        raise StateError("there is nothing to write down: give a TEXT")
    place = chosen(home_dir, session)
    item = items.Item(kind, told, items.PERSON)
    known = item.id in ledger_of(home_dir, place).items
    notes.add(home_dir, place.session_id, item)
    report = text.entry(item) | {"session_id": place.session_id, "known": known}
    already = " It was there already." if known else ""
    answer(report, f"{item.id}  {kind}: {text.shown(told)}{already}", as_json=as_json)


@carry.command()
@click.argument("item", metavar="ITEM")
@_session
@_as_json
def done(item: str, session: str | None, as_json: bool) -> None:
    """Mark an item as done, so that it is not done again.

    ITEM is its id, or words that only one open item has.

    \b
    Example:
      brimline carry done 3f2a9c01
      brimline carry done "regression test"
    """
    home_dir = paths.home()
    place = chosen(home_dir, session)
    found = _find(ledger_of(home_dir, place), item, open_only=True)
    notes.close(home_dir, place.session_id, found.id, items.DONE)
    report = text.entry(found) | {"session_id": place.session_id, "status": items.DONE}
    answer(report, f"{found.id}  done: {text.shown(found.text)}", as_json=as_json)


@carry.command()
@click.argument("item", metavar="[ITEM]", required=False)
@click.option("--session", metavar="ID", help="Its session; without ITEM all that is kept of it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_as_json
def forget(item: str | None, session: str | None, yes: bool, as_json: bool) -> None:
    """Forget an item, or all that is carried of a session.

    ITEM is its id, or words that only one item has; without it --session names what goes.

    \b
    Example:
      brimline carry forget 3f2a9c01
      brimline carry forget --session 1f0c2d3e-aaaa-4bbb-8ccc-000000000001 --yes
    """
    from brimline.cli import carry_forget

    if item is None:
        if session is None:
            raise StateError("name an ITEM to forget, or a --session")
        carry_forget.all_of(chosen(paths.home(), session), yes=yes, as_json=as_json)
        return
    home_dir = paths.home()
    place = chosen(home_dir, session)
    found = _find(ledger_of(home_dir, place), item, open_only=False)
    carry_forget.consent(f"Forget {found.kind} {text.shown(found.text)!r}?", yes=yes)
    notes.forget(home_dir, place.session_id, found.id)
    report = text.entry(found) | {"session_id": place.session_id, "forgotten": True}
    answer(report, f"{found.id}  forgotten: {text.shown(found.text)}", as_json=as_json)


@carry.command("card")
@_session
@_as_json
def print_card(session: str | None, as_json: bool) -> None:
    """Print what the model is given after a compaction.

    After /clear it is the card of the conversation before.

    \b
    Example:
      brimline carry card
      brimline carry card --session 1f0c2d3e
    """
    from brimline.cli.carry_write import card_text

    home_dir = paths.home()
    place = chosen(home_dir, session)
    ledger = ledger_of(home_dir, place)
    if session is None and not ledger.compactions:
        # What it holds itself is still in its window.
        place, ledger = with_something(home_dir, place, ledger)
    told = card_text(home_dir, place, ledger)
    report = {"session_id": place.session_id, "card": told, "characters": len(told)}
    answer(report, told or f"Nothing is known of session {place.session_id} yet.", as_json=as_json)


@carry.command()
@_session
@_as_json
def checkpoint(session: str | None, as_json: bool) -> None:
    """Write a checkpoint now, and check that it can be read.

    \b
    Example:
      brimline carry checkpoint
    """
    from brimline.cli.carry_write import write_checkpoint

    home_dir = paths.home()
    place = chosen(home_dir, session)
    ledger = ledger_of(home_dir, place)
    report = write_checkpoint(home_dir, place, ledger)
    answer(report, text.checkpoint(report), as_json=as_json)


def _find(ledger: Ledger, named: str, *, open_only: bool) -> Item:
    """The item with an id, or the only one with some words.

    Raises:
        SessionError: there is none, or more than one.
    """
    known = [item for item in ledger.items.values() if item.is_open or not open_only]
    for item in known:
        if item.id == named:
            return item
    found = _with_words([item for item in known if item.kind != items.PROMPT], named)
    if not found:
        raise SessionError(f"no item {named!r} is known: `brimline carry show` lists them")
    if len(found) > 1:
        some = ", ".join(item.id for item in found[:5])
        raise SessionError(
            f"{len(found)} items have {named!r} in them: name one by its id ({some})"
        )
    return found[0]


def _with_words(known: list[Item], named: str) -> list[Item]:
    """The items with some words in them; one that consists of them goes first."""
    words = " ".join(named.lower().split())
    texts = [(" ".join(item.text.lower().split()), item) for item in known]
    found = [item for text, item in texts if text == words]
    return found or [item for text, item in texts if words and words in text]
