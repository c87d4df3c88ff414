"""Pins: the promise not to prune a blob, and the directives by which a user asks for it.

A pin is a file of its own beside the sidecar. It is replaced whole, so parallel changes leave one
of them, never a mixture. One that cannot be read counts as hard: in doubt a blob stays.

    ccm:pin last level=soft reason="why"     the nearest large result before
    ccm:pin next level=hard                  the next large result after
    ccm:pin start … ccm:pin end              every large result in between

`brim:pin` is the same. Case does not matter, the level is soft unless given, a reason is optional.
Only what users wrote may be passed in: a model that quotes these lines pins nothing.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from brimline.bulk import contents, layout
from brimline.errors import StoreError
from brimline.fast import io, json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FORMAT = 1
NONE, SOFT, HARD = "none", "soft", "hard"
LEVELS = (NONE, SOFT, HARD)
LAST, NEXT, START, END = "last", "next", "start", "end"
_DIRECTIVE = re.compile(
    r"(?<![\w/:-])(?:ccm|brim):pin[ \t]+(last|next|start|end)\b"
    r"((?:[ \t]+(?:level=\w+|reason=(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s\"']+)))*)",
    re.IGNORECASE | re.DOTALL,
)
_LEVEL = re.compile(r"\blevel=(\w+)", re.IGNORECASE)
_REASON = re.compile(
    r"\breason=(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s\"']+))", re.IGNORECASE | re.DOTALL
)


class Pin(NamedTuple):
    """How firmly a blob is held, why, and since when (seconds since 1970)."""

    level: str
    reason: str | None = None
    at: float | None = None


class Directive(NamedTuple):
    """One directive."""

    kind: str
    level: str = SOFT
    reason: str | None = None


class Result(NamedTuple):
    """A large result, by whatever the caller knows it by: a key, a tool call's id, a position."""

    name: str


class Resolved(NamedTuple):
    """What a conversation asks for, by the name of the result."""

    wanted: dict[str, Directive]
    gathered: dict[str, Directive]
    """What ranges without an end hold so far."""
    waits: bool
    """Whether a range has no end yet, or a directive no result."""


def level_rank(level: str) -> int:
    """Levels in order: a higher one holds more firmly."""
    return LEVELS.index(level)


def pin(home_dir: str, key: str, level: str = SOFT, reason: str | None = None) -> None:
    """Pin a blob, or with level `none` let it go.

    Raises:
        StoreError: there is no such blob, or no such level.
        OSError: the pin cannot be written.
    """
    if level not in LEVELS:
        raise StoreError(f"{level!r} is not a pin level: use none, soft or hard")
    digest = layout.digest_of_key(key)
    path = layout.stored_path(home_dir, digest, "pin")
    at = layout.store_now_ns(home_dir) // 1_000_000 / 1_000
    if level == NONE:
        io.remove(path)
    else:
        document = {"v": FORMAT, "level": level, "reason": reason, "at": at}
        layout.write_atomically(home_dir, path, json.dumps(document).encode(), sync=True)
    # Looked for after the pin is there: a prune that began before sees the pin, or has won.
    if not os.path.lexists(layout.stored_path(home_dir, digest)):
        io.remove(path)
        raise StoreError(f"{key} is not in the store: it was pruned, forgotten or never stored")
    layout.note_store_event(home_dir, "pin", key, level=level)


def read_pin(home_dir: str, digest: str) -> Pin | None:
    """The pin of a blob, if any."""
    try:
        raw = layout.read_store_file(layout.stored_path(home_dir, digest, "pin"))
    except FileNotFoundError:
        return None
    except OSError as error:
        return Pin(HARD, f"the pin cannot be read: {error.strerror or error}")
    try:
        stored = json.parse_object(raw)
        level, reason, at = stored["level"], stored["reason"], stored["at"]
    except (ValueError, KeyError):
        level = ""
    if level not in LEVELS:
        return Pin(HARD, "the pin is damaged")
    return Pin(level, reason if isinstance(reason, str) else None, at)


def pin_level_of(home_dir: str, digest: str) -> str:
    """The pin level of a blob."""
    found = read_pin(home_dir, digest)
    return found.level if found else NONE


def all_pins(home_dir: str) -> dict[str, Pin]:
    """Every pin, by the digest of its blob, whether the blob is there or not.

    Raises:
        StoreError: a folder cannot be read.
    """
    pins = {}
    for digest, kind in contents.digest_kind_pairs_in_meta(home_dir):
        if kind == "pin" and (found := read_pin(home_dir, digest)):
            pins[digest] = found
    return pins


def directives_in_text(text: str) -> list[Directive]:
    """The directives in a text of the user, in order."""
    found = _DIRECTIVE.finditer(text)
    directives = [_directive_from_options(match[1].lower(), match[2]) for match in found]
    return [each._replace(level=each.level or SOFT) for each in directives]


def match_directives_to_results(conversation: Iterable[Directive | Result]) -> Resolved:
    """The pins that a conversation asks for: the user's directives and large results, in order.

    Of several for one result the strongest counts, of equals the last. A `last` without a result
    before it, a `next` without one after it, a `start` without an `end` and an `end` without a
    `start` pin nothing.
    """
    results: list[str] = []
    waiting: list[Directive] = []
    open_ranges: list[tuple[Directive, int]] = []
    found = Resolved({}, {}, waits=False)
    for item in conversation:
        if isinstance(item, Result):
            results.append(item.name)
            for directive in waiting:
                _put_stronger_directive(found.wanted, [item.name], directive)
            waiting = []
        elif item.kind == LAST:
            _put_stronger_directive(found.wanted, results[-1:], item)
        elif item.kind == NEXT:
            waiting.append(item)
        elif item.kind == START:
            open_ranges.append((item, len(results)))
        elif open_ranges:
            start, first = open_ranges.pop()
            _put_stronger_directive(found.wanted, results[first:], start)
    for start, first in open_ranges:
        _put_stronger_directive(found.gathered, results[first:], start)
    return found._replace(waits=bool(waiting or open_ranges))


def directive_from_slash_text(kind: str, arguments: str) -> Directive:
    """What a slash command was given: options as in a directive, or a level and free words."""
    directive = _directive_from_options(kind, arguments)
    rest = _LEVEL.sub("", _REASON.sub("", arguments)).strip()
    first = rest.split(maxsplit=1)[0] if rest else ""
    level = directive.level
    if not level and first.lower() in LEVELS:
        level, rest = first.lower(), rest.removeprefix(first).strip()
    words = rest.strip("\"'").strip() or None
    return Directive(kind, level or SOFT, directive.reason or words)


def _directive_from_options(kind: str, options: str) -> Directive:
    """Return what the options of a directive say; the level is empty where they name none."""
    reason = _REASON.search(options)
    level = _LEVEL.search(_REASON.sub("", options))
    named = level[1].lower() if level else ""
    return Directive(
        kind, named if named in LEVELS else "", _unescaped_reason(reason) if reason else None
    )


def _put_stronger_directive(
    wanted: dict[str, Directive], names: Sequence[str], directive: Directive
) -> None:
    for name in names:
        before = wanted.get(name)
        if before is None or level_rank(directive.level) >= level_rank(before.level):
            wanted[name] = directive


def _unescaped_reason(match: re.Match[str]) -> str:
    if match[1] is not None:
        return re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL)
    return match[2] if match[2] is not None else match[3]
