"""`brimline session restore`: undoes purges and repairs."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from brimline.cli import session as group
from brimline.cli.session_progress import Progress
from brimline.purge import live as liveness
from brimline.purge import report
from brimline.purge import restore as restoring
from brimline.purge.errors import PurgeError

if TYPE_CHECKING:
    from brimline.purge.restore import Restoration

_HELP = f"""Put a session back to what it was before purges and repairs.

Every byte comes back, rows that were dropped included, and whatever was appended since stays at the
end. Several purges in a row are undone together.

\b
Example:
  brimline session restore
  brimline session restore session.jsonl --yes

{group.EXIT_CODES}"""


@click.command(context_settings=group.HELP, help=_HELP)
@group.file_argument
@group.current_option
@group.session_option
@click.option("--dry-run", is_flag=True, help="Say what would come back; touch nothing.")
@group.live_option
@group.yes_option
@group.as_json_option
def restore(
    *,
    file: str | None,
    current: bool,
    session_id: str | None,
    dry_run: bool,
    live: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Put a session back."""
    path = group.target(file, session_id, current=current)
    home_dir = group.home()
    with Progress("Reading", os.path.getsize(path)) as bar:
        found = restoring.plan(path, home_dir, bar.update)
    if not as_json:
        click.echo(_told(found))
        for problem in found.problems:
            click.echo(f"note: an older rewrite stays as it is: {problem}", err=True)
    if found.is_empty or dry_run:
        _answer(found, {"applied": False}, as_json=as_json)
        return
    if not live:
        liveness.require_idle(found.path, home_dir)
    _require_consent(yes=yes)
    with Progress("Restoring", os.path.getsize(path)) as bar:
        done = restoring.restore(found, live=live, progress=bar.update, on_wait=bar.follow)
    if not as_json:
        click.echo(f"Restored: {report.size(done.bytes_after)}. Backup: {done.backup}")
    told = {"applied": True, "bytes_after": done.bytes_after, "backup": done.backup}
    _answer(found, told, as_json=as_json)


def _told(found: Restoration) -> str:
    """What would come back, in a sentence."""
    if found.is_empty:
        return (
            f"Nothing to restore: {found.path} was not purged with this data folder, or was "
            "restored already."
        )
    if found.altered is not None:
        return (
            f"{found.path} was changed by others since it was purged: {found.known_steps:,} of "
            f"{len(found.altered.steps):,} changes are known again and can be undone, the rest "
            "stays as it is, and on record. The backup that the purge made holds what it was."
        )
    lines = sum(record.lines for record in found.undone)
    before = found.undone[-1].before.length - found.undone[-1].after.length
    grown = before + sum(r.before.length - r.after.length for r in found.undone[:-1])
    times = f"{len(found.undone)} rewrites" if len(found.undone) > 1 else "1 rewrite"
    return (
        f"{found.path}: {times} to undo, {lines:,} lines and {report.size(grown)} come back, byte "
        "for byte; what was appended since stays."
    )


def _require_consent(*, yes: bool) -> None:
    """Let a person decide.

    Raises:
        PurgeError: there is nobody to ask.
        click.Abort: the answer is no.
    """
    if yes:
        return
    if not sys.stdin or not sys.stdin.isatty():
        raise PurgeError(
            "this rewrites the session: add --yes where there is no terminal to ask; nothing was "
            "changed"
        )
    click.confirm("Put it back? A backup of the present state is kept.", abort=True, err=True)


def _answer(found: Restoration, told: dict[str, Any], *, as_json: bool) -> None:
    if not as_json:
        return
    document = {
        "path": found.path,
        "rewrites": len(found.undone),
        "lines": sum(record.lines for record in found.undone),
        "byte_exact": found.original is not None,
        "lost_changes": found.lost_steps,
        "problems": [str(problem) for problem in found.problems],
    }
    click.echo(json.dumps(document | told, indent=2))
