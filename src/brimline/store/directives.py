"""Pin directives that a user writes into a message, and the results they mean.

    ccm:pin last level=soft reason="why"     the nearest large result before
    ccm:pin next level=hard                  the next large result after
    ccm:pin start … ccm:pin end              every large result in between

`brim:pin` is the same. Case does not matter, the level is soft unless given, a reason is optional.
The slash commands `/brim:pin-last` and its sisters are understood as the user typed them and as the
client records them; there the level may stand alone, and the rest is the reason.
Only what users wrote may be passed in: a model that quotes these lines pins nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from brimline.store.pins import LEVELS, SOFT, rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LAST, NEXT, START, END = "last", "next", "start", "end"
_DIRECTIVE = re.compile(
    r"(?<![\w/:-])(?:ccm|brim):pin[ \t]+(last|next|start|end)\b"
    r"((?:[ \t]+(?:level=\w+|reason=(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s\"']+)))*)",
    re.IGNORECASE | re.DOTALL,
)
_SLASH = re.compile(
    r"\s*(?:/brim:pin-(last|next|start|end)(?=\s|$)(.*)"
    r"|(?:<command-message>[^<]*</command-message>\s*)?"
    r"<command-name>/brim:pin-(last|next|start|end)</command-name>\s*"
    r"(?:<command-args>(.*)</command-args>\s*)?)",
    re.IGNORECASE | re.DOTALL,
)
_LEVEL = re.compile(r"\blevel=(\w+)", re.IGNORECASE)
_REASON = re.compile(
    r"\breason=(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s\"']+))", re.IGNORECASE | re.DOTALL
)


class Directive(NamedTuple):
    """One directive."""

    kind: str
    level: str = SOFT
    reason: str | None = None


class Said(NamedTuple):
    """A text that the user wrote."""

    text: str


class Result(NamedTuple):
    """A large result, by whatever the caller knows it by: a key, a tool call's id, a position."""

    name: str


class Wanted(NamedTuple):
    """A pin that the user asked for."""

    level: str
    reason: str | None


def parse(text: str, default_level: str = SOFT) -> list[Directive]:
    """The directives in a text of the user, in order."""
    slash = _SLASH.fullmatch(text)
    if slash:
        kind, arguments = (slash[1], slash[2]) if slash[1] else (slash[3], slash[4] or "")
        return [from_arguments(kind.lower(), arguments, default_level)]
    return [
        _from_options(match[1].lower(), match[2], default_level)
        for match in _DIRECTIVE.finditer(text)
    ]


def resolve(conversation: Iterable[Said | Result], default_level: str = SOFT) -> dict[str, Wanted]:
    """The pins that a conversation asks for, by the name of the result.

    Of several for one result the strongest counts, of equals the last. A `last` without a result
    before it, a `next` without one after it, a `start` without an `end` and an `end` without a
    `start` pin nothing.

    Args:
        conversation: what the user wrote and the large results, in their order.
        default_level: the level of a directive that names none.
    """
    results: list[str] = []
    waiting: list[Directive] = []
    open_ranges: list[tuple[Directive, int]] = []
    wanted: dict[str, Wanted] = {}
    for item in conversation:
        if isinstance(item, Result):
            results.append(item.name)
            for directive in waiting:
                _want(wanted, [item.name], directive)
            waiting = []
            continue
        for directive in parse(item.text, default_level):
            if directive.kind == LAST:
                _want(wanted, results[-1:], directive)
            elif directive.kind == NEXT:
                waiting.append(directive)
            elif directive.kind == START:
                open_ranges.append((directive, len(results)))
            elif open_ranges:
                start, first = open_ranges.pop()
                _want(wanted, results[first:], start)
    return wanted


def from_arguments(kind: str, arguments: str, default_level: str) -> Directive:
    """What a slash command was given: options as in a directive, or a level and free words."""
    directive = _from_options(kind, arguments, "")
    rest = _LEVEL.sub("", _REASON.sub("", arguments)).strip()
    first = rest.split(maxsplit=1)[0] if rest else ""
    level = directive.level
    if not level and first.lower() in LEVELS:
        level, rest = first.lower(), rest.removeprefix(first).strip()
    words = rest.strip("\"'").strip() or None
    return Directive(kind, level or default_level, directive.reason or words)


def _from_options(kind: str, options: str, default_level: str) -> Directive:
    reason = _REASON.search(options)
    level = _LEVEL.search(_REASON.sub("", options))
    named = level[1].lower() if level else default_level
    return Directive(
        kind,
        named if named in LEVELS else default_level,
        _unescaped(reason) if reason else None,
    )


def _want(wanted: dict[str, Wanted], names: Sequence[str], directive: Directive) -> None:
    for name in names:
        before = wanted.get(name)
        if before is None or rank(directive.level) >= rank(before.level):
            wanted[name] = Wanted(directive.level, directive.reason)


def _unescaped(match: re.Match[str]) -> str:
    if match[1] is not None:
        return re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL)
    return match[2] if match[2] is not None else match[3]
