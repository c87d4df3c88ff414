"""`brimline store`: what was kept out of the window, how to get it back, how to hold on to it."""

from __future__ import annotations

import base64
import contextlib
import os
import re
import sys
from typing import TYPE_CHECKING, Any

import click

from brimline import output
from brimline.bulk import contents, experience, layout, listing, pins, removal, retention
from brimline.errors import StoreError
from brimline.fast import paths
from brimline.recall import found_outputs, stored
from brimline.rooms import values_in_all_traces
from brimline.session import originals
from brimline.settings import config
from brimline.transcript import project

if TYPE_CHECKING:
    from brimline.bulk.retention import Limits, Outcome

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
# More days or megabytes than anybody means.
_AMOUNT = click.IntRange(0, 10**9)
_HELD = "the rest is pinned hard, mentioned in sessions or was used within the last hour"
_key_argument = click.argument("key", metavar="KEY")


def _data_folder_of_readable_store() -> str:
    """The data folder, whose store this version can read."""
    home_dir = paths.data_dir()
    layout.refuse_newer_format(home_dir)
    return home_dir


@output.command("list")
@click.option("--limit", metavar="N", type=click.IntRange(0), default=20, help="0 lists all.")
@output.session_option
@click.option("--pinned", is_flag=True, help="Only what is pinned, with the reasons.")
def list_command(limit: int, session_id: str | None, pinned: bool, as_json: bool) -> None:
    """List what is stored with sizes, last used first.

    \b
    Example:
      brimline store list --limit 50
      brimline store list --pinned
      brimline store list --session 1f0c2d3e --json
    """
    document = listing.document(paths.data_dir(), limit, session_id, pinned=pinned)
    output.answer(document, lambda made: listing.text(made, limit, reasons=pinned), as_json=as_json)


@output.command("get")
@_key_argument
@click.option("--lines", metavar="A:B", help="Lines A to B, counted from 1.")
@click.option("--bytes", "span", metavar="A:B", help="Bytes A up to B, counted from 0.")
def get_command(key: str, lines: str | None, span: str | None, as_json: bool) -> None:
    """Print what is stored, byte for byte. On a terminal, control characters are shown as `?`.

    Either end of a range may be left out, and one below 0 counts from the end.

    \b
    Example:
      brimline store get 3f2a9c01 > output.txt
      brimline store get 3f2a9c01 --lines -20:
    """
    _print_content(key, lines, span, as_json=as_json, asks=project.running_session())


@output.command("elsewhere")
@_key_argument
@click.option("--lines", metavar="A:B", help="Lines A to B, counted from 1.")
@click.option("--bytes", "span", metavar="A:B", help="Bytes A up to B, counted from 0.")
def elsewhere_command(key: str, lines: str | None, span: str | None, as_json: bool) -> None:
    """Print what any project stored; Claude Code asks you first.

    \b
    Example:
      brimline store elsewhere 3f2a9c01
    """
    _print_content(key, lines, span, as_json=as_json, asks=None)


def _print_content(
    key: str, lines: str | None, span: str | None, *, as_json: bool, asks: str | None
) -> None:
    """Print a part of what is stored; for a session of the client only what its project stored."""
    home_dir = _data_folder_of_readable_store()
    if lines is not None and span is not None:
        raise StoreError("--lines and --bytes exclude each other: give one of them")
    if asks and key == contents.LAST:
        key = contents.last_key_of_session(home_dir, asks)
    try:
        full_key = contents.resolve_key(home_dir, key)
    except StoreError:
        if not originals.put_back_into_store(home_dir, key):
            raise
        full_key = contents.resolve_key(home_dir, key)
    if asks:
        known = contents.read_sidecar(home_dir, full_key)
        stored.refuse_other_projects(home_dir, project.project_of_caller(), full_key, known)
    part = _chosen_lines_or_bytes(contents.read_content(home_dir, full_key), lines, span)
    if as_json:
        known = contents.read_sidecar(home_dir, full_key)
        document = {"key": full_key, "meta": known, "bytes": len(part)}
        output.answer(document | _text_or_base64_fields(part), "", as_json=True)
    elif sys.stdout.isatty():
        output.say(part.decode("utf-8", "replace").removesuffix("\n"))
    else:
        with output.stdout_errors_raised_as_ours():
            sys.stdout.buffer.write(part)
            sys.stdout.buffer.flush()  # here, where a reader that went away is understood


def _chosen_lines_or_bytes(data: bytes, lines: str | None, span: str | None) -> bytes:
    if lines is not None and data:
        ends = _LINE.findall(data)
        wanted = contents.parse_range(lines, len(ends))
        return b"".join(ends[wanted.first - 1 : wanted.last])
    if span is None:
        return data
    match = re.fullmatch(r"\s*(-?\d{1,12})?\s*:\s*(-?\d{1,12})?\s*", span)
    if match is None or not any(match.groups()):
        raise StoreError(f"{span!r} is not a range of bytes: write A:B, A: or :B")
    part = data[slice(*(int(end) if end else None for end in match.groups()))]
    if data and not part:
        raise StoreError(f"{span!r} asks for no bytes: there are {len(data):,}")
    return part


def _text_or_base64_fields(part: bytes) -> dict[str, str | None]:
    """Content as text where it is UTF-8, otherwise in base 64."""
    try:
        return {"text": part.decode("utf-8"), "base64": None}
    except UnicodeDecodeError:
        return {"text": None, "base64": base64.b64encode(part).decode("ascii")}


@output.command("search")
@click.argument("query", metavar="WORDS...", nargs=-1, required=True)
@click.option("--everywhere", is_flag=True, help="In all projects, not only in this one.")
@click.option("--limit", metavar="N", type=click.IntRange(1), default=10, show_default=True)
def search_command(query: tuple[str, ...], everywhere: bool, limit: int, as_json: bool) -> None:
    """Find outputs of this project by their words, the best first.

    Ends with code 1 where none is found. Of each output the first 200 kB are searched.

    \b
    Example:
      brimline store search connection refused
      brimline store search '"exit code 137"' --everywhere
    """
    words, where = " ".join(query), None if everywhere else project.project_of_caller()
    with contextlib.ExitStack() as bars:
        document = found_outputs.document(
            *(paths.data_dir(), words, where, limit),
            watch=lambda total: bars.enter_context(output.Progress("Reading", total)).advance,
        )
    output.answer(document, found_outputs.text, as_json=as_json)
    if not document["outputs"]:
        raise StoreError(found_outputs.none_found_text(document, words, everywhere=everywhere))


@output.command("pin")
@_key_argument
@click.option("--level", type=click.Choice(pins.LEVELS), default=pins.SOFT, show_default=True)
@click.option("--reason", metavar="TEXT", help="Why, for your later self.")
def pin_command(key: str, level: str, reason: str | None, as_json: bool) -> None:
    """Keep an output from being pruned.

    soft: goes by size only, after everything that is not pinned. hard: never goes by itself.

    \b
    Example:
      brimline store pin 3f2a9c01 --level hard --reason "the failing build"
    """
    home_dir = _data_folder_of_readable_store()
    full_key = contents.resolve_key(home_dir, key)
    pins.pin(home_dir, full_key, level, reason)
    told = "not pinned any more" if level == pins.NONE else f"pinned {level}"
    document = {"key": full_key, "level": level, "reason": reason}
    output.answer(document, f"{full_key} is {told}.", as_json=as_json)


@output.command("unpin")
@_key_argument
@click.pass_context
def unpin_command(context: click.Context, /, **given: Any) -> None:
    """Let a pinned output be pruned again.

    \b
    Example:
      brimline store unpin 3f2a9c01
    """
    context.invoke(pin_command, level=pins.NONE, reason=None, **given)


@output.command("learned")
@click.option("--undo", "words", metavar="WORDS", help="Begin anew with a call.")
def learned_command(words: str | None, as_json: bool) -> None:
    """List what offloading learned of calls.

    Large outputs of a call come as previews, or stay where those kept being fetched back.

    \b
    Example:
      brimline store learned
      brimline store learned --undo "Bash cargo test"
    """
    if words is None:
        output.answer(experience.document(paths.data_dir()), experience.text, as_json=as_json)
        return
    count = experience.take_back(paths.data_dir(), words)
    report = {"words": words, "calls": count}
    output.answer(report, f"{output.one_line(words)}  begins anew", as_json=as_json)


@output.command("prune")
@click.option("--max-age-days", metavar="N", type=_AMOUNT, help="Days since last use.")
@click.option("--max-size-mb", metavar="N", type=_AMOUNT, help="Megabytes on disk.")
@click.option("--unreferenced", is_flag=True, help="All that nothing mentions and no pin holds.")
@output.dry_run_option
@output.yes_option
def prune_command(
    max_age_days: int | None,
    max_size_mb: int | None,
    unreferenced: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Remove outputs by age and size. Without limits those of the settings apply.

    By age goes what is not pinned. By size goes what is not pinned, last used longest ago first,
    then what is pinned soft. What transcripts mention or a hard pin holds stays. If a file that may
    mention keys cannot be read, nothing is removed. With --unreferenced, what was used within the
    last hour stays.

    \b
    Example:
      brimline store prune --max-size-mb 200 --dry-run
      brimline store prune --max-age-days 14 --yes
      brimline store prune --unreferenced --dry-run
    """
    home_dir = _data_folder_of_readable_store()
    if max_age_days is None and max_size_mb is None and not unreferenced:
        values = config.load(home_dir, os.getcwd()).values
        max_size_mb, max_age_days = values["store.max_mb"], values["store.max_age_days"]
    limits = _given_limits(max_age_days, max_size_mb, unreferenced)
    done = _prune_with_progress(home_dir, limits, dry_run=dry_run or not yes)
    if not dry_run and not yes:
        blobs, freed = (
            output.count_text(len(done.keys), "output"),
            output.size_text(done.freed_bytes),
        )
        output.require_consent(f"Remove {blobs} ({freed})?", yes=False)
        done = _prune_with_progress(home_dir, limits, dry_run=False)
    document = {name: getattr(done, name) for name in done.__slots__ if name != "finished"}
    document |= {"dry_run": dry_run, "removed": len(done.keys)}
    output.answer(document, _pruned_text(done, dry_run=dry_run), as_json=as_json)


def _given_limits(max_age_days: int | None, max_size_mb: int | None, unreferenced: bool) -> Limits:
    return retention.Limits(
        None if max_age_days is None else max_age_days * retention.DAY_S,
        None if max_size_mb is None else int(max_size_mb * retention.MEGABYTE),
        retention.GRACE_S if unreferenced else 0.0,
        unreferenced,
    )


def _prune_with_progress(home_dir: str, limits: Limits, *, dry_run: bool) -> Outcome:
    """Prune with a progress bar for the search for references, which is what takes time."""
    files = (
        retention.files_that_may_mention_keys(home_dir, values_in_all_traces, [])
        if os.isatty(2)
        else ()
    )
    with output.Progress("Reading transcripts", output.total_file_bytes(files)) as progress:
        how = retention.Pass(values_in_all_traces, dry_run=dry_run, progress=progress.advance)
        return retention.prune(home_dir, limits, how)


def _pruned_text(done: Outcome, *, dry_run: bool) -> str:
    verb = "would go" if dry_run else "removed"
    blobs, freed = output.count_text(len(done.keys), "output"), output.size_text(done.freed_bytes)
    lines = [f"{blobs} {verb}, {freed} freed; {output.size_text(done.left_bytes)} left."]
    if done.shortfall_bytes:
        excess = output.size_text(done.shortfall_bytes)
        lines.append(output.wrapped_text(f"The limit is still exceeded by {excess}: {_HELD}."))
    if done.swept:
        lines.append(f"{output.count_text(done.swept, 'leftover')} cleared away.")
    return "\n".join(lines)


@output.command("forget")
@click.argument("keys", metavar="KEY...", nargs=-1, required=True)
@output.yes_option
def forget_command(keys: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Delete content for good, pinned or not.

    References to it in transcripts then lead nowhere. `brimline forget` takes all of a session.

    \b
    Example:
      brimline store forget 3f2a9c01
    """
    home_dir = _data_folder_of_readable_store()
    full_keys = [contents.resolve_key(home_dir, key) for key in keys]
    outputs = output.count_text(len(full_keys), "output")
    held = sum(pins.read_pin(home_dir, layout.digest_of_key(key)) is not None for key in full_keys)
    pinned = f"{held} of them pinned. " if held else ""
    output.require_consent(f"{pinned}Delete {outputs} for good?", yes=yes)
    for key in full_keys:
        removal.forget_key(home_dir, key)
    stored.forget(home_dir, full_keys)
    output.answer({"keys": full_keys}, f"{outputs} forgotten.", as_json=as_json)
