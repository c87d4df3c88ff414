"""`brimline carry forget --session`: everything that is carried of one session goes."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import click

from brimline import fastio, paths
from brimline.carry import links
from brimline.cli.store_text import answer, count
from brimline.errors import StateError

if TYPE_CHECKING:
    from brimline.cli.carry_sessions import Place


def all_of(place: Place, *, yes: bool, as_json: bool) -> None:
    """Delete a session's ledger, notes, checkpoint, card and audits, after asking.

    Raises:
        StateError: there is nobody to ask.
        OSError: something cannot be deleted.
    """
    home_dir = paths.home()
    folder = paths.carry_session_dir(home_dir, place.session_id)
    names = sorted(fastio.names_in(folder))
    if names:
        consent(f"Delete {count(len(names), 'file')} of session {place.session_id}?", yes=yes)
        if os.path.islink(folder):
            raise StateError(f"{folder} is a link; delete what it leads to yourself")
        shutil.rmtree(folder)
    links.forget(home_dir, place.session_id)
    report = {"session_id": place.session_id, "files": names}
    told = f"{count(len(names), 'file')} of session {place.session_id} forgotten."
    answer(report, told, as_json=as_json)


def consent(question: str, *, yes: bool) -> None:
    """Let a person decide; a no ends the command.

    Raises:
        StateError: there is no terminal, and `--yes` was not given.
    """
    if yes:
        return
    if not sys.stdin or not sys.stdin.isatty():
        raise StateError("this cannot be undone: add --yes where there is no terminal to ask")
    click.confirm(question, abort=True, err=True)
