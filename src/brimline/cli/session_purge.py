"""`brimline session purge`: shows what would go, asks, and does it."""

from __future__ import annotations

import gc
import json
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from brimline import config
from brimline.cli import session as group
from brimline.cli.session_progress import Progress
from brimline.purge import backups, report, shrink, strategies
from brimline.purge import live as liveness
from brimline.purge.errors import PurgeError
from brimline.purge.plan import Options

if TYPE_CHECKING:
    from brimline.purge.shrink import Prepared

_HELP = f"""Shrink a session without losing a line.

Old large tool results become short references to the store. Reads that were repeated and results
that came twice go too, and so do the client's own copies and progress rows, which only take up
disk. Compaction summaries, thinking, usage, pinned results and the last requests stay as they are,
and `brimline session restore` puts everything back. Shows the figures and asks first.

\b
Example:
  brimline session purge --dry-run
  brimline session purge session.jsonl --keep-recent 20 --yes
  brimline session purge --current --strategy old --strategy copies

{group.EXIT_CODES}"""
_OPTIONS = (
    group.file_argument,
    group.current_option,
    group.session_option,
    click.option(
        "--threshold", metavar="BYTES", type=click.IntRange(1), help="What is large.  [5000]"
    ),
    click.option(
        "--keep-recent", metavar="N", type=click.IntRange(0), help="Requests to leave alone.  [10]"
    ),
    click.option(
        "--strategy",
        "strategy",
        multiple=True,
        type=click.Choice(list(strategies.STRATEGIES)),
        help="What may go; repeat it for more. Without it, all but truncate.",
    ),
    click.option("--analyze", is_flag=True, help="Only the figures; touch nothing."),
    click.option("--dry-run", is_flag=True, help="Say what would go; touch nothing."),
    click.option("--repair-only", is_flag=True, help="Mend as `session repair` does; no purge."),
    click.option("--remove-thinking", is_flag=True, help="Also old thoughts; the API may refuse."),
    click.option(
        "--inject-compaction", is_flag=True, help="Put a compaction in front that never was."
    ),
    group.live_option,
    group.yes_option,
    group.as_json_option,
)


def _with_options(command: Any) -> Any:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command(context_settings=group.HELP, help=_HELP)
@_with_options
@click.pass_context
def purge(
    ctx: click.Context, /, *, file: str | None, session_id: str | None, current: bool, **given: Any
) -> None:
    """Shrink a session."""
    if given["repair_only"] and _repeated(given):
        raise click.UsageError(f"--repair-only purges nothing: leave out {_repeated(given)[0]}.")
    path = group.target(file, session_id, current=current)
    if backups.is_backup(path):
        raise PurgeError(f"{path} is a backup, which stays as it is: copy it and purge the copy")
    if given["repair_only"]:
        _repair(ctx, path, given)
        return
    home_dir = group.home()
    values = config.load(home_dir, os.getcwd()).values
    # There are no cycles to find, and looking for them takes the longer the more rows are known.
    gc.disable()
    with Progress("Reading", os.path.getsize(path)) as bar:
        prepared = shrink.prepare(path, options_from(values, given), home_dir, bar.update)
    if given["analyze"] or given["dry_run"] or prepared.plan.is_empty:
        _tell(prepared, home_dir, given)
        return
    if not given["as_json"]:
        click.echo(report.preview(prepared))
    if not given["live"]:
        liveness.require_idle(prepared.path, home_dir)
    _require_consent(prepared, yes=given["yes"])
    _purge(prepared, home_dir, values["store.compression"], given)


def options_from(values: dict[str, Any], given: dict[str, Any]) -> Options:
    """How to purge: what was given, else what the settings say."""
    wanted = frozenset(given["strategy"]) or strategies.DEFAULT
    if values["purge.recent"] == "truncate" and not wanted <= strategies.DISK_ONLY:
        wanted |= {strategies.RECENT}
    threshold, keep = given["threshold"], given["keep_recent"]
    return Options(
        max(1, values["purge.threshold_bytes"]) if threshold is None else threshold,
        values["purge.keep_requests"] if keep is None else keep,
        wanted,
        remove_thinking=given["remove_thinking"],
        inject_compaction=given["inject_compaction"],
    )


def _tell(prepared: Prepared, home_dir: str, given: dict[str, Any]) -> None:
    """Show what would be done, and how to do it."""
    if given["as_json"]:
        found = report.document(prepared) | {"applied": False}
        if given["dry_run"]:
            found["changes"] = report.changes(prepared.plan)
        click.echo(json.dumps(found, indent=2))
        return
    click.echo(report.preview(prepared))
    if prepared.plan.is_empty:
        click.echo("Nothing to purge.")
        return
    if given["dry_run"]:
        click.echo("\n" + report.listing(prepared.plan))
        click.echo(_next_step(prepared.path, home_dir, given))


def _next_step(path: str, home_dir: str, given: dict[str, Any]) -> str:
    words = shlex.join(["brimline", "session", "purge", path, *_repeated(given)])
    reason = liveness.why_live(path, home_dir)
    if reason is None:
        return f"\nNothing was changed. To do it: {words}"
    return (
        f"\nNothing was changed. The session is in use ({reason}), and its client would not notice "
        f"a change before the session is resumed. End it, then run: {words}"
    )


def _repeated(given: dict[str, Any]) -> list[str]:
    """The options of this run that the real one needs too."""
    found = [word for name in given["strategy"] for word in ("--strategy", name)]
    for name in ("threshold", "keep_recent"):
        if given[name] is not None:
            found += [f"--{name.replace('_', '-')}", str(given[name])]
    flags = ("remove_thinking", "inject_compaction")
    return found + [f"--{name.replace('_', '-')}" for name in flags if given[name]]


def _require_consent(prepared: Prepared, *, yes: bool) -> None:
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
    name = os.path.basename(prepared.path)
    click.confirm(
        f"Rewrite {name}? A backup is kept, and `brimline session restore` undoes it.",
        abort=True,
        err=True,
    )


def _purge(prepared: Prepared, home_dir: str, compression: str, given: dict[str, Any]) -> None:
    with Progress("Rewriting", prepared.survey.length) as bar:
        rewritten = shrink.shrink(
            prepared,
            home_dir,
            live=given["live"],
            compression=compression,
            progress=bar.update,
            on_wait=bar.follow,
        )
    if not given["as_json"]:
        click.echo(report.done(prepared, rewritten))
        return
    done = {
        "applied": rewritten.swapped,
        "bytes_after": rewritten.bytes_after,
        "backup": rewritten.backup,
        "appended_lines": rewritten.spliced_lines,
        "is_over": rewritten.is_over,
    }
    click.echo(json.dumps(report.document(prepared) | done, indent=2))


def _repair(ctx: click.Context, path: str, given: dict[str, Any]) -> None:
    """The same as `session repair`, under the name that other tools use."""
    from brimline.cli.session_repair import repair

    ctx.invoke(
        repair,
        file=path,
        dry_run=given["dry_run"] or given["analyze"],
        live=given["live"],
        yes=given["yes"],
        as_json=given["as_json"],
    )
