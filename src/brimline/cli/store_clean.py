"""`brimline store prune`, `gc`, `verify`, `forget`: what deletes, and what checks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from brimline import config, paths
from brimline.cli import store_text as text
from brimline.cli.store import HELP, as_json_option
from brimline.store import caps, layout, pins, read, scan, sources, sweep
from brimline.store import forget as forgetting
from brimline.store import prune as pruning
from brimline.store import verify as checking
from brimline.store.errors import StoreError
from brimline.store.plan import Limits

if TYPE_CHECKING:
    from collections.abc import Callable

_DAY_S = 86_400
_MINUTE_S = 60
_yes = click.option("--yes", is_flag=True, help="Do not ask.")
_dry_run = click.option("--dry-run", is_flag=True, help="Say what would go; touch nothing.")
_HOLDS = {
    "hard": "pinned hard",
    "referenced": "mentioned in transcripts (--force KEY names one to go all the same)",
    "recent": "used within the grace period",
}


@click.command(context_settings=HELP)
@click.option(
    "--max-age-days", metavar="N", type=str, callback=text.amount, help="Days since last use."
)
@click.option(
    "--max-size-mb", metavar="N", type=str, callback=text.amount, help="Megabytes on disk."
)
@click.option("--force", metavar="KEY", multiple=True, help="May go although something holds it.")
@click.option(
    "--grace-minutes",
    metavar="N",
    type=str,
    callback=text.amount,
    default=0,
    help="Keep what was used within so many minutes.",
)
@_dry_run
@_yes
@as_json_option
def prune(
    max_age_days: float | None,
    max_size_mb: float | None,
    force: tuple[str, ...],
    grace_minutes: float,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Remove blobs by age and size; without limits, those of the settings.

    By age goes what is not pinned. By size goes what is not pinned, last used longest ago first,
    then what is pinned soft. What transcripts mention or a hard pin holds stays, unless --force
    names it.

    \b
    Example:
      brimline store prune --max-size-mb 200 --dry-run
      brimline store prune --max-age-days 14 --yes
    """
    home_dir = paths.home()
    if max_age_days is None and max_size_mb is None:
        max_size_mb, max_age_days = configured_limits(home_dir)
    limits = Limits(
        None if max_age_days is None else max_age_days * _DAY_S,
        None if max_size_mb is None else int(max_size_mb * caps.MEGABYTE),
        grace_minutes * _MINUTE_S,
    )
    forced = [layout.digest_of(read.resolve(home_dir, key)) for key in force]

    def run(search: pruning.Search) -> pruning.Outcome:
        return pruning.prune(home_dir, limits, search, forced=forced)

    _remove(home_dir, run, dry_run=dry_run, yes=yes, as_json=as_json)


@click.command(context_settings=HELP)
@click.option(
    "--grace-minutes",
    metavar="N",
    type=str,
    callback=text.amount,
    default=pruning.GRACE_S / _MINUTE_S,
    show_default=True,
    help="Keep what was used within so many minutes.",
)
@_dry_run
@_yes
@as_json_option
def gc(grace_minutes: float, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Remove what no transcript, ledger or pin holds on to, and what crashes left behind.

    Every file of the client's projects is read for keys; what is found is remembered for the next
    time. If one cannot be read, nothing is removed.

    \b
    Example:
      brimline store gc --dry-run
      brimline store gc --yes
    """
    home_dir = paths.home()

    def run(search: pruning.Search) -> pruning.Outcome:
        return pruning.collect(home_dir, search, grace_s=grace_minutes * _MINUTE_S)

    _remove(home_dir, run, dry_run=dry_run, yes=yes, as_json=as_json, sweeping=True)


@click.command(context_settings=HELP)
@as_json_option
def verify(as_json: bool) -> None:
    """Read every blob and compare it with its key; ends with code 1 if one is damaged.

    \b
    Example:
      brimline store verify
    """
    home_dir = paths.home()
    scan.check_format(home_dir)
    total = sum(blob.disk_bytes for blob in scan.blobs(home_dir))
    with text.Progress(total, "Checking") as progress:
        done = checking.verify(home_dir, progress.update)
    report = {
        "blobs": done.blobs,
        "disk_bytes": done.disk_bytes,
        "problems": done.problems,
        "without_sidecar": done.without_sidecar,
        "without_blob": done.without_blob,
    }
    counted = (
        f"{text.count(done.blobs, 'blob')} checked, {len(done.problems)} damaged or unreadable."
    )
    lines = [*done.problems.values(), counted]
    if done.without_sidecar:
        lines.append(f"{len(done.without_sidecar)} without a description; they can be read.")
    if done.without_blob:
        lines.append(
            f"{len(done.without_blob)} descriptions without a blob: `gc` clears them away."
        )
    text.answer(report, "\n".join(lines), as_json=as_json)
    if done.problems:
        raise SystemExit(1)


@click.command(context_settings=HELP)
@click.argument("keys", metavar="[KEY]...", nargs=-1)
@click.option(
    "--session", metavar="ID", help="All that only this session stored, by its id's start."
)
@_dry_run
@_yes
@as_json_option
def forget(
    keys: tuple[str, ...], session: str | None, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Delete content for good, pinned or not.

    Stubs that stand for it in transcripts then lead nowhere. What other sessions stored too stays
    with them when a session is forgotten.

    \b
    Example:
      brimline store forget 3f2a9c01
      brimline store forget --session 1f0c2d3e-aaaa-4bbb-8ccc-000000000001 --yes
    """
    home_dir = paths.home()
    if bool(keys) == (session is not None):
        raise StoreError("name either keys or one --session to forget")
    if not dry_run:
        text.require_consent(yes=yes)
    if session is not None:
        session = forgetting.session_id(home_dir, session)
        found = forgetting.of_session(home_dir, session)
    else:
        found = forgetting.Forgotten([read.resolve(home_dir, key) for key in keys])
    of_session = f" of session {text.shown(session)}" if session else ""
    question = f"Delete {text.count(len(found.keys), 'blob')}{of_session} for good?"
    held = [key for key in found.keys if pins.read(home_dir, layout.digest_of(key))]
    if held:
        question = f"{len(held)} of them pinned. {question}"
    if not dry_run:
        if found.keys:
            text.ask(question, yes=yes)
        _forget(home_dir, found, session)
    report = {
        "session": session,
        "keys": found.keys,
        "shared": found.shared,
        "dry_run": dry_run,
    }
    verb = "would go" if dry_run else "forgotten"
    told = f"{text.count(len(found.keys), 'blob')}{of_session} {verb}."
    if found.shared:
        told += f" {len(found.shared)} stay with other sessions."
    text.answer(report, told, as_json=as_json)


def configured_limits(home_dir: str) -> tuple[float, float]:
    """Megabytes and days from the settings."""
    values = config.load(home_dir, os.getcwd()).values
    megabytes = values.get("store.max_mb", caps.MAX_MB)
    return megabytes, values.get("store.max_age_days", caps.MAX_AGE_DAYS)


def _forget(home_dir: str, found: forgetting.Forgotten, session: str | None) -> None:
    if session is not None:
        forgetting.forget_session(home_dir, session)
        return
    for key in found.keys:
        forgetting.forget_key(home_dir, key)


def _remove(
    home_dir: str,
    run: Callable[[pruning.Search], pruning.Outcome],
    *,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    sweeping: bool = False,
) -> None:
    """Look, ask, remove, tell."""
    scan.check_format(home_dir)
    if not dry_run:
        text.require_consent(yes=yes)
    if dry_run or not yes:
        done = _searched(home_dir, run, dry_run=True)
        if not dry_run and done.keys:
            freed = text.size(done.freed_bytes)
            text.ask(f"Remove {text.count(len(done.keys), 'blob')} ({freed})?", yes=yes)
    if not dry_run:
        done = _searched(home_dir, run, dry_run=False)
    swept = sweep.sweep(home_dir) if sweeping and not dry_run else sweep.Swept()
    report = _report(done, swept, dry_run=dry_run)
    text.answer(report, _render(report), as_json=as_json)


def _searched(
    home_dir: str, run: Callable[[pruning.Search], pruning.Outcome], *, dry_run: bool
) -> pruning.Outcome:
    """Run with a progress bar for the search, which is what takes time."""
    files = sources.Files(home_dir)
    total = sum(_size(path) for path in files) if os.isatty(2) else 0
    with text.Progress(total, "Reading transcripts") as progress:
        return run(pruning.Search(files, dry_run=dry_run, progress=progress.update))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _report(done: pruning.Outcome, swept: sweep.Swept, *, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "removed": len(done.keys),
        "removed_by_age": done.by_age,
        "keys": done.keys,
        "freed_bytes": done.freed_bytes,
        "left_bytes": done.left_bytes,
        "shortfall_bytes": done.shortfall_bytes,
        "held_bytes": done.held_bytes,
        "came_into_use": done.came_into_use,
        "swept": {
            "temporary": swept.temporary,
            "returned": swept.returned,
            "orphans": swept.orphans,
        },
    }


def _render(report: dict[str, Any]) -> str:
    verb = "would go" if report["dry_run"] else "removed"
    blobs, freed = text.count(report["removed"], "blob"), text.size(report["freed_bytes"])
    lines = [f"{blobs} {verb}, {freed} freed; {text.size(report['left_bytes'])} left."]
    if report["shortfall_bytes"]:
        lines.append(f"The limit is still exceeded by {text.size(report['shortfall_bytes'])}:")
        lines += [f"  {text.size(n)} {_HOLDS[why]}" for why, n in report["held_bytes"].items()]
    if report["came_into_use"]:
        lines.append(f"{text.count(report['came_into_use'], 'blob')} stayed: used meanwhile.")
    leftovers = sum(report["swept"].values())
    if leftovers:
        lines.append(f"{text.count(leftovers, 'leftover')} cleared away.")
    return "\n".join(lines)
