"""`brimline session`: look into a recorded session, shrink or mend it in a copy, and go back."""

from __future__ import annotations

import gc
import os
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from brimline import output
from brimline.errors import SessionError
from brimline.fast import io, paths
from brimline.session import (
    backups,
    in_use,
    legacy,
    purge,
    repair,
    restore,
    session_documents,
    session_text,
)
from brimline.settings import config
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Callable

    from brimline.session.backups import Backup
    from brimline.session.copying import Copied

_DAY_S = 86_400


def _find_session_file(file: str | None, session_id: str | None) -> str:
    """The session that is meant.

    Raises:
        SessionError: there is none, or it is something else than a session.
    """
    return find.checked_transcript(find.wanted_transcript(output.given_session(file, session_id)))


def _copy_document(copied: Copied) -> dict[str, Any]:
    return session_documents.copy_document(copied, _cleanup_days(copied.original))


def _cleanup_days(path: str) -> int | None:
    """After how many days the client deletes a session that is left alone."""
    project = find.folder_it_began_in(path) or os.getcwd()
    days: int | None = config.build_live_policy(paths.data_dir(), project).client["cleanup_days"]
    return days


def _make_reading_progress(path: str) -> output.Progress:
    return output.Progress("Reading", os.path.getsize(path))


@output.command("inspect")
@output.session_argument_and_option
def inspect_command(file: str | None, session_id: str | None, as_json: bool) -> None:
    """Look into a session.

    Most of a session's bytes never reach the model, and nothing before its last compaction does.
    Figures with ~ are estimated.

    \b
    Example:
      brimline session inspect
      brimline session inspect session.jsonl --json
    """
    path = _find_session_file(file, session_id)
    with _make_reading_progress(path) as bar:
        document = session_documents.inspection_document(path, paths.data_dir(), bar.advance)
    output.answer(document, session_text.inspection_text, as_json=as_json)


@output.command("purge")
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
    "--request", metavar="A:B", multiple=True, help="Replace what requests A to B called for."
)
@click.option("--result", metavar="KEY", multiple=True, help="Replace the result with this key.")
@output.dry_run_option
@output.yes_option
def purge_command(file: str | None, session_id: str | None, as_json: bool, **flags: Any) -> None:
    """Shrink a session without losing a line.

    Old bulk becomes a line that can be recalled, as in a compaction without a model: what was
    looked at last, your words, the files edited last, failures and short results stay. All that in
    a copy beside the session, which may be open meanwhile and stays as it is. Shows the figures and
    asks first. Results named by --request or --result go, whatever they are, and no others.

    \b
    Example:
      brimline session purge --dry-run
      brimline session purge session.jsonl --keep-recent 20 --yes
      brimline session purge --request 12:20 --dry-run
    """
    path = _find_session_file(file, session_id)
    path, home_dir = os.path.realpath(path), paths.data_dir()
    inside = config.load(home_dir, os.getcwd()).values["compaction.inside"]
    by_hand = flags["result"], flags["request"]
    options = purge.Options(flags["threshold"], flags["keep_recent"], inside, *by_hand)
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
    question = f"Make a purged copy of {os.path.basename(path)}?"
    output.require_consent(question, yes=flags["yes"])
    with output.Progress("Copying", planned.survey.length) as bar:
        done = purge.purge(path, planned, home_dir, progress=bar.advance)
    report |= _copy_document(done)
    output.answer(report, session_text.purge_done_text, as_json=as_json)


@output.command("repair")
@output.session_argument_and_option
@output.dry_run_option
@output.yes_option
def repair_command(
    file: str | None, session_id: str | None, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Mend the structure of a session.

    What has exactly one mend is mended: lost parents, calls and results that lost each other,
    several rows on one line. Where two mends are possible nothing is guessed, and the command says
    where. It is mended in a copy beside it, and stays as it is.

    \b
    Example:
      brimline session repair --dry-run
      brimline session repair session.jsonl --yes
    """
    path, home_dir = _find_session_file(file, session_id), paths.data_dir()
    with _make_reading_progress(path) as bar:
        report = repair.Report(os.path.realpath(path), repair.examine(path, bar.advance))
    mendable = report.before.mendable_faults
    if mendable and not dry_run:
        if not yes:
            preview = session_documents.repair_document(report, dry_run=True)
            output.say("\n".join(session_text.found_fault_lines(preview)), err=True)
        output.require_consent(
            f"Mend {output.count_text(len(mendable), 'fault')} in a copy?", yes=yes
        )
        with output.Progress("Mending", 2 * os.path.getsize(path)) as bar:
            report = repair.repair(path, home_dir=home_dir, progress=bar.advance)
    document = session_documents.repair_document(report, dry_run=dry_run)
    document |= _copy_document(report.copy) if report.copy else {}
    output.answer(document, session_text.repair_text, as_json=as_json)


@output.command("restore")
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
    """Go back to before a purge, a repair or a compaction.

    Names the session that a copy was made of, which is as it was. Where the client has deleted it,
    what was replaced comes back from the store, in another copy. What older versions rewrote in
    place comes back in a copy too. Of a compaction without a model the rows from before are still
    there: the copy ends before it.

    \b
    Example:
      brimline session restore
      brimline session restore session.jsonl --before-compaction --yes
    """
    path, home_dir = os.path.realpath(_find_session_file(file, session_id)), paths.data_dir()
    asks = _Asks(dry_run=dry_run, yes=yes, as_json=as_json)
    if before_compaction:
        with _make_reading_progress(path) as bar:
            plan = restore.plan_cut_before(path, bar.advance)
        document: dict[str, Any] = {"path": path, "compacted_at": plan.at, "applied": False}
        said = session_text.undo_plan_sentence(plan)
        asks.then_copy(document, said, lambda: restore.copy_before_compaction(plan, home_dir))
        return
    way = restore.way_back(home_dir, path)
    if way is None:
        _undo_older_rewrites(path, home_dir, asks)
        return
    document = session_documents.way_back_document(path, way, _cleanup_days(path))
    said = session_text.way_back_text(document)
    if way.original is not None:
        output.answer(document, said, as_json=as_json)
        return
    asks.then_copy(document, said, lambda: restore.restore_from_store(home_dir, path, way.copy))


class _Asks(NamedTuple):
    """How a command that makes a copy was called."""

    dry_run: bool
    yes: bool
    as_json: bool

    def then_copy(self, document: dict[str, Any], said: str, copy: Callable[[], Copied]) -> None:
        """Say what is to be done, and do it unless told otherwise."""
        if not self.as_json:
            output.say(said)
        done = ""
        if not self.dry_run:
            output.require_consent("Make that copy?", yes=self.yes)
            document |= _copy_document(copy())
            done = "\n".join(session_text.copy_lines(document))
        output.answer(document, done, as_json=self.as_json)


def _undo_older_rewrites(path: str, home_dir: str, asks: _Asks) -> None:
    """Take back what versions before copies rewrote in place."""
    with _make_reading_progress(path) as bar:
        plan = legacy.plan_full_restore(path, home_dir, bar.advance)
    problems = [str(problem) for problem in plan.problems]
    document = {"path": path, "rewrites": len(plan.undone), "problems": problems, "applied": False}
    said = session_text.restore_plan_sentence(plan)
    for problem in problems if not asks.as_json else ():
        output.print_note(f"an older rewrite stays as it is: {problem}")
    if plan.undone:
        asks.then_copy(document, said, lambda: legacy.restore(plan))
    else:
        output.answer(document, said, as_json=asks.as_json)


@output.command("backups")
@output.session_argument_and_option
@click.option(
    "--prune",
    metavar="DAYS",
    type=click.FloatRange(0),
    help="Delete those older than this; 0 deletes all. What goes cannot be had again.",
)
@output.yes_option
def backups_command(
    file: str | None, session_id: str | None, prune: float | None, yes: bool, as_json: bool
) -> None:
    """List sessions that copies were made of, or delete them.

    A session that went on since its copy was made, or that is open, is never deleted. What older
    versions put beside sessions that they rewrote is listed too.

    \b
    Example:
      brimline session backups
      brimline session backups --prune 30
    """
    found = _backups_asked_for(file, session_id)
    if prune is None:
        document = session_documents.backup_list_document(found)
        output.answer(document, session_text.backup_list_text, as_json=as_json)
        return
    limit = time.time() - prune * _DAY_S
    going = [one for one in found if one.made_at <= limit and not one.has_gone_on]
    going = [one for one in going if not one.copies or not in_use.is_open(one.path)]
    document = session_documents.backup_list_document(going)
    amount = (
        f"{output.count_text(len(going), 'backup')} ({output.size_text(document['size_bytes'])})"
    )
    output.require_consent(f"Delete {amount} for good?", yes=yes or not going)
    for backup in going:
        io.remove(backup.path)
    output.answer(document, f"{amount} deleted.", as_json=as_json)


def _backups_asked_for(file: str | None, session_id: str | None) -> list[Backup]:
    """The backups of what was named, else all; a session that is gone may have left some.

    Raises:
        SessionError: there is neither that session nor a backup of it.
    """
    output.given_session(file, session_id)
    found = backups.originals(paths.data_dir())
    if file is not None:
        path = os.path.realpath(find.transcript_named(file))
        older = backups.beside(path)
        if not older and not os.path.isfile(path):
            raise SessionError(f"{path} is not there, and neither is a backup of it")
        return [one for one in found if one.path == path] + older
    start = session_id or ""
    found += backups.beside_all()
    return [one for one in found if os.path.basename(one.session).startswith(start)]
