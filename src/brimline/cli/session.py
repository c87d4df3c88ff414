"""`brimline session`: look into a recorded session, shrink it, mend it, and put it back."""

from __future__ import annotations

import gc
import glob
import os
import shlex
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from brimline import clock, config
from brimline.cli import session_document as document
from brimline.cli import session_text as render
from brimline.cli import store_text as text
from brimline.errors import SessionError
from brimline.fast import io, paths
from brimline.session import in_use, recovery
from brimline.session import inspect as inspecting
from brimline.session import purge as purging
from brimline.session import repair as repairing
from brimline.session import restore as restoring
from brimline.session.disk import BusyError, InUseError, RewriteError, RewrittenError
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Callable

    from brimline.session.inspect import Inspection
    from brimline.session.purge import Options, Plan
    from brimline.session.restore import Backup, Restoration

_HELP = {"help_option_names": ["-h", "--help"]}
_EXITS = {InUseError: 3, BusyError: 4, RewrittenError: 5}
_EXIT_CODES = """\b
Exit codes:
  0  done, or nothing to do
  1  failed, or not agreed to; nothing was changed
  2  wrong usage
  3  the session is in use; nothing was changed
  4  another brimline command is at work on it
  5  interrupted, or failed, after the session was rewritten; the message says how to undo it"""
_STEPS = 400
_DAY_S = 86_400


class _Group(click.Group):
    """Gives the refusals that a script may want to tell apart exit codes of their own."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command.

        Raises:
            RewriteError: a file cannot be read or written.
        """
        try:
            return super().invoke(ctx)
        except (InUseError, BusyError, RewrittenError) as told:
            click.echo(f"brimline: {told}", err=True)
            ctx.exit(_EXITS[type(told)])
        except BrokenPipeError:
            raise
        except OSError as error:
            name = os.fsdecode(error.filename or "a file")
            raise RewriteError(f"{name}: {error.strerror or error}") from error


@click.group(cls=_Group, context_settings=_HELP)
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


def _command(told: str, *options: Any) -> Callable[[Any], click.Command]:
    """A command on one session, with its own options before the common ones."""

    def make(function: Any) -> click.Command:
        function.__doc__ = told
        for option in reversed([*_NAMED, *options, _json_option]):
            function = option(function)
        return session.command(context_settings=_HELP)(function)

    return make


_NAMED = (
    click.argument("file", metavar="[FILE]", required=False),
    click.option(
        "--current", is_flag=True, help="The session this runs in, else the project's newest one."
    ),
    click.option("--session", "session_id", metavar="ID", help="By its id, or how that begins."),
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


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
            click.echo(f"note: {one.problem}", err=True)
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


class _Bar(text.Progress):
    """A bar that is drawn seldom: it takes far longer than a line, of which there may be many."""

    def __init__(self, label: str, total_bytes: int) -> None:
        super().__init__(total_bytes, label)
        self._step, self._undrawn = total_bytes // _STEPS, 0

    def update(self, amount: int) -> None:
        """That much more is done."""
        self._undrawn += amount
        if self._undrawn >= self._step:
            super().update(self._undrawn)
            self._undrawn = 0


def _follow() -> None:
    """Say that the work is done, and what is still waited for."""
    if os.isatty(2):
        click.echo(
            "\nRewritten. A program still writes to the former file: following it for up to 30 s\n"
            "(Ctrl-C is safe now: later lines are added by the next `brimline session` command).",
            err=True,
        )


def _require_consent(question: str, *, yes: bool) -> None:
    """Let a person decide.

    Raises:
        RewriteError: there is nobody to ask.
        click.Abort: the answer is no.
    """
    if not yes and (not sys.stdin or not sys.stdin.isatty()):
        raise RewriteError(
            "this changes files: add --yes where there is no terminal to ask; nothing was changed"
        )
    text.ask(question, yes=yes)


@_command(
    """Look into a session; by default the newest one of this project.

    Bytes on the disk and tokens in the context are counted apart: most of a session's bytes never
    reach the model, and nothing before its last compaction does. Figures with ~ are estimated.

    \b
    Example:
      brimline session inspect
      brimline session inspect --all
      brimline session inspect session.jsonl --json
    """,
    click.option("--all", "every", is_flag=True, help="One line for each session of this project."),
)
def inspect(
    *, file: str | None, current: bool, session_id: str | None, every: bool, as_json: bool
) -> None:
    if every:
        if file is not None or session_id is not None or current:
            raise click.UsageError("--all takes no FILE, no --session and no --current.")
        _inspect_all(as_json=as_json)
        return
    path = _target(file, session_id, current=current)
    with _Bar("Reading", os.path.getsize(path)) as bar:
        found = document.inspection(path, _inspected(path, bar))
    text.answer(found, "" if as_json else render.session(found), as_json=as_json)


def _inspect_all(*, as_json: bool) -> None:
    folder = os.path.dirname(find.newest(os.getcwd()))
    found = [path for path in glob.glob(f"{glob.escape(folder)}/*.jsonl") if os.path.isfile(path)]
    found.sort(key=os.path.getmtime, reverse=True)
    sessions, unreadable = [], []
    with _Bar("Reading", sum(map(os.path.getsize, found))) as bar:
        for path in found:
            try:
                sessions.append(document.summary(path, _inspected(path, bar)))
            except OSError as error:
                unreadable.append({"transcript": path, "reason": error.strerror or str(error)})
    told = {"folder": folder, "sessions": sessions, "unreadable": unreadable}
    text.answer(told, "" if as_json else render.sessions(told), as_json=as_json)


def _inspected(path: str, bar: _Bar) -> Inspection:
    """What is in a session, less what purges took out since the last request measured it."""
    found = inspecting.inspect(path, bar.update)
    measured_at = clock.parse(found.measured_at)
    if measured_at is not None:
        found.context.take_out(restoring.context_tokens_since(paths.home(), path, measured_at))
    return found


@_command(
    f"""Shrink a session without losing a line.

    Old large tool results become short references to the store. Reads that were repeated and
    results that came twice go too, and so do the client's own copies and progress rows, which only
    take up disk. Compaction summaries, thinking, usage, pinned results and the last requests stay
    as they are, and `brimline session restore` puts everything back. Shows the figures and asks
    first.

    \b
    Example:
      brimline session purge --dry-run
      brimline session purge session.jsonl --keep-recent 20 --yes
      brimline session purge --current --strategy old --strategy copies

    {_EXIT_CODES}""",
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
        type=click.Choice(list(purging.STRATEGIES)),
        help="What may go; repeat it for more. Without it, all but truncate.",
    ),
    click.option("--analyze", is_flag=True, help="Only the figures; touch nothing."),
    click.option("--dry-run", is_flag=True, help="Say what would go; touch nothing."),
    click.option("--repair-only", is_flag=True, help="Mend as `session repair` does; no purge."),
    _yes_option,
)
def purge(
    *, file: str | None, session_id: str | None, current: bool, as_json: bool, **given: Any
) -> None:
    if given["repair_only"] and _repeated(given):
        raise click.UsageError(f"--repair-only purges nothing: leave out {_repeated(given)[0]}.")
    path = _target(file, session_id, current=current)
    if restoring.is_backup(path):
        raise RewriteError(f"{path} is a backup, which stays as it is: copy it and purge the copy")
    if given["repair_only"]:
        _repair(
            path, dry_run=given["dry_run"] or given["analyze"], yes=given["yes"], as_json=as_json
        )
        return
    path, home_dir = os.path.realpath(path), paths.home()
    values = config.load(home_dir, os.getcwd()).values
    # There are no cycles to find, and looking for them takes the longer the more rows are known.
    gc.disable()
    with _Bar("Reading", os.path.getsize(path)) as bar:
        plan = purging.prepare(path, _options(values, given), home_dir, bar.update)
    if given["analyze"] or given["dry_run"] or plan.is_empty:
        _tell(path, plan, given, as_json=as_json)
        return
    if not as_json:
        click.echo(render.purge(path, plan))
    in_use.require_idle(path, home_dir)
    name = os.path.basename(path)
    question = f"Rewrite {name}? A backup is kept, and `brimline session restore` undoes it."
    _require_consent(question, yes=given["yes"])
    with _Bar("Rewriting", plan.survey.length) as bar:
        done = purging.purge(path, plan, home_dir, progress=bar.update, on_wait=_follow)
    told = {
        "applied": done.swapped,
        "bytes_after": done.after.length,
        "backup": done.backup,
        "appended_lines": done.late_lines,
        "is_over": done.is_over,
    }
    text.answer(document.purge(path, plan) | told, render.purged(plan, done), as_json=as_json)


def _options(values: dict[str, Any], given: dict[str, Any]) -> Options:
    """How to purge: what was given, else what the settings say."""
    wanted = frozenset(given["strategy"]) or purging.DEFAULT
    threshold, keep = given["threshold"], given["keep_recent"]
    return purging.Options(
        max(1, values["purge.threshold_bytes"]) if threshold is None else threshold,
        values["purge.keep_requests"] if keep is None else keep,
        wanted,
    )


def _tell(path: str, plan: Plan, given: dict[str, Any], *, as_json: bool) -> None:
    """Show what would be done, and how to do it."""
    found = document.purge(path, plan) | {"applied": False}
    lines = [render.purge(path, plan)]
    if given["dry_run"]:
        found["changes"] = document.changes(plan)
    if plan.is_empty:
        lines.append("Nothing to purge.")
    elif given["dry_run"]:
        lines += ["", render.changes(found["changes"]), _next_step(path, given)]
    text.answer(found, "\n".join(lines), as_json=as_json)


def _next_step(path: str, given: dict[str, Any]) -> str:
    words = shlex.join(["brimline", "session", "purge", path, *_repeated(given)])
    reason = in_use.why(path, paths.home())
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
    return found


@_command(
    f"""Mend the structure of a session; by default the newest one of this project.

    What has exactly one mend is mended: lost parents, calls and results that lost each other,
    several rows on one line. Where two mends are possible nothing is guessed, and the command says
    where. A backup is kept, and `brimline session restore` undoes the repair.

    \b
    Example:
      brimline session repair --dry-run
      brimline session repair session.jsonl --yes

    {_EXIT_CODES}""",
    click.option("--dry-run", is_flag=True, help="Say what would be mended; touch nothing."),
    _yes_option,
)
def repair(
    *,
    file: str | None,
    current: bool,
    session_id: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    path = _target(file, session_id, current=current)
    _repair(path, dry_run=dry_run, yes=yes, as_json=as_json)


def _repair(path: str, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    home_dir = paths.home()
    with _Bar("Reading", os.path.getsize(path)) as bar:
        report = repairing.repair(path, home_dir=home_dir, dry_run=True, progress=bar.update)
    if report.mended and not dry_run:
        in_use.require_idle(report.path, home_dir)
        if not yes:
            found = render.found_faults(document.repair(report, dry_run=True))
            click.echo(render.encodable("\n".join(found)), err=True)
        _require_consent(f"Mend {text.count(len(report.mended), 'fault')}?", yes=yes)
        with _Bar("Mending", 2 * os.path.getsize(path)) as bar:
            report = repairing.repair(path, home_dir=home_dir, progress=bar.update, on_wait=_follow)
    told = document.repair(report, dry_run=dry_run)
    text.answer(told, "" if as_json else render.repaired(told), as_json=as_json)


@_command(
    f"""Put a session back to what it was before purges and repairs.

    It is its backup and whatever was appended since, byte for byte. Several rewrites in a row are
    undone together.

    \b
    Example:
      brimline session restore
      brimline session restore session.jsonl --yes

    {_EXIT_CODES}""",
    click.option("--dry-run", is_flag=True, help="Say what would come back; touch nothing."),
    _yes_option,
)
def restore(
    *,
    file: str | None,
    current: bool,
    session_id: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    path = _target(file, session_id, current=current)
    with _Bar("Reading", os.path.getsize(path)) as bar:
        found = restoring.plan(path, paths.home(), bar.update)
    if not as_json:
        click.echo(_restoration(found))
        for problem in found.problems:
            click.echo(f"note: an older rewrite stays as it is: {problem}", err=True)
    told: dict[str, Any] = {
        "path": found.path,
        "rewrites": len(found.undone),
        "byte_exact": bool(found.undone),
        "problems": [str(problem) for problem in found.problems],
        "applied": False,
    }
    if found.undone and not dry_run:
        in_use.require_idle(found.path, found.home_dir)
        _require_consent("Put it back? A backup of the present state is restoring.", yes=yes)
        with _Bar("Restoring", os.path.getsize(path)) as bar:
            done = restoring.restore(found, progress=bar.update, on_wait=_follow)
        told |= {"applied": True, "bytes_after": done.after.length, "backup": done.backup}
        if not as_json:
            click.echo(f"Restored: {render.size(done.after.length)}. Backup: {done.backup}")
    if as_json:
        text.answer(told, "", as_json=True)


def _restoration(found: Restoration) -> str:
    """What would come back, in a sentence."""
    if not found.undone:
        return (
            f"Nothing to restore: {found.path} was not purged with this data folder, or was "
            "restored already."
        )
    grown = sum(note.before.length - note.after.length for note in found.undone)
    return (
        f"{found.path}: {text.count(len(found.undone), 'rewrite')} to undo, {render.size(grown)} "
        "come back, byte for byte; what was appended since stays."
    )


@session.group(invoke_without_command=True, context_settings=_HELP)
@click.pass_context
def backups(context: click.Context) -> None:
    """List and prune the backups that rewriting a session leaves beside it.

    A backup is a byte-exact copy from before the rewrite; its name ends in the local time at which
    it was made. `session restore` needs it. Without a command, all backups are listed.

    \b
    Example:
      brimline session backups
      brimline session backups prune --older-than 30 --keep 1
    """
    if context.invoked_subcommand is None:
        context.invoke(list_)


_of_option = click.option("--session", metavar="ID", help="Of the session with this id.")


@backups.command("list")
@click.argument("file", required=False)
@_of_option
@_json_option
def list_(file: str | None = None, session: str | None = None, as_json: bool = False) -> None:
    """List backups, the newest first: of one session, or of all.

    \b
    Example:
      brimline session backups list
      brimline session backups list session.jsonl --json
    """
    found, now = _backups(file, session), time.time()
    told = _backups_document(found)
    ages_s = [now - backup.made_at for backup in found]
    text.answer(told, render.backups(told, ages_s), as_json=as_json)


@backups.command()
@click.argument("file", required=False)
@_of_option
@click.option("--older-than", metavar="DAYS", type=click.FloatRange(0), help="Only older ones.")
@click.option("--keep", metavar="N", type=click.IntRange(0), help="Keep the N newest of a session.")
@click.option("--dry-run", is_flag=True, help="Say what would go; touch nothing.")
@_yes_option
@_json_option
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
    session. What is deleted cannot be restored any more.

    \b
    Example:
      brimline session backups prune --older-than 30
      brimline session backups prune session.jsonl --keep 1 --yes
    """
    if older_than is None and keep is None:
        raise click.UsageError("say which backups may go: --older-than DAYS, --keep N, or both")
    older_than_s = None if older_than is None else older_than * _DAY_S
    found = _backups(file, session)
    going = restoring.chosen(found, time.time(), older_than_s=older_than_s, keep=keep)
    told = _backups_document(going) | {"dry_run": dry_run}
    amount = f"{text.count(len(going), 'backup')} ({text.size(told['size_bytes'])})"
    if not dry_run:
        _require_consent(f"Delete {amount} for good?", yes=yes or not going)
        for backup in going:
            os.unlink(backup.path)
    text.answer(told, f"{amount} {'would go' if dry_run else 'deleted'}.", as_json=as_json)


def _backups(file: str | None, session_id: str | None) -> list[Backup]:
    """The backups of what was named; a session that is gone may have left some.

    Raises:
        SessionError: there is neither that session nor a backup of it.
    """
    if "" in (file, session_id):
        raise click.UsageError("FILE and ID must not be empty.")
    if file is not None and session_id is not None:
        raise click.UsageError("name a session by its file or by --session, not by both")
    if file is not None:
        recovery.recover(file)
        found = restoring.of_session(file)
        if not found and not os.path.isfile(file):
            raise SessionError(f"{file} is not there, and neither is a backup of it")
        return found
    found = restoring.of_all()
    if session_id is None:
        return found
    if paths.safe_session_id(session_id) != session_id:
        raise SessionError(f"{session_id!r} is no session id")
    return [backup for backup in found if os.path.basename(backup.session) == f"{session_id}.jsonl"]


def _backups_document(found: list[Backup]) -> dict[str, Any]:
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
