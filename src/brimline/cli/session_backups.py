"""`brimline session backups`: what rewriting sessions left beside them, and clearing it away."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import click

from brimline import clock, paths
from brimline.cli import store_text as text
from brimline.cli.store import HELP, as_json_option
from brimline.errors import SessionError
from brimline.purge import backups as kept
from brimline.purge import recovery
from brimline.purge.errors import PurgeError

_DAY_S = 86_400
_HOUR_S = 3_600
_session_option = click.option("--session", metavar="ID", help="Of the session with this id.")


@click.group(invoke_without_command=True, context_settings=HELP)
@click.pass_context
def backups(context: click.Context) -> None:
    """List and prune the backups that rewriting a session leaves beside it.

    A backup is a byte-exact copy from before the rewrite; its name ends in the local time at which
    it was made. Without a command, all backups are listed.

    \b
    Example:
      brimline session backups
      brimline session backups prune --older-than 30 --keep 1
    """
    if context.invoked_subcommand is None:
        context.invoke(list_)


@backups.command("list")
@click.argument("file", required=False)
@_session_option
@as_json_option
def list_(file: str | None = None, session: str | None = None, as_json: bool = False) -> None:
    """List backups, the newest first: of one session, or of all.

    \b
    Example:
      brimline session backups list
      brimline session backups list session.jsonl --json
    """
    found = _chosen(file, session)
    text.answer(_document(found), _render(found), as_json=as_json)


@backups.command()
@click.argument("file", required=False)
@_session_option
@click.option("--older-than", metavar="DAYS", type=click.FloatRange(0), help="Only older ones.")
@click.option("--keep", metavar="N", type=click.IntRange(0), help="Keep the N newest of a session.")
@click.option("--dry-run", is_flag=True, help="Say what would go; touch nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json_option
def prune(
    file: str | None,
    session: str | None,
    older_than: float | None,
    keep: int | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete backups by age and number: of one session, or of all.

    With both limits a backup goes only if it is older than DAYS and not among the N newest of its
    session.

    \b
    Example:
      brimline session backups prune --older-than 30
      brimline session backups prune session.jsonl --keep 1 --yes
    """
    if older_than is None and keep is None:
        raise click.UsageError("say which backups may go: --older-than DAYS, --keep N, or both")
    if not dry_run and not yes and not (sys.stdin and sys.stdin.isatty()):
        raise PurgeError("this deletes backups: add --yes where there is no terminal to ask")
    older_than_s = None if older_than is None else older_than * _DAY_S
    going = kept.chosen(_chosen(file, session), time.time(), older_than_s=older_than_s, keep=keep)
    freed = sum(backup.size_bytes for backup in going)
    amount = f"{text.count(len(going), 'backup')} ({text.size(freed)})"
    if not dry_run:
        if going:
            text.ask(f"Delete {amount} for good?", yes=yes)
        for backup in going:
            os.unlink(backup.path)
    report = {**_document(going), "dry_run": dry_run}
    text.answer(report, f"{amount} {'would go' if dry_run else 'deleted'}.", as_json=as_json)


def _chosen(file: str | None, session: str | None) -> list[kept.Backup]:
    """The backups of what was named; a session that is gone may have left some.

    Raises:
        SessionError: there is neither that session nor a backup of it.
    """
    if "" in (file, session):
        raise click.UsageError("FILE and ID must not be empty.")
    if file is not None and session is not None:
        raise click.UsageError("name a session by its file or by --session, not by both")
    if file is not None:
        recovery.recover(file)
        found = kept.of_session(file)
        if not found and not os.path.isfile(file):
            raise SessionError(f"{file} is not there, and neither is a backup of it")
        return found
    found = kept.of_all()
    if session is None:
        return found
    if paths.safe_session_id(session) != session:
        raise SessionError(f"{session!r} is no session id")
    return [backup for backup in found if os.path.basename(backup.session) == f"{session}.jsonl"]


def _document(found: list[kept.Backup]) -> dict[str, Any]:
    return {
        "backups": [
            {
                "path": backup.path,
                "session": backup.session,
                "size_bytes": backup.size_bytes,
                "made_at": clock.format_utc(backup.made_at),
            }
            for backup in found
        ],
        "count": len(found),
        "size_bytes": sum(backup.size_bytes for backup in found),
    }


def _render(found: list[kept.Backup]) -> str:
    if not found:
        return "There are no backups."
    now = time.time()
    rows = [
        [text.size(b.size_bytes), _age(now - b.made_at), text.shown(b.path, len(b.path))]
        for b in found
    ]
    total = text.size(sum(backup.size_bytes for backup in found))
    table = text.table(["size", "age", "backup"], rows, {0, 1})
    return f"{table}\n{text.count(len(found), 'backup')}, {total}."


def _age(seconds: float) -> str:
    if seconds < _HOUR_S:
        return f"{max(0, round(seconds / 60))} min"
    if seconds < 2 * _DAY_S:
        return f"{seconds / _HOUR_S:.0f} h"
    return f"{seconds / _DAY_S:.0f} d"
