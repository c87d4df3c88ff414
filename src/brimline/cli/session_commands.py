"""`brimline session`: look into a recorded session, shrink it, mend it, and put it back."""

from __future__ import annotations

import gc
import os
import shlex
import time
from typing import TYPE_CHECKING, Any

import click

from brimline import clock, output
from brimline.cli import session_document, session_text
from brimline.errors import SessionError
from brimline.fast import io, paths
from brimline.session import in_use, inspect, purge, recovery, repair, restore
from brimline.session.disk import RewriteError
from brimline.transcript import find

if TYPE_CHECKING:
    from brimline.session.purge import Options, Plan
    from brimline.session.restore import Backup

_EXIT_CODES = """\b
Exit codes:
  0  done, or nothing to do
  1  failed, or not agreed to; nothing was changed
  2  wrong usage
  3  the session is in use; nothing was changed
  4  another brimline command is at work on it
  5  failed after the session was rewritten; the message says how to undo it"""
_DAY_S = 86_400


def _named(function: Any) -> Any:
    """The ways to name a session."""
    for option in (
        output.session_option,
        click.option("--current", is_flag=True, help="The one this runs in, else the newest."),
        click.argument("file", metavar="[FILE]", required=False),
    ):
        function = option(function)
    return function


def _target(file: str | None, session_id: str | None, *, current: bool) -> str:
    """The session that is meant; what an earlier command left unfinished on it is finished.

    Raises:
        SessionError: there is none, or it is something else than a session.
    """
    if sum([file is not None, session_id is not None, current]) > 1:
        raise click.UsageError("Give one of FILE, --session and --current.")
    if "" in (file, session_id):
        raise click.UsageError("FILE and ID must not be empty.")
    path = file or (find.by_id(session_id) if session_id is not None else _current())
    if not os.path.isfile(path):
        raise SessionError(
            f"{path} is not there" if not os.path.exists(path) else f"{path} is no file"
        )
    find.require_transcript(path)
    for one in recovery.recover(path):
        if one.problem:
            output.note(one.problem)
    return path


def _current() -> str:
    """The session that the client names to what it starts, else the newest of the project."""
    inside = io.env("CLAUDE_CODE_SESSION_ID")
    if inside:
        try:
            return find.by_id(inside)
        except SessionError:
            pass
    return find.newest(os.getcwd())


def _reading(path: str) -> output.Progress:
    return output.Progress("Reading", os.path.getsize(path))


def _follow() -> None:
    """Say that the work is done, and what is still waited for."""
    if os.isatty(2):
        output.say(
            "\nRewritten. A program still writes to the former file: following it for up to 30 s\n"
            "(Ctrl-C is safe now: later lines are added by the next `brimline session` command).",
            err=True,
        )


@output.command("inspect")
@_named
def inspect_command(
    *, file: str | None, current: bool, session_id: str | None, as_json: bool
) -> None:
    """Look into a session; by default the newest one of this project.

    Bytes on the disk and tokens in the context are counted apart: most of a session's bytes never
    reach the model, and nothing before its last compaction does. Figures with ~ are estimated.

    \b
    Example:
      brimline session inspect
      brimline session inspect session.jsonl --json
    """
    path = _target(file, session_id, current=current)
    with _reading(path) as bar:
        found = inspect.inspect(path, bar.update)
    measured_at = clock.parse(found.measured_at)
    if measured_at is not None:
        # What purges took out since the last request measured it is not there any more.
        found.context.take_out(restore.context_tokens_since(paths.home(), path, measured_at))
    document = session_document.inspection(path, found)
    output.answer(document, session_text.session, as_json=as_json)


@output.command("purge", epilog=_EXIT_CODES)
@_named
@click.option("--threshold", metavar="BYTES", type=click.IntRange(1), help="What is large.  [5000]")
@click.option(
    "--keep-recent", metavar="N", type=click.IntRange(0), help="Requests to leave alone.  [10]"
)
@click.option(
    "--strategy",
    multiple=True,
    type=click.Choice(list(purge.STRATEGIES)),
    help="What may go; repeat it for more. Without it, all but truncate.",
)
@click.option("--analyze", is_flag=True, help="Only the figures; touch nothing.")
@output.dry_run_option
@click.option("--repair-only", is_flag=True, help="Mend as `session repair` does; no purge.")
@output.yes_option
def purge_command(
    *, file: str | None, session_id: str | None, current: bool, as_json: bool, **given: Any
) -> None:
    """Shrink a session without losing a line.

    Old large tool results become short references to the store. Repeated reads, results that came
    twice, the client's own copies and progress rows go too. Summaries, thinking, usage, pinned
    results and the last requests stay, and `brimline session restore` puts everything back. Shows
    the figures and asks first.

    \b
    Example:
      brimline session purge --dry-run
      brimline session purge session.jsonl --keep-recent 20 --yes
      brimline session purge --current --strategy old --strategy copies
    """
    only_looks = given["dry_run"] or given["analyze"]
    if given["repair_only"] and _repeated(given):
        raise click.UsageError(f"--repair-only purges nothing: leave out {_repeated(given)[0]}.")
    path = _target(file, session_id, current=current)
    if restore.is_backup(path):
        raise RewriteError(f"{path} is a backup, which stays as it is: copy it and purge the copy")
    if given["repair_only"]:
        _repair(path, dry_run=only_looks, yes=given["yes"], as_json=as_json)
        return
    path, home_dir = os.path.realpath(path), paths.home()
    # There are no cycles to find, and looking for them takes the longer the more rows are known.
    gc.disable()
    with _reading(path) as bar:
        planned = purge.prepare(path, _options(given), home_dir, bar.update)
    if only_looks or planned.is_empty:
        _tell(path, planned, given, as_json=as_json)
        return
    if not as_json:
        output.say(session_text.purge(path, planned))
    in_use.require_idle(path, home_dir)
    name = os.path.basename(path)
    question = f"Rewrite {name}? A backup is kept, and `brimline session restore` undoes it."
    output.consent(question, yes=given["yes"])
    with output.Progress("Rewriting", planned.survey.length) as bar:
        done = purge.purge(path, planned, home_dir, progress=bar.update, on_wait=_follow)
    told = session_document.purge(path, planned) | {
        "applied": done.swapped,
        "bytes_after": done.after.length,
        "backup": done.backup,
        "appended_lines": done.late_lines,
        "is_over": done.is_over,
    }
    output.answer(told, session_text.purged(planned, done), as_json=as_json)


def _options(given: dict[str, Any]) -> Options:
    asked = {"threshold_bytes": given["threshold"], "keep_requests": given["keep_recent"]}
    sizes = {name: value for name, value in asked.items() if value is not None}
    return purge.Options(strategies=frozenset(given["strategy"]) or purge.DEFAULT, **sizes)


def _tell(path: str, planned: Plan, given: dict[str, Any], *, as_json: bool) -> None:
    """Show what would be done, and how to do it."""
    found = session_document.purge(path, planned) | {"applied": False}
    lines = [session_text.purge(path, planned)]
    if given["dry_run"]:
        found["changes"] = session_document.changes(planned)
    if planned.is_empty:
        lines.append("Nothing to purge.")
    elif given["dry_run"]:
        lines += ["", session_text.changes(found["changes"]), _next_step(path, given)]
    output.answer(found, "\n".join(lines), as_json=as_json)


def _next_step(path: str, given: dict[str, Any]) -> str:
    words = shlex.join(["brimline", "session", "purge", path, *_repeated(given)])
    reason = in_use.why(path, paths.home())
    if reason is None:
        return f"\nNothing was changed. To do it:\n  {words}"
    told = (
        f"Nothing was changed. The session is in use ({reason}), and its client would not notice "
        "a change before the session is resumed. End it, then run:"
    )
    return f"\n{output.wrapped(told)}\n  {words}"


def _repeated(given: dict[str, Any]) -> list[str]:
    """The options of this run that the real one needs too."""
    found = [word for name in given["strategy"] for word in ("--strategy", name)]
    for name in ("threshold", "keep_recent"):
        if given[name] is not None:
            found += [f"--{name.replace('_', '-')}", str(given[name])]
    return found


@output.command("repair", epilog=_EXIT_CODES)
@_named
@output.dry_run_option
@output.yes_option
def repair_command(
    *, file: str | None, current: bool, session_id: str | None, **given: Any
) -> None:
    """Mend the structure of a session; by default the newest one of this project.

    What has exactly one mend is mended: lost parents, calls and results that lost each other,
    several rows on one line. Where two mends are possible nothing is guessed, and the command says
    where. A backup is kept, and `brimline session restore` undoes the repair.

    \b
    Example:
      brimline session repair --dry-run
      brimline session repair session.jsonl --yes
    """
    _repair(_target(file, session_id, current=current), **given)


def _repair(path: str, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    home_dir = paths.home()
    with _reading(path) as bar:
        report = repair.repair(path, home_dir=home_dir, dry_run=True, progress=bar.update)
    if report.mended and not dry_run:
        in_use.require_idle(report.path, home_dir)
        if not yes:
            found = session_document.repair(report, dry_run=True)
            output.say("\n".join(session_text.found_faults(found)), err=True)
        output.consent(f"Mend {output.count(len(report.mended), 'fault')}?", yes=yes)
        with output.Progress("Mending", 2 * os.path.getsize(path)) as bar:
            report = repair.repair(path, home_dir=home_dir, progress=bar.update, on_wait=_follow)
    told = session_document.repair(report, dry_run=dry_run)
    output.answer(told, session_text.repaired, as_json=as_json)


@output.command("restore", epilog=_EXIT_CODES)
@_named
@output.dry_run_option
@output.yes_option
def restore_command(
    *, file: str | None, current: bool, session_id: str | None, as_json: bool, **given: Any
) -> None:
    """Put a session back to what it was before purges and repairs.

    It is its backup and whatever was appended since, byte for byte. Several rewrites in a row are
    undone together.

    \b
    Example:
      brimline session restore
      brimline session restore session.jsonl --yes
    """
    path = _target(file, session_id, current=current)
    with _reading(path) as bar:
        found = restore.plan(path, paths.home(), bar.update)
    told: dict[str, Any] = {
        "path": found.path,
        "rewrites": len(found.undone),
        "byte_exact": bool(found.undone),
        "problems": [str(problem) for problem in found.problems],
        "applied": False,
    }
    if not as_json:
        output.say(session_text.restoration(found))
        for problem in found.problems:
            output.note(f"an older rewrite stays as it is: {problem}")
    done = ""
    if found.undone and not given["dry_run"]:
        in_use.require_idle(found.path, found.home_dir)
        output.consent("Put it back? A backup of the present state is kept.", yes=given["yes"])
        with output.Progress("Restoring", os.path.getsize(path)) as bar:
            made = restore.restore(found, progress=bar.update, on_wait=_follow)
        told |= {"applied": True, "bytes_after": made.after.length, "backup": made.backup}
        done = f"Restored: {output.size(made.after.length)}. Backup: {made.backup}"
    output.answer(told, done, as_json=as_json)


@output.command("backups")
@click.argument("file", metavar="[FILE]", required=False)
@output.session_option
@click.option("--prune", is_flag=True, help="Delete backups; what goes cannot be restored.")
@click.option("--older-than", metavar="DAYS", type=click.FloatRange(0), help="Only older ones.")
@click.option("--keep", metavar="N", type=click.IntRange(0), help="Not the N newest of a session.")
@output.dry_run_option
@output.yes_option
def backups_command(file: str | None, session_id: str | None, as_json: bool, **given: Any) -> None:
    """List the backups that rewriting leaves beside a session, newest first, or delete some.

    A backup is a byte-exact copy from before the rewrite, which `session restore` needs; its name
    ends in the local time at which it was made. With both limits a backup goes only if it is older
    than DAYS and not among the N newest of its session.

    \b
    Example:
      brimline session backups
      brimline session backups --prune --older-than 30 --keep 1
    """
    limits = given["older_than"], given["keep"]
    if given["prune"] == (limits == (None, None)):
        raise click.UsageError("--prune goes with --older-than DAYS, --keep N, or both.")
    found, now = _backups(file, session_id), time.time()
    if not given["prune"]:
        ages_s = [now - one.made_at for one in found]
        told = session_document.backups(found)
        output.answer(told, lambda known: session_text.backups(known, ages_s), as_json=as_json)
        return
    older_than_s = None if given["older_than"] is None else given["older_than"] * _DAY_S
    going = restore.chosen(found, now, older_than_s=older_than_s, keep=given["keep"])
    told = session_document.backups(going) | {"dry_run": given["dry_run"]}
    amount = f"{output.count(len(going), 'backup')} ({output.size(told['size_bytes'])})"
    if not given["dry_run"]:
        output.consent(f"Delete {amount} for good?", yes=given["yes"] or not going)
        for backup in going:
            os.unlink(backup.path)
    verb = "would go" if given["dry_run"] else "deleted"
    output.answer(told, f"{amount} {verb}.", as_json=as_json)


def _backups(file: str | None, session_id: str | None) -> list[Backup]:
    """The backups of what was named; a session that is gone may have left some.

    Raises:
        SessionError: there is neither that session nor a backup of it.
    """
    if "" in (file, session_id):
        raise click.UsageError("FILE and ID must not be empty.")
    if file is not None and session_id is not None:
        raise click.UsageError("Name a session by its file or by --session, not by both.")
    if file is not None:
        recovery.recover(file)
        found = restore.of_session(file)
        if not found and not os.path.isfile(file):
            raise SessionError(f"{file} is not there, and neither is a backup of it")
        return found
    if session_id is None:
        return restore.of_all()
    if paths.safe_session_id(session_id) != session_id:
        raise SessionError(f"{session_id!r} is no session id")
    return [one for one in restore.of_all() if os.path.basename(one.session).startswith(session_id)]
