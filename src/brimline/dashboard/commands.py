"""`brimline report`: what the words of these commands mean; libraries are loaded when one runs."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import click

from brimline import output
from brimline.errors import BrimlineError
from brimline.fast import paths
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.dashboard.story import Story

MISSING = (
    "pages need Jinja, Starlette and Uvicorn: in the clone that brimline came from, "
    "`pip install '.[dashboard]'` (or `uv tool install '.[dashboard]'`) installs them"
)
_session_argument = click.argument("session", metavar="SESSION")


@output.command("report")
@_session_argument
@click.option("-o", "--output", "file", metavar="FILE", required=True, help="The file to write.")
@click.option("--redact/--full", default=True, help="Without texts and paths (default), or with.")
def report(session: str, file: str, redact: bool, as_json: bool) -> None:
    """Write the page of a session into one HTML file, to look at or to share.

    SESSION is an id, how it begins, or a file. Without --full it has no text of a message or a
    tool; of a path it has the last name and of a command the first word.

    \b
    Example:
      brimline report 1f0c2d3e -o session.html
      brimline report 1f0c2d3e -o session.html --full
    """
    with _libraries():
        from brimline.dashboard.report import render, write
    found = _told(session)
    made = render(found, redacted=redact)
    write(file, made)
    document = {"session_id": found.session_id, "file": os.path.abspath(file), "redacted": redact}
    document |= {"bytes": len(made.encode()), "requests": len(found.moments)}
    what = "figures only" if redact else "with texts, paths and commands: look before you share it"
    told = f"{file}: {output.count(len(found.moments), 'request')}, {what}."
    output.answer(document, told, as_json=as_json)


def _told(named: str) -> Story:
    """The session that is named by its file or its id, read."""
    from brimline.dashboard import story

    path = named if os.path.isfile(named) else find.by_id(named)
    find.require_transcript(path)
    with output.Progress("Reading", os.path.getsize(path)) as bar:
        return story.tell(path, paths.home(), bar.update)


@contextlib.contextmanager
def _libraries() -> Iterator[None]:
    """Say what to install where a library is missing.

    Raises:
        BrimlineError: one is.
    """
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("brimline"):
            raise
        raise BrimlineError(MISSING) from error
