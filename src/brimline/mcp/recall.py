"""The tool `recall`: one stored output by its key, or those that a query finds."""

from __future__ import annotations

from typing import Any, NamedTuple

from brimline.mcp import hits, pages
from brimline.store import audit, grep, layout, read, scan, words
from brimline.store.errors import StoreError

_AROUND = " `'\"[]()"
_LONGEST_KEY = 80
_LONGEST_PATTERN = 1_000
_CONTEXT_LINES = 2
_ROW_CHARACTERS = 600
_TOLD_CHARACTERS = 80
_REMOVED = {
    "prune": "was pruned to keep the store within its limits",
    "gc": "was removed because nothing mentioned it any more",
    "forget": "was deleted on request",
}
_DAY_CHARACTERS = len("2026-01-08")
_NO_UTF8 = r"; bytes that are no UTF-8 are shown as \xNN"


class Asked(NamedTuple):
    """What a call asks for; empty is not asked for."""

    key: str = ""
    query: str = ""
    lines: str = ""
    pattern: str = ""


def answer(home_dir: str, project_dir: str, arguments: dict[str, Any]) -> str:
    """The text for the model.

    Raises:
        StoreError: the arguments are wrong, or what is asked for cannot be had.
    """
    asked = _asked(arguments)
    scan.check_format(home_dir)
    if asked.query:
        return hits.answer(home_dir, project_dir, asked.query, asked.lines, asked.pattern)
    key = _resolved(home_dir, asked.key.strip(_AROUND).rstrip(".…"))
    return _output(home_dir, key, asked)


def _asked(arguments: dict[str, Any]) -> Asked:
    unknown = [name for name in arguments if name not in Asked._fields]
    if unknown:
        raise StoreError(f"recall takes {', '.join(Asked._fields)}, not {str(unknown[0])[:40]!r}")
    given = {}
    for name, value in arguments.items():
        if name == "lines" and isinstance(value, int) and not isinstance(value, bool):
            value = str(value)  # noqa: PLW2901 - a single line, as a number
        if value is not None and not isinstance(value, str):
            raise StoreError(f"{name} must be a text")
        given[name] = value if value and value.strip() else ""
    asked = Asked(**given)
    if bool(asked.key) == bool(asked.query):
        raise StoreError("give either key, of one stored output, or query, to find some")
    if len(asked.pattern) > _LONGEST_PATTERN:
        raise StoreError(f"the pattern is too long: give at most {_LONGEST_PATTERN:,} characters")
    return asked


def _resolved(home_dir: str, text: str) -> str:
    if text == read.LAST or len(text) > _LONGEST_KEY:
        raise StoreError(f"{text[:_LONGEST_KEY]!r} is no key: give sha256: and its digits")
    try:
        return read.resolve(home_dir, text)
    except StoreError as error:
        raise StoreError(_removal(home_dir, text) or str(error)) from None


def _removal(home_dir: str, text: str) -> str | None:
    """What became of a key that is in the audit trail but not in the store."""
    start = text.lower().removeprefix(layout.PREFIX)
    if not layout.is_hex(start) or len(start) < read.SHORTEST_PREFIX:
        return None
    told = [
        line
        for line in audit.lines(home_dir)
        if str(line.get("key")).startswith(layout.PREFIX + start)
    ]
    how = _REMOVED.get(told[-1].get("event", "")) if told else None
    if how is None or scan.matching(home_dir, start):
        return None
    day = hits.moment(told[-1].get("at"))[:_DAY_CHARACTERS]
    when = f" on {day}" if day else ""
    return (
        f"{hits.short(layout.PREFIX + start)} {how}{when}: its content is gone, "
        "run the command or read the file again if you need it"
    )


def _output(home_dir: str, key: str, asked: Asked) -> str:
    data = read.get(home_dir, key)
    name = hits.named(key, read.meta(home_dir, key))
    if words.is_binary(data):
        return (
            f"[brimline recall {name}: binary, {len(data):,} bytes, not shown; "
            f"`brimline store get {hits.short(key)} > FILE` saves it]"
        )
    lines = grep.split(data)
    if not lines:
        return f"[brimline recall {name}: empty]"
    span = pages.span(asked.lines, len(lines)) if asked.lines else pages.Span(1, len(lines))
    if asked.pattern:
        return _matching(name, lines, span, asked.pattern)
    page = pages.fill(lines, span)
    note = "" if _is_utf8(data) else _NO_UTF8
    return f"[brimline recall {name}: {_extent(page, span, len(lines))}{note}]\n{page.text}"


def _extent(page: pages.Page, span: pages.Span, count: int) -> str:
    """Which lines are shown of how many, and how to ask for the next."""
    following = f'; next: lines="{page.rest}"' if page.rest else ""
    if page.part:
        first, last, length = page.part
        return (
            f"line {span.first:,} of {count:,}, "
            f"characters {first:,}-{last:,} of {length:,}{following}"
        )
    if (span.first, page.last, span.skipped) == (1, count, 0):
        return f"all {count:,} lines" if count > 1 else "its only line"
    return f"lines {span.first:,}-{page.last:,} of {count:,}{following}"


def _matching(name: str, lines: list[bytes], span: pages.Span, pattern: str) -> str:
    part = b"\n".join(lines[span.first - 1 : span.last])
    groups = grep.grep(part + b"\n", pattern, context=_CONTEXT_LINES)
    count = sum(row.matches for group in groups for row in group)
    shown, rest = _rows(groups, span, pattern)
    total = len(lines)
    whole = span.last - span.first + 1 == total
    of = f"{total:,} lines" if whole else f"lines {span.first:,}-{span.last:,} (of {total:,})"
    told = f"{count:,} of {of} match {pages.one_line(pattern, _TOLD_CHARACTERS)!r}"
    following = ""
    if rest:
        following = f'; shown as far as line {rest - 1:,}; next: lines="{rest}:{span.last}"'
    return "\n".join([f"[brimline recall {name}: {told}{following}]", *shown])


def _rows(groups: list[list[grep.Row]], span: pages.Span, pattern: str) -> tuple[list[str], int]:
    """As many rows as fit, and the line to go on from, or 0."""
    room = pages.ROOM
    shown: list[str] = []
    for group in groups:
        if shown:
            shown.append("--")
        for row in group:
            number = row.number + span.first - 1
            sign = ":" if row.matches else "-"
            text = f"{number}{sign} {hits.clipped(row.text, pattern, _ROW_CHARACTERS)}"
            room -= pages.width(text) + 4
            if room < 0:
                return shown, number
            shown.append(text)
    return shown, 0


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
