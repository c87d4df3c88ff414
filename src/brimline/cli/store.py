"""`brimline store`: what was kept out of the window, how to get it back, how to hold on to it."""

from __future__ import annotations

import base64
import os
import re
import sys
import time
from typing import Any

import click

from brimline import config
from brimline.cli import store_text as text
from brimline.errors import StoreError
from brimline.fast import paths
from brimline.search import stored, words
from brimline.store import contents, layout, pins, removal, retention

HELP = {"help_option_names": ["-h", "--help"]}
_SEARCH_S = 20.0
_LINES_PER_HIT, _HIT_CHARACTERS = 5, 200
_LINE_CHARACTERS = 600
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
# What a terminal would obey.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_HOLDS = {
    "hard": "pinned hard",
    "referenced": "mentioned in transcripts (--force KEY names one to go all the same)",
    "recent": "used within the last hour",
}
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_yes = click.option("--yes", is_flag=True, help="Do not ask.")
_dry_run = click.option("--dry-run", is_flag=True, help="Say what would go; touch nothing.")


class _Group(click.Group):
    """Turns what the disk refuses into one sentence, for all commands of the group."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command.

        Raises:
            StoreError: a file or folder cannot be read or written.
        """
        try:
            layout.check_format(paths.home())
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except OSError as error:
            name = error.filename or layout.root(paths.home())
            raise StoreError(f"{os.fsdecode(name)}: {error.strerror or error}") from error


@click.group(cls=_Group, context_settings=HELP)
def store() -> None:
    """Look into the store of outputs that were kept out of the context window.

    A KEY is sha256: and 64 hexadecimal digits; its first 8 or more digits will do where they fit
    only one, and `last` is what was stored last.

    \b
    Example:
      brimline store list
      brimline store get 3f2a9c01 --lines 100:120
      brimline store search connection refused
    """


@store.command("list")
@click.option("--limit", metavar="N", type=click.IntRange(0), default=20, help="0 lists all.")
@click.option("--session", metavar="ID", help="Only what this session stored, by its id's start.")
@click.option("--pinned", is_flag=True, help="Only what is pinned, with the reasons.")
@click.option("--by", type=click.Choice(["used", "size"]), default="used", help="The order.")
@as_json_option
def list_(limit: int, session: str | None, pinned: bool, by: str, as_json: bool) -> None:
    """List what is stored, last used first, and how much it is.

    \b
    Example:
      brimline store list --limit 50
      brimline store list --pinned
      brimline store list --session 1f0c2d3e --json
    """
    home_dir = paths.home()
    blobs = contents.blobs(home_dir)
    blobs.sort(key=lambda blob: blob.disk_bytes if by == "size" else blob.used_ns, reverse=True)
    held = pins.pinned(home_dir)
    chosen = [blob for blob in blobs if not pinned or blob.digest in held]
    if session is not None:
        of = removal.of_session(home_dir, removal.session_id(home_dir, session))
        chosen = [blob for blob in chosen if blob.key in {*of.keys, *of.shared}]
    levels = [held[blob.digest].level for blob in blobs if blob.digest in held]
    document = {
        "folder": layout.root(home_dir),
        "blobs": len(blobs),
        "disk_bytes": sum(blob.disk_bytes for blob in blobs),
        "pins": {level: levels.count(level) for level in (pins.SOFT, pins.HARD)},
        "outputs": [_entry(home_dir, blob, held) for blob in chosen[: limit or None]],
    }
    text.answer(document, _list_text(document, reasons=pinned), as_json=as_json)


@store.command()
@click.argument("key", metavar="KEY")
@click.option("--lines", metavar="A:B", help="Lines A to B, counted from 1.")
@click.option("--bytes", "span", metavar="A:B", help="Bytes A up to B, counted from 0.")
@click.option("--find", metavar="WORDS", help="Only lines that hold the words, numbered.")
@as_json_option
def get(key: str, lines: str | None, span: str | None, find: str | None, as_json: bool) -> None:
    """Print what is stored, byte for byte; on a terminal without what a terminal would obey.

    Either end of a range may be left out, and one below 0 counts from the end.

    \b
    Example:
      brimline store get 3f2a9c01 > output.txt
      brimline store get 3f2a9c01 --lines -20:
      brimline store get 3f2a9c01 --find "error timeout"
    """
    home_dir = paths.home()
    if sum(option is not None for option in (lines, span, find)) > 1:
        raise StoreError("--lines, --bytes and --find exclude each other: give one of them")
    full_key = contents.resolve(home_dir, key)
    part = _part(contents.get(home_dir, full_key), lines, span, find)
    if as_json:
        document = {"key": full_key, "meta": contents.meta(home_dir, full_key), "bytes": len(part)}
        text.answer(document | _content(part), "", as_json=True)
    else:
        if sys.stdout.isatty():
            part = _CONTROL.sub("?", part.decode("utf-8", "replace")).encode()
        with text.output():
            sys.stdout.buffer.write(part)
            sys.stdout.buffer.flush()  # here, where a reader that went away is understood
    if find is not None and not part:
        click.echo(f"brimline: no line of {full_key} holds {text.shown(find)}", err=True)
        raise SystemExit(1)


@store.command()
@click.argument("query", metavar="WORDS...", nargs=-1, required=True)
@click.option("--everywhere", is_flag=True, help="In all projects, not only in this one.")
@click.option("--limit", metavar="N", type=click.IntRange(1), default=10, show_default=True)
@as_json_option
def search(query: tuple[str, ...], everywhere: bool, limit: int, as_json: bool) -> None:
    """Find stored outputs of this project by their words, the best first.

    Ends with code 1 where none is found. Of each output the first 200 kB are searched.

    \b
    Example:
      brimline store search connection refused
      brimline store search '"exit code 137"' --everywhere
    """
    asked = " ".join(query)
    found = stored.find(
        paths.home(),
        asked,
        None if everywhere else os.getcwd(),
        lambda count: contents.Span(1, min(limit, count)),
        until=time.monotonic() + _SEARCH_S,
    )
    rows = [_hit(hit, words.terms(asked)) for hit in found.hits]
    document: dict[str, Any] = {"all_words": found.all_words, "found": found.total}
    document |= {"searched": len(found.states), "pending": found.pending, "outputs": rows}
    told = [
        "\n  ".join([f"{text.short(row['key'])}  {text.shown(row['title'])}", *row["lines"]])
        for row in rows
    ]
    text.answer(document, "\n".join(told), as_json=as_json)
    if found.pending:
        click.echo(f"brimline: {found.pending} outputs are not indexed yet: ask again", err=True)
    if not found.hits:
        outputs = text.count(len(found.states), "stored output")
        click.echo(f"brimline: none of {outputs} holds {text.shown(asked)}", err=True)
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
    full_key = contents.resolve(paths.home(), key)
    pins.pin(paths.home(), full_key, level, reason)
    told = "not pinned any more" if level == pins.NONE else f"pinned {level}"
    document = {"key": full_key, "level": level, "reason": reason}
    text.answer(document, f"{full_key} is {told}.", as_json=as_json)


@store.command()
@click.argument("key", metavar="KEY")
@as_json_option
@click.pass_context
def unpin(context: click.Context, key: str, as_json: bool) -> None:
    """Let a pinned blob be pruned again.

    \b
    Example:
      brimline store unpin 3f2a9c01
    """
    context.invoke(pin, key=key, level=pins.NONE, reason=None, as_json=as_json)


@store.command()
@click.option("--max-age-days", metavar="N", callback=text.amount, help="Days since last use.")
@click.option("--max-size-mb", metavar="N", callback=text.amount, help="Megabytes on disk.")
@click.option("--unreferenced", is_flag=True, help="All that nothing mentions and no pin holds.")
@click.option("--force", metavar="KEY", multiple=True, help="May go although something holds it.")
@_dry_run
@_yes
@as_json_option
def prune(
    max_age_days: float | None,
    max_size_mb: float | None,
    unreferenced: bool,
    force: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Remove blobs by age and size (without limits: those of the settings), and leftovers.

    By age goes what is not pinned. By size goes what is not pinned, last used longest ago first,
    then what is pinned soft. What transcripts mention or a hard pin holds stays, unless --force
    names it. If a file that may mention keys cannot be read, nothing is removed. With
    --unreferenced, what was used within the last hour stays.

    \b
    Example:
      brimline store prune --max-size-mb 200 --dry-run
      brimline store prune --max-age-days 14 --yes
      brimline store prune --unreferenced --dry-run
    """
    home_dir = paths.home()
    if max_age_days is None and max_size_mb is None and not unreferenced:
        values = config.load(home_dir, os.getcwd()).values
        max_size_mb, max_age_days = values["store.max_mb"], values["store.max_age_days"]
    limits = retention.Limits(
        None if max_age_days is None else max_age_days * retention.DAY_S,
        None if max_size_mb is None else int(max_size_mb * retention.MEGABYTE),
        retention.GRACE_S if unreferenced else 0.0,
        unreferenced,
    )
    forced = [layout.digest_of(contents.resolve(home_dir, key)) for key in force]
    if not dry_run:
        text.require_consent(yes=yes)
    if dry_run or not yes:
        done = _pruned(home_dir, limits, forced, dry_run=True)
        if not dry_run and done.keys:
            blobs, freed = text.count(len(done.keys), "blob"), text.size(done.freed_bytes)
            text.ask(f"Remove {blobs} ({freed})?", yes=yes)
    if not dry_run:
        done = _pruned(home_dir, limits, forced, dry_run=False)
    document = {name: getattr(done, name) for name in done.__slots__ if name != "finished"}
    document |= {"dry_run": dry_run, "removed": len(done.keys)}
    text.answer(document, _prune_text(done, dry_run=dry_run), as_json=as_json)


@store.command()
@click.argument("keys", metavar="[KEY]...", nargs=-1)
@click.option("--session", metavar="ID", help="All that only it stored, by its id's start.")
@_dry_run
@_yes
@as_json_option
def forget(
    keys: tuple[str, ...], session: str | None, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Delete content for good, pinned or not.

    References to it in transcripts then lead nowhere. What other sessions stored too stays with
    them when a session is forgotten.

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
        session = removal.session_id(home_dir, session)
        found = removal.of_session(home_dir, session)
    else:
        found = removal.Forgotten([contents.resolve(home_dir, key) for key in keys], [])
    told = text.count(len(found.keys), "blob")
    told += f" of session {text.shown(session)}" if session else ""
    if found.keys and not dry_run:
        held = sum(pins.read(home_dir, layout.digest_of(key)) is not None for key in found.keys)
        pinned = f"{held} of them pinned. " if held else ""
        text.ask(f"{pinned}Delete {told} for good?", yes=yes)
    if not dry_run:
        for key in found.keys:
            removal.forget_key(home_dir, key)
        if session is not None:
            removal.forget_session(home_dir, session)
        stored.forget(home_dir, found.keys + found.shared)
    told += " would go." if dry_run else " forgotten."
    told += f" {len(found.shared)} stay with other sessions." if found.shared else ""
    document = found._asdict() | {"session": session, "dry_run": dry_run}
    text.answer(document, told, as_json=as_json)


def _entry(home_dir: str, blob: contents.Blob, held: dict[str, pins.Pin]) -> dict[str, Any]:
    """A blob with what is known about it, under stable keys; unknown is null."""
    known, header = contents.meta(home_dir, blob.key), contents.header(home_dir, blob.digest)
    found = held.get(blob.digest, pins.Pin(pins.NONE))
    names = ("lines", "tool", "source", "exit", "session", "cwd", "created")
    document = {"key": blob.key, "bytes": header[1] if header else None}
    document |= {name: known.get(name) for name in names} | {"disk_bytes": blob.disk_bytes}
    used = text.moment(blob.used_ns)
    return document | {"used": used, "pin": found.level, "reason": found.reason}


def _list_text(document: dict[str, Any], *, reasons: bool) -> str:
    if not document["blobs"]:
        return "Nothing is stored."
    rows = [
        [
            text.short(row["key"]),
            "?" if row["bytes"] is None else text.size(row["bytes"]),
            f"{row['lines']:,}" if isinstance(row["lines"], int) else "?",
            text.minute(row["used"]),
            row["pin"].removeprefix(pins.NONE),
            text.shown(row["reason"] if reasons else f"{row['tool'] or ''} {row['source'] or ''}"),
        ]
        for row in document["outputs"]
    ]
    head = ["key", "size", "lines", "last used", "pin", "why" if reasons else "what"]
    table = text.table(head, rows, {1, 2}) + "\n" if rows else ""
    blobs, disk = text.count(document["blobs"], "blob"), text.size(document["disk_bytes"])
    held = ", ".join(f"{number} {level}" for level, number in document["pins"].items())
    return f"{table}{len(rows)} of {blobs}, {disk} on disk; pinned: {held}"


def _part(data: bytes, lines: str | None, span: str | None, find: str | None) -> bytes:
    if lines is not None and data:
        ends = _LINE.findall(data)
        asked = contents.span(lines, len(ends))
        return b"".join(ends[asked.first - 1 : asked.last])
    if span is not None:
        match = re.fullmatch(r"\s*(-?\d{1,12})?\s*:\s*(-?\d{1,12})?\s*", span)
        if match is None or not any(match.groups()):
            raise StoreError(f"{span!r} is no range of bytes: write A:B, A: or :B")
        part = data[slice(*(int(end) if end else None for end in match.groups()))]
        if data and not part:
            raise StoreError(f"{span!r} asks for no bytes: there are {len(data):,}")
        return part
    if find is not None:
        texts = [row.decode("utf-8", "replace") for row in contents.split(data)]
        wanted = words.terms(find)
        found = sorted(words.holding(texts, wanted))
        rows = [words.clipped(texts[at], wanted, _LINE_CHARACTERS) for at in found]
        return "".join(f"{at + 1}:{row}\n" for at, row in zip(found, rows, strict=True)).encode()
    return data


def _content(part: bytes) -> dict[str, str | None]:
    """Content as text where it is UTF-8, otherwise in base 64."""
    try:
        return {"text": part.decode("utf-8"), "base64": None}
    except UnicodeDecodeError:
        return {"text": None, "base64": base64.b64encode(part).decode("ascii")}


def _hit(hit: Any, wanted: list[str]) -> dict[str, Any]:
    """A found output with the lines that fit, numbered."""
    lines = hit.document.text.split("\n")
    found = words.holding(lines, wanted)[:_LINES_PER_HIT]
    parts = [f"{at + 1}: {words.clipped(lines[at], wanted, _HIT_CHARACTERS)}" for at in found]
    shown = [text.shown(part, 2 * _HIT_CHARACTERS) for part in parts or [hit.snippet]]
    document = {name: getattr(hit.document, name) for name in ("title", "project", "session", "at")}
    return {"key": layout.PREFIX + hit.document.ref, "lines": shown} | document


def _pruned(
    home_dir: str, limits: retention.Limits, forced: list[str], *, dry_run: bool
) -> retention.Outcome:
    """Prune with a progress bar for the search for references, which is what takes time."""
    files = retention.sources(home_dir, []) if os.isatty(2) else ()
    total = sum(os.path.getsize(path) for path in files if os.path.exists(path))
    with text.Progress(total, "Reading transcripts") as progress:
        how = retention.Pass(dry_run=dry_run, progress=progress.update)
        return retention.prune(home_dir, limits, how, forced=forced)


def _prune_text(done: retention.Outcome, *, dry_run: bool) -> str:
    verb = "would go" if dry_run else "removed"
    blobs, freed = text.count(len(done.keys), "blob"), text.size(done.freed_bytes)
    lines = [f"{blobs} {verb}, {freed} freed; {text.size(done.left_bytes)} left."]
    if done.shortfall_bytes:
        lines.append(f"The limit is still exceeded by {text.size(done.shortfall_bytes)}:")
        lines += [f"  {text.size(n)} {_HOLDS[why]}" for why, n in done.held_bytes.items()]
    if done.came_into_use:
        lines.append(f"{text.count(done.came_into_use, 'blob')} stayed: used meanwhile.")
    if done.swept:
        lines.append(f"{text.count(done.swept, 'leftover')} cleared away.")
    return "\n".join(lines)
