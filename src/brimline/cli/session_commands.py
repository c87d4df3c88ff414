"""`brimline session`: look into a recorded session, shrink it, mend it, and put it back."""

from __future__ import annotations

import gc
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from brimline import output
from brimline.errors import SessionError
from brimline.fast import paths
from brimline.session import (
    in_use,
    purge,
    recovery,
    repair,
    restore,
    session_documents,
    session_text,
    undo_compaction,
)
from brimline.session.disk import RewriteError
from brimline.transcript import find

if TYPE_CHECKING:
    from brimline.session.restore import Backup

_EXIT_CODES = """\b
Exit codes:
  0  done, or nothing to do
  1  failed or cancelled; nothing was changed
  2  wrong usage
  3  the session is in use; nothing was changed
  4  another brimline command is at work on it
  5  failed after the session was rewritten; the message says how to undo it"""
_DAY_S = 86_400


def _find_and_recover_session_file(file: str | None, session_id: str | None) -> str:
    """The session that is meant; what an earlier command left unfinished on it is finished.

    Raises:
        SessionError: there is none, or it is something else than a session.
    """
    path = find.checked_transcript(find.wanted_transcript(output.given_session(file, session_id)))
    for one in recovery.finish_rewrites_at_path(path):
        if one.problem:
            output.print_note(one.problem)
    return path


def _make_reading_progress(path: str) -> output.Progress:
    return output.Progress("Reading", os.path.getsize(path))


@output.command("inspect")
@output.session_argument_and_option
def inspect_command(file: str | None, session_id: str | None, as_json: bool) -> None:
    """Look into a session.

    Bytes on the disk and tokens in the context are counted apart: most of a session's bytes never
    reach the model, and nothing before its last compaction does. Figures with ~ are estimated.

    \b
    Example:
      brimline session inspect
      brimline session inspect session.jsonl --json
    """
    path = _find_and_recover_session_file(file, session_id)
    with _make_reading_progress(path) as bar:
        document = session_documents.inspection_document(path, paths.data_dir(), bar.advance)
    output.answer(document, session_text.inspection_text, as_json=as_json)


@output.command("purge", epilog=_EXIT_CODES)
@output.session_argument_and_option
@click.option(
    "--threshold", metavar="N", type=click.IntRange(1), help="Replace results from N characters on."
)
@click.option(
    "--keep-recent",
    metavar="N",
    type=click.IntRange(0),
    help="Leave the results of the last N requests.",
)
@click.option(
    "--strategy",
    multiple=True,
    type=click.Choice(list(purge.STRATEGIES)),
    help="What may go; repeat it for more. Without it, all.",
)
@output.dry_run_option
@output.yes_option
def purge_command(file: str | None, session_id: str | None, as_json: bool, **flags: Any) -> None:
    """Shrink a session without losing a line.

    Old bulk becomes a line that can be recalled, as in a compaction without a model: the results of
    the last 15 calls, your words, the files edited last, failures and short results stay. The
    client's own copies and progress rows go too. `brimline session restore` puts everything back.
    Shows the figures and asks first.

    \b
    Example:
      brimline session purge --dry-run
      brimline session purge session.jsonl --keep-recent 20 --yes
      brimline session purge --strategy old --strategy copies
    """
    path = _find_and_recover_session_file(file, session_id)
    if restore.has_backup_name(path):
        raise RewriteError(f"{path} is a backup, which stays as it is: copy it and purge the copy")
    path, home_dir = os.path.realpath(path), paths.data_dir()
    strategies = frozenset(flags["strategy"]) or purge.DEFAULT
    options = purge.Options(flags["threshold"], flags["keep_recent"], strategies)
    # There are no cycles to find, and looking for them takes the longer the more rows are known.
    gc.disable()
    with _make_reading_progress(path) as bar:
        planned = purge.plan_purge(path, options, home_dir, bar.advance)
    report = session_documents.purge_plan_document(path, planned) | {"applied": False}
    if not planned.changes:
        text = f"{session_text.purge_plan_text(report)}\nNothing to purge."
        output.answer(report, text, as_json=as_json)
        return
    if flags["dry_run"]:
        report["changes"] = session_documents.documents_of_results_to_purge(planned)
        command = ["brimline", *[word for word in sys.argv[1:] if word != "--dry-run"]]
        text = "" if as_json else session_text.purge_dry_run_text(report, command)
        output.answer(report, text, as_json=as_json)
        return
    if not as_json:
        output.say(session_text.purge_plan_text(report))
    in_use.require_idle(path)
    name = os.path.basename(path)
    question = f"Rewrite {name}? A backup is kept, and `brimline session restore` undoes it."
    output.require_consent(question, yes=flags["yes"])
    with output.Progress("Rewriting", planned.survey.length) as bar:
        done = purge.purge(path, planned, home_dir, progress=bar.advance)
    report |= {
        "applied": done.swapped,
        "bytes_after": done.after.length,
        "backup": done.backup,
        "appended_lines": done.late_lines,
        "is_still_written": not done.is_over,
    }
    output.answer(report, session_text.purge_done_text, as_json=as_json)


@output.command("repair", epilog=_EXIT_CODES)
@output.session_argument_and_option
@output.dry_run_option
@output.yes_option
def repair_command(
    file: str | None, session_id: str | None, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Mend the structure of a session.

    What has exactly one mend is mended: lost parents, calls and results that lost each other,
    several rows on one line. Where two mends are possible nothing is guessed, and the command says
    where. A backup is kept, and `brimline session restore` undoes the repair.

    \b
    Example:
      brimline session repair --dry-run
      brimline session repair session.jsonl --yes
    """
    path, home_dir = _find_and_recover_session_file(file, session_id), paths.data_dir()
    with _make_reading_progress(path) as bar:
        report = repair.Report(os.path.realpath(path), repair.examine(path, bar.advance))
    mendable = report.before.mendable_faults
    if mendable and not dry_run:
        in_use.require_idle(report.path)
        if not yes:
            preview = session_documents.repair_document(report, dry_run=True)
            output.say("\n".join(session_text.found_fault_lines(preview)), err=True)
        output.require_consent(f"Mend {output.count_text(len(mendable), 'fault')}?", yes=yes)
        with output.Progress("Mending", 2 * os.path.getsize(path)) as bar:
            report = repair.repair(path, home_dir=home_dir, progress=bar.advance)
    document = session_documents.repair_document(report, dry_run=dry_run)
    output.answer(document, session_text.repair_text, as_json=as_json)


@output.command("restore", epilog=_EXIT_CODES)
@output.session_argument_and_option
@output.dry_run_option
@output.yes_option
@click.option(
    "--before-compaction",
    is_flag=True,
    help="Go back to before the last compaction without a model instead.",
)
def restore_command(
    file: str | None,
    session_id: str | None,
    dry_run: bool,
    yes: bool,
    before_compaction: bool,
    as_json: bool,
) -> None:
    """Put a session back to what it was before purges and repairs.

    It is its backup and whatever was appended since, byte for byte. Several rewrites in a row are
    undone together. Of a compaction without a model the rows from before are still there: the
    session goes on from them, and what came after is saved as a second session.

    \b
    Example:
      brimline session restore
      brimline session restore session.jsonl --before-compaction --yes
    """
    path = _find_and_recover_session_file(file, session_id)
    if before_compaction:
        _undo_compaction(path, dry_run=dry_run, yes=yes, as_json=as_json)
        return
    with _make_reading_progress(path) as bar:
        plan = restore.plan_full_restore(path, paths.data_dir(), bar.advance)
    document: dict[str, Any] = {
        "path": plan.path,
        "rewrites": len(plan.undone),
        "problems": [str(problem) for problem in plan.problems],
        "applied": False,
    }
    if not as_json:
        output.say(session_text.restore_plan_sentence(plan))
        for problem in plan.problems:
            output.print_note(f"an older rewrite stays as it is: {problem}")
    done = ""
    if plan.undone and not dry_run:
        in_use.require_idle(plan.path)
        output.require_consent("Put it back? A backup of the present state is kept.", yes=yes)
        with output.Progress("Restoring", sum(one.end - one.start for one in plan.pieces)) as bar:
            made = restore.restore(plan, progress=bar.advance)
        document |= {"applied": True, "bytes_after": made.after.length, "backup": made.backup}
        done = f"Restored: {output.size_text(made.after.length)}. Backup: {made.backup}"
    output.answer(document, done, as_json=as_json)


def _undo_compaction(path: str, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Go back to before the last compaction without a model."""
    with _make_reading_progress(path) as bar:
        plan = undo_compaction.plan_cut_before(path, paths.data_dir(), bar.advance)
    second = find.session_id_of(plan.second)
    document: dict[str, Any] = {"path": plan.path, "compacted_at": plan.at, "applied": False}
    document |= {"second_session": second, "second_path": plan.second}
    if not as_json:
        output.say(session_text.undo_plan_sentence(plan))
    done = ""
    if not dry_run:
        in_use.require_idle(plan.path)
        output.require_consent("Go back? A backup of the present state is kept.", yes=yes)
        made = undo_compaction.cut_before_compaction(plan)
        document |= {"applied": True, "bytes_after": made.after.length, "backup": made.backup}
        done = f"Done: {output.size_text(made.after.length)}. Backup: {made.backup}"
    output.answer(document, done, as_json=as_json)


@output.command("backups")
@output.session_argument_and_option
@click.option(
    "--prune",
    metavar="DAYS",
    type=click.FloatRange(0),
    help="Delete those older than this; 0 deletes all. What goes cannot be restored.",
)
@output.yes_option
def backups_command(
    file: str | None, session_id: str | None, prune: float | None, yes: bool, as_json: bool
) -> None:
    """List backups of rewritten sessions, or delete old ones.

    A backup is a byte-exact copy from before the rewrite, which `session restore` needs; its name
    ends in the local time at which it was made.

    \b
    Example:
      brimline session backups
      brimline session backups --prune 30
    """
    backups = _backups_asked_for(file, session_id)
    if prune is None:
        document = session_documents.backup_list_document(backups)
        output.answer(document, session_text.backup_list_text, as_json=as_json)
        return
    limit = time.time() - prune * _DAY_S
    going = [backup for backup in backups if backup.made_at <= limit]
    document = session_documents.backup_list_document(going)
    amount = (
        f"{output.count_text(len(going), 'backup')} ({output.size_text(document['size_bytes'])})"
    )
    output.require_consent(f"Delete {amount} for good?", yes=yes or not going)
    for backup in going:
        os.unlink(backup.path)
    output.answer(document, f"{amount} deleted.", as_json=as_json)


def _backups_asked_for(file: str | None, session_id: str | None) -> list[Backup]:
    """The backups of what was named, else all; a session that is gone may have left some.

    Raises:
        SessionError: there is neither that session nor a backup of it.
    """
    output.given_session(file, session_id)
    if file is not None:
        path = find.transcript_named(file)
        recovery.finish_rewrites_at_path(path)
        backups = restore.backups_of(path)
        if not backups and not os.path.isfile(path):
            raise SessionError(f"{path} is not there, and neither is a backup of it")
        return backups
    start = session_id or ""
    return [
        backup
        for backup in restore.all_backups()
        if os.path.basename(backup.session).startswith(start)
    ]
