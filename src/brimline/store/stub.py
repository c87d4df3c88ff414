"""The short text that stands in for stored content: built, and found again in any text.

Fast path: imports only `brimline.fastjson` and `brimline.store.layout`; finding loads `re`.

Ours is one line. The `[CCM_CACHED]` block of another tool is written on request and always read, in
each of the forms it had: with and without `path`, `source`, `~tokens` and `exit`.
"""

from __future__ import annotations

from brimline import fastjson
from brimline.store import layout
from brimline.store.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OURS, CCM = "brimline", "ccm"
_LEVELS = ("none", "soft", "hard")
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_OURS_PATTERN = (
    r"\[brimline stored (?:(?P<bytes>\d+) bytes|content)"
    r"(?:, (?P<lines>\d+) lines)?(?:, exit (?P<exit>-?\d+))?(?:, ~(?P<tokens>\d+) tokens)?"
    rf"(?:, pinned (?P<pinned>soft|hard))?(?:, tool (?P<tool>{_QUOTED}))?"
    rf"(?:, from (?P<source>{_QUOTED}))?(?:, in (?P<path>{_QUOTED}))?"
    r": (?P<key>sha256:[0-9a-f]{64})\]"
)
_CCM_PATTERN = r"\[CCM_CACHED\]\n(?P<body>.*?)\n\[/CCM_CACHED\]"
_MOST_DIGITS = 18


class Stub:
    """What a stub tells about stored content; unknown is None."""

    __slots__ = (
        "content_bytes",
        "exit_code",
        "key",
        "lines",
        "path",
        "pinned",
        "source",
        "tokens",
        "tool",
    )

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
        path: str | None = None,
        pinned: str = "none",
    ) -> None:
        self.key = key
        self.content_bytes = content_bytes
        self.lines = lines
        self.exit_code = exit_code
        self.tokens = tokens
        self.tool = tool
        self.source = source
        self.path = path
        self.pinned = pinned

    def __eq__(self, other: object) -> bool:
        """Two stubs are equal if they tell the same."""
        return isinstance(other, Stub) and self._values() == other._values()

    def __hash__(self) -> int:
        """Equal stubs are one in a set."""
        return hash(tuple(self._values()))

    def __repr__(self) -> str:
        """All that it tells."""
        return f"Stub({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"

    def _values(self) -> list[Any]:
        return [getattr(self, name) for name in self.__slots__]


def of_meta(meta: dict[str, Any], *, pinned: str = "none", tokens: int | None = None) -> Stub:
    """The stub for content with this sidecar."""
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


def build(stub: Stub, style: str = OURS) -> str:
    """The text for a stub."""
    return _build_ccm(stub) if style == CCM else _build_ours(stub)


def parse(text: str) -> Stub | None:
    """The first stub in a text, in either form; None without one."""
    import re

    found = []
    for pattern, read in ((_OURS_PATTERN, _read_ours), (_CCM_PATTERN, _read_ccm)):
        for match in re.finditer(pattern, text, re.DOTALL):
            stub = read(match)
            if stub is not None:
                found.append((match.start(), stub))
                break
    return min(found, key=lambda pair: pair[0])[1] if found else None


def hint(key: str) -> str:
    """How to get at the content, for the last line of a replacement."""
    return (
        f"All of it: `brimline store get {key}` (parts: --lines A:B); "
        f"search it: `brimline store grep {key} PATTERN`."
    )


def _build_ours(stub: Stub) -> str:
    parts = ["content" if stub.content_bytes is None else f"{stub.content_bytes} bytes"]
    if stub.lines is not None:
        parts.append(f"{stub.lines} lines")
    if stub.exit_code is not None:
        parts.append(f"exit {stub.exit_code}")
    if stub.tokens is not None:
        parts.append(f"~{stub.tokens} tokens")
    if stub.pinned != "none":
        parts.append(f"pinned {stub.pinned}")
    named = (("tool", stub.tool), ("from", stub.source), ("in", stub.path))
    parts += [f"{name} {_quote(value)}" for name, value in named if value is not None]
    return f"[brimline stored {', '.join(parts)}: {stub.key}]"


def _build_ccm(stub: Stub) -> str:
    fields = {
        "key": stub.key,
        "path": _plain(stub.path),
        "tool": _plain(stub.tool),
        "source": _plain(stub.source),
        "bytes": stub.content_bytes,
        "~tokens": stub.tokens,
        "lines": stub.lines,
        "exit": stub.exit_code,
        "pinned": stub.pinned,
    }
    body = [f"{name}: {value}" for name, value in fields.items() if value is not None]
    return "\n".join(["[CCM_CACHED]", *body, "[/CCM_CACHED]"])


def _read_ours(match: Any) -> Stub | None:
    try:
        texts = {
            name: fastjson.loads(match[name]) if match[name] is not None else None
            for name in ("tool", "source", "path")
        }
    except ValueError:
        return None
    return Stub(
        match["key"],
        _number(match["bytes"]),
        _number(match["lines"]),
        exit_code=_number(match["exit"]),
        tokens=_number(match["tokens"]),
        pinned=match["pinned"] or "none",
        **texts,
    )


def _read_ccm(match: Any) -> Stub | None:
    fields = {}
    for line in match["body"].split("\n"):
        name, colon, value = line.partition(":")
        if colon:
            fields[name.strip()] = value.strip()
    try:
        layout.digest_of(fields.get("key", ""))
    except StoreError:
        return None
    pinned = fields.get("pinned", "none")
    return Stub(
        fields["key"],
        _number(fields.get("bytes")),
        _number(fields.get("lines")),
        exit_code=_number(fields.get("exit")),
        tokens=_number(fields.get("~tokens")),
        tool=_unplain(fields.get("tool")),
        source=_unplain(fields.get("source")),
        path=_unplain(fields.get("path")),
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


def _plain(text: str | None) -> str | None:
    """A value as it is where it stays itself on a line, and quoted otherwise."""
    if text is None:
        return None
    stays = text.isprintable() and text == text.strip() and text and not text.startswith('"')
    return text if stays else _quote(text)


def _unplain(text: str | None) -> str | None:
    if text is None or not text.startswith('"'):
        return text
    try:
        found: str = fastjson.loads(text)
    except ValueError:
        return text
    # Another tool's value may merely begin with a quoted word.
    return found if _quote(found) == text else text
