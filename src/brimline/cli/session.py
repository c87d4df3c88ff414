"""`brimline session`: look into a recorded session, shrink it, mend it, and put it back."""

from __future__ import annotations

import os
from typing import Any

import click

from brimline import fastio, paths
from brimline.cli.lazy import LazyGroup
from brimline.cli.registry import SESSION_COMMANDS
from brimline.errors import SessionError
from brimline.purge import recovery
from brimline.purge.errors import BusyError, LiveError, PurgeError, RewrittenError
from brimline.transcript import find

HELP = {"help_option_names": ["-h", "--help"]}
EXIT_LIVE, EXIT_BUSY, EXIT_REWRITTEN = 3, 4, 5
EXIT_CODES = """\b
Exit codes:
  0  done, or nothing to do
  1  failed, or not agreed to; nothing was changed
  2  wrong usage
  3  the session is in use; nothing was changed
  4  another brimline command is at work on it
  5  interrupted, or failed, after the session was rewritten; the message says how to undo it"""
_EXITS = {LiveError: EXIT_LIVE, BusyError: EXIT_BUSY, RewrittenError: EXIT_REWRITTEN}
file_argument = click.argument("file", metavar="[FILE]", required=False)
current_option = click.option(
    "--current", is_flag=True, help="The session this runs in, else the project's newest one."
)
session_option = click.option(
    "--session", "session_id", metavar="ID", help="By its id, or how that begins."
)
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
live_option = click.option("--live", is_flag=True, help="Do it although the session is in use.")


class _Group(LazyGroup):
    """Gives the refusals that a script may want to tell apart exit codes of their own."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command.

        Raises:
            PurgeError: a file cannot be read or written.
        """
        try:
            return super().invoke(ctx)
        except (LiveError, BusyError, RewrittenError) as told:
            click.echo(f"brimline: {told}", err=True)
            ctx.exit(_EXITS[type(told)])
        except BrokenPipeError:
            raise
        except OSError as error:
            name = os.fsdecode(error.filename or "a file")
            raise PurgeError(f"{name}: {error.strerror or error}") from error


@click.group(cls=_Group, lazy=SESSION_COMMANDS, context_settings=HELP)
def session() -> None:
    """Look into recorded sessions, shrink them, mend them, and put them back.

    Without FILE, the newest session of this project. A session that is in use is refused: its
    client would not notice the change before the session is resumed.

    \b
    Example:
      brimline session inspect
      brimline session purge --dry-run
      brimline session purge && brimline session restore
    """


def target(file: str | None, session_id: str | None, *, current: bool = False) -> str:
    """The session that is meant; what an earlier command left unfinished on it is finished.

    Raises:
        SessionError: there is none, or it is something else than a session.
    """
    if sum([file is not None, session_id is not None, current]) > 1:
        raise click.UsageError("Give one of FILE, --session and --current.")
    if "" in (file, session_id):
        raise click.UsageError("FILE and ID must not be empty.")
    path = file or _by_id(session_id) or _current()
    if not os.path.isfile(path):
        raise SessionError(
            f"{path} is not there" if not os.path.exists(path) else f"{path} is no file"
        )
    find.require_transcript(path)
    for one in recovery.recover(path):
        if one.problem:
            click.echo(f"note: {one.problem}", err=True)
    return path


def _by_id(session_id: str | None) -> str | None:
    return find.by_id(session_id) if session_id is not None else None


def _current() -> str:
    """The session that the client names to what it starts, else the newest of the project."""
    inside = fastio.env("CLAUDE_CODE_SESSION_ID")
    if inside:
        try:
            return find.by_id(inside)
        except SessionError:
            pass
    return find.newest(os.getcwd())


def home() -> str:
    """The data folder."""
    return paths.home()
