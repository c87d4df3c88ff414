"""`brimline store`: what was kept out of the window, how to get it back, how to hold on to it."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from brimline import paths
from brimline.cli import store_report as report
from brimline.cli import store_text as text
from brimline.cli.lazy import LazyGroup
from brimline.cli.registry import Entry
from brimline.store import grep as searching
from brimline.store import layout, pins, put, read, scan
from brimline.store.errors import StoreError

HELP = {"help_option_names": ["-h", "--help"]}
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_CLEANING = {
    "prune": Entry("brimline.cli.store_clean:prune", "Remove by age and size."),
    "gc": Entry("brimline.cli.store_clean:gc", "Remove what nothing mentions any more."),
    "verify": Entry("brimline.cli.store_clean:verify", "Check every blob against its key."),
    "forget": Entry("brimline.cli.store_clean:forget", "Delete for good, by key or session."),
}


class _Group(LazyGroup):
    """Turns what the disk refuses into one sentence, for all commands of the group."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command.

        Raises:
            StoreError: a file or folder cannot be read or written.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except OSError as error:
            name = error.filename or layout.root(paths.home())
            raise StoreError(f"{os.fsdecode(name)}: {error.strerror or error}") from error


@click.group(cls=_Group, lazy=_CLEANING, context_settings=HELP)
def store() -> None:
    """Look into the store of outputs that were kept out of the context window.

    A KEY is sha256: and 64 hexadecimal digits; its first 8 or more digits will do where they fit
    only one, and `last` is what was stored last.

    \b
    Example:
      brimline store list
      brimline store get 3f2a9c01 --lines 100:120
      brimline store grep last 'error|warning' -C 2
    """


@store.command()
@click.option("--content", is_flag=True, help="Open every blob for the size of its content.")
@as_json_option
def stats(content: bool, as_json: bool) -> None:
    """Show how much is stored.

    \b
    Example:
      brimline store stats
      brimline store stats --content --json
    """
    found = report.stats(paths.home(), content=content)
    text.answer(found, report.render_stats(found), as_json=as_json)


@store.command("list")
@click.option("--limit", metavar="N", type=click.IntRange(0), default=20, help="0 lists all.")
@click.option("--session", metavar="ID", help="Only what this session stored, by its id's start.")
@click.option("--tool", metavar="NAME", help="Only what this tool returned.")
@click.option("--by", type=click.Choice(["used", "size"]), default="used", help="The order.")
@as_json_option
def list_(limit: int, session: str | None, tool: str | None, by: str, as_json: bool) -> None:
    """List what is stored, last used first.

    \b
    Example:
      brimline store list --limit 50
      brimline store list --session 1f0c2d3e --json
      brimline store list --by size
    """
    home_dir = paths.home()
    scan.check_format(home_dir)
    found = scan.blobs(home_dir)
    found.sort(key=lambda blob: blob.disk_bytes if by == "size" else blob.used_ns, reverse=True)
    documents = report.entries(home_dir, found, limit=limit, session=session, tool=tool)
    text.answer(documents, report.render_entries(documents, len(found)), as_json=as_json)


@store.command()
@click.argument("key", metavar="KEY")
@click.option("--lines", "line_range", metavar="A:B", help="Lines A to B, counted from 1.")
@click.option("--bytes", "byte_range", metavar="A:B", help="Bytes A up to B, counted from 0.")
@as_json_option
def get(key: str, line_range: str | None, byte_range: str | None, as_json: bool) -> None:
    """Print what is stored, byte for byte.

    Either end of a range may be left out, and one below 0 counts from the end.

    \b
    Example:
      brimline store get 3f2a9c01 > output.txt
      brimline store get 3f2a9c01 --lines 100:120
      brimline store get 3f2a9c01 --lines -20:
    """
    home_dir = paths.home()
    scan.check_format(home_dir)
    if line_range is not None and byte_range is not None:
        raise StoreError("--lines and --bytes exclude each other: give one of them")
    full_key = read.resolve(home_dir, key)
    part = _part(read.get(home_dir, full_key), line_range, byte_range)
    if as_json:
        text.answer(report.content(home_dir, full_key, part), "", as_json=True)
    else:
        _write(part)


@store.command()
@click.argument("key", metavar="KEY")
@click.argument("pattern")
@click.option(
    "-C", "--context", metavar="N", type=click.IntRange(0), default=0, help="Lines around."
)
@click.option("-i", "--ignore-case", is_flag=True, help="Case does not matter.")
@click.option("-F", "--fixed", is_flag=True, help="PATTERN is plain text.")
@click.option("--whole-lines", is_flag=True, help="Do not cut lines over 2,000 characters.")
@as_json_option
def grep(
    key: str,
    pattern: str,
    context: int,
    ignore_case: bool,
    fixed: bool,
    whole_lines: bool,
    as_json: bool,
) -> None:
    """Search what is stored for a regular expression; lines are numbered.

    Ends with code 1 where no line matches. A pattern that takes more than five seconds is given up.

    \b
    Example:
      brimline store grep 3f2a9c01 'FAILED|error:' -C 2
      brimline store grep last -F 'a[0]' -i
    """
    home_dir = paths.home()
    scan.check_format(home_dir)
    full_key = read.resolve(home_dir, key)
    content = read.get(home_dir, full_key)
    try:
        groups = searching.grep(
            content, pattern, context=context, ignore_case=ignore_case, plain=fixed
        )
    except searching.SlowPatternError as error:
        raise StoreError(f"{error}, or search for plain text with --fixed") from None
    if as_json:
        text.answer(report.matches(full_key, pattern, groups), "", as_json=True)
    else:
        _write(report.render_matches(groups, whole=whole_lines))
    if not groups:
        click.echo(f"brimline: no line of {full_key} matches {pattern!r}", err=True)
        raise SystemExit(1)


@store.command()
@click.argument("key", metavar="KEY")
@click.option("--level", type=click.Choice(pins.LEVELS), default=pins.SOFT, show_default=True)
@click.option("--reason", metavar="TEXT", help="Why, for your later self.")
@as_json_option
def pin(key: str, level: str, reason: str | None, as_json: bool) -> None:
    """Keep a blob from being pruned.

    soft: goes by size only, after everything that is not pinned. hard: never goes by itself.

    \b
    Example:
      brimline store pin 3f2a9c01 --level hard --reason "the failing build"
    """
    _pin(key, level, reason, as_json=as_json)


@store.command()
@click.argument("key", metavar="KEY")
@as_json_option
def unpin(key: str, as_json: bool) -> None:
    """Let a pinned blob be pruned again.

    \b
    Example:
      brimline store unpin 3f2a9c01
    """
    _pin(key, pins.NONE, None, as_json=as_json)


@store.command("pins")
@as_json_option
def list_pins(as_json: bool) -> None:
    """List the pins.

    \b
    Example:
      brimline store pins
    """
    found = scan.pinned(paths.home())
    text.answer(report.pins(found), report.render_pins(found), as_json=as_json)


def _pin(key: str, level: str, reason: str | None, *, as_json: bool) -> None:
    home_dir = paths.home()
    full_key = read.resolve(home_dir, key)
    pins.pin(home_dir, full_key, level, reason)
    told = "not pinned any more" if level == pins.NONE else f"pinned {level}"
    document = {"key": full_key, "level": level, "reason": reason}
    text.answer(document, f"{full_key} is {told}.", as_json=as_json)


def _part(data: bytes, line_range: str | None, byte_range: str | None) -> bytes:
    part = data
    if line_range is not None:
        part = read.lines(data, *read.parse_range(line_range))
        if data and not part:
            raise read.empty_range(line_range, "line", put.count_lines(data))
    elif byte_range is not None:
        part = read.byte_range(data, *read.parse_range(byte_range))
        if data and not part:
            raise read.empty_range(byte_range, "byte", len(data))
    return part


def _write(data: bytes) -> None:
    with text.output():
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()  # here, where a reader that went away is noticed and understood
