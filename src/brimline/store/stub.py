"""The reference that stands in for stored content: built, and found again in any text.

Fast path: imports only `brimline.fast.json` and `brimline.store.layout`; finding loads `re`.

There is one form, a line with key, bytes, lines, exit code and pin; `way_back` says how to get the
rest. `[CCM_CACHED]` blocks, which earlier versions and another tool wrote, are only read, in each
of the forms they had: with and without `path`, `source`, `~tokens` and `exit`.
"""

from __future__ import annotations

from brimline.fast import json
from brimline.store import layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# How a reference begins, in every form that was ever written.
BEGINNINGS = ("[brimline stored ", "[CCM_CACHED]", "Cached (")
_LEVELS = ("none", "soft", "hard")
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PATTERN = (
    r"\[brimline stored (?:(?P<bytes>\d+) bytes|content)"
    r"(?:, (?P<lines>\d+) lines)?(?:, exit (?P<exit>-?\d+))?(?:, ~(?P<tokens>\d+) tokens)?"
    rf"(?:, pinned (?P<pinned>soft|hard))?(?:, tool (?P<tool>{_QUOTED}))?"
    rf"(?:, from (?P<source>{_QUOTED}))?(?:, in {_QUOTED})?"
    r": (?P<key>sha256:[0-9a-f]{64})\]"
    r"|\[CCM_CACHED\]\n(?P<body>.*?)\n\[/CCM_CACHED\]"
)
_MOST_DIGITS = 18


class Stub:
    """What a reference tells about stored content; unknown is None."""

    __slots__ = ("content_bytes", "exit_code", "key", "lines", "pinned", "source", "tokens", "tool")

    def __init__(  # noqa: PLR0913 - a record without the cost of `dataclasses`
        self,
        key: str,
        content_bytes: int | None,
        lines: int | None = None,
        *,
        exit_code: int | None = None,
        tokens: int | None = None,
        tool: str | None = None,
        source: str | None = None,
        pinned: str = "none",
    ) -> None:
        self.key = key
        self.content_bytes = content_bytes
        self.lines = lines
        self.exit_code = exit_code
        self.tokens = tokens
        self.tool = tool
        self.source = source
        self.pinned = pinned

    def __eq__(self, other: object) -> bool:
        """Two references are equal if they tell the same."""
        return isinstance(other, Stub) and repr(self) == repr(other)

    def __hash__(self) -> int:
        """Equal references are one in a set."""
        return hash(self.key)

    def __repr__(self) -> str:
        """All that it tells."""
        return f"Stub({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"


def of_meta(meta: dict[str, Any], *, pinned: str = "none", tokens: int | None = None) -> Stub:
    """The reference to content with this sidecar."""
    return Stub(
        meta["key"],
        meta["bytes"],
        meta.get("lines"),
        exit_code=meta.get("exit"),
        tokens=tokens,
        tool=meta.get("tool"),
        source=meta.get("source"),
        pinned=pinned,
    )


def build(stub: Stub) -> str:
    """The text of a reference."""
    parts = ["content" if stub.content_bytes is None else f"{stub.content_bytes} bytes"]
    if stub.lines is not None:
        parts.append(f"{stub.lines} lines")
    if stub.exit_code is not None:
        parts.append(f"exit {stub.exit_code}")
    if stub.tokens is not None:
        parts.append(f"~{stub.tokens} tokens")
    if stub.pinned != "none":
        parts.append(f"pinned {stub.pinned}")
    named = (("tool", stub.tool), ("from", stub.source))
    parts += [f"{name} {_quote(value)}" for name, value in named if value is not None]
    return f"[brimline stored {', '.join(parts)}: {stub.key}]"


def way_back(key: str, program: str = "brimline", again: str = "") -> str:
    """How to get the rest, for the last line of what stands in for content.

    Args:
        key: of the content.
        program: how the model starts our command.
        again: another way, such as `, or Read it again`.
    """
    return f"The rest: {program} store get {layout.short(key)} --lines A:B{again}."


def parse(text: str) -> Stub | None:
    """The first reference in a text, in any form; None without one."""
    import re

    for match in re.finditer(_PATTERN, text, re.DOTALL):
        told: dict[str, Any] = match.groupdict()
        if told["body"] is not None:
            parts = [line.partition(":") for line in told["body"].split("\n")]
            told = {name.strip(" ~"): value.strip() for name, colon, value in parts if colon}
        if layout.is_digest(told.get("key", "").removeprefix(layout.PREFIX)):
            return _read(told)
    return None


def _read(told: dict[str, Any]) -> Stub:
    pinned = told.get("pinned")
    return Stub(
        told["key"],
        _number(told.get("bytes")),
        _number(told.get("lines")),
        exit_code=_number(told.get("exit")),
        tokens=_number(told.get("tokens")),
        tool=_unquoted(told.get("tool")),
        source=_unquoted(told.get("source")),
        pinned=pinned if pinned in _LEVELS else "none",
    )


def _number(text: str | None) -> int | None:
    """A count; `11k` is how the other tool writes thousands."""
    if text is None:
        return None
    digits, factor = (text[:-1], 1_000) if text.endswith("k") else (text, 1)
    plain = digits.removeprefix("-")
    if not plain.isascii() or not plain.isdigit() or len(plain) > _MOST_DIGITS:
        return None
    return int(digits) * factor


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r") + '"'


def _unquoted(text: str | None) -> str | None:
    """A value; blocks quote only what is more than one plain line."""
    if text is None or not text.startswith('"'):
        return text
    try:
        found: str = json.loads(text)
    except ValueError:
        return text
    # Another tool's value may merely begin with a quoted word.
    return found if _quote(found) == text else text
