"""The reference that stands in for stored content: built, and found again in any text. Pure.

There is one form, a line with key, bytes, lines, exit code and pin, and `how_to_get_the_rest_text`
for its end. `[CCM_CACHED]` blocks, which earlier versions and another tool wrote, are only read, in
each of the forms they had: with and without `path`, `source`, `~tokens` and `exit`.
"""

from __future__ import annotations

import re

from brimline.bulk import layout
from brimline.fast.io import NamedTuple
from brimline.foreign import flatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# How a reference begins, in every form that was ever written.
BEGINNINGS = ("[brimline stored ", "[CCM_CACHED]", "Cached (")
# How a line begins that stands in for a result.
LINE = "[brimline: "
_SUBJECT_CHARACTERS = 80
# What follows is a part of the original, and names that stand in it.
_SAYING, NAMES = "; parts of it:]\n", "names: "
_LINE = (
    r"\[brimline: .{1,200}: ([\d,]{1,20}) bytes, recall (sha256:[0-9a-f]{12})"
    rf"(?:[^\]]*\]|{re.escape(_SAYING)}(?s:.*))"
)
_QUOTED = r'"(?:[^"\\]|\\.)*"'
# Compiled when it is first asked for.
_REFERENCE = (
    r"\[brimline stored (?:(?P<bytes>\d+) bytes|content)"
    r"(?:, (?P<lines>\d+) lines)?(?:, exit (?P<exit>-?\d+))?(?:, ~\d+ tokens)?"
    rf"(?:, pinned (?P<pinned>soft|hard))?(?:, tool (?P<tool>{_QUOTED}))?"
    rf"(?:, from (?P<source>{_QUOTED}))?(?:, in {_QUOTED})?"
    r": (?P<key>sha256:[0-9a-f]{64})\]"
    r"|\[CCM_CACHED\]\n(?P<body>(?:(?!\[CCM_CACHED\]).)*?)\n\[/CCM_CACHED\]"
)
_COUNT = re.compile(r"-?\d{1,18}", re.ASCII)


class Stub(NamedTuple):
    """What a reference tells about stored content; unknown is None."""

    key: str
    content_bytes: int | None
    lines: int | None = None
    exit_code: int | None = None
    tool: str | None = None
    source: str | None = None
    pinned: str = "none"


def build_reference_head(stub: Stub) -> str:
    """The text of a reference."""
    import json

    parts = ["content" if stub.content_bytes is None else f"{stub.content_bytes} bytes"]
    if stub.lines is not None:
        parts.append(f"{stub.lines} lines")
    if stub.exit_code is not None:
        parts.append(f"exit {stub.exit_code}")
    if stub.pinned != "none":
        parts.append(f"pinned {stub.pinned}")
    for name, value in (("tool", stub.tool), ("from", stub.source)):
        if value is not None:
            parts.append(f"{name} {json.dumps(flatten(value), ensure_ascii=False)}")
    return f"[brimline stored {', '.join(parts)}: {stub.key}]"


def build_line(tool: str, subject: str, content_bytes: int, key: str, note: str = "") -> str:
    """The line that stands in for a result: what it was, how large, and its key.

    Args:
        tool: whose result it was.
        subject: what the call was about, a file or a command; only a part of a long one is shown.
        content_bytes: of the result.
        key: under which it is stored.
        note: what else has to be said.
    """
    # A path tells most at its end, a command at its beginning.
    # The key at the end is the only one: what a command or a name says of keys is not one.
    subject = subject.replace("sha256:", "sha256 ")
    about = flatten(subject, _SUBJECT_CHARACTERS, keep_end=tool == "Read")
    called = f"{flatten(tool, _SUBJECT_CHARACTERS)} {about}".strip()
    return f"{LINE}{called}: {content_bytes:,} bytes, recall {layout.shorten_key(key)}{note}]"


def line_that_says(line: str, said: str) -> str:
    """A line with parts of its original."""
    return f"{line[:-1]}{_SAYING}{said}"


def bytes_and_key_of_line(text: str) -> tuple[int, str] | None:
    """Return how many bytes a line stands for, and its short key; None where the text is none."""
    told = re.fullmatch(_LINE, text)
    return (int(told[1].replace(",", "")), told[2]) if told else None


def how_to_get_the_rest_text(key: str, program: str = "", *also: str) -> str:
    """Return how to get the rest, for the last line of what stands in for content.

    Args:
        key: of the content.
        program: how the model starts our command, where it may need that besides the tool.
        also: sentences that name other ways.
    """
    command = f", or run `{program} store get {key[: layout.SHORT_CHARACTERS]} --lines A:B`"
    return " ".join(
        (f"For the rest call `recall` with this key{command if program else ''}.", *also)
    )


def first_reference_in(text: str) -> Stub | None:
    """The first reference in a text, in any form; None without one."""
    for match in re.finditer(_REFERENCE, text, re.DOTALL):
        told: dict[str, Any] = match.groupdict()
        if told["body"] is not None:
            parts = [line.partition(":") for line in told["body"].split("\n")]
            told = {name.strip(" ~"): value.strip() for name, colon, value in parts if colon}
        digest = told.get("key", "").removeprefix(layout.PREFIX)
        if layout.is_digest(digest):
            told_numbers = [told.get(name) for name in ("bytes", "lines", "exit")]
            size, lines, exit_code = map(_count_or_none, told_numbers)
            tool, source = _unquote_value(told.get("tool")), _unquote_value(told.get("source"))
            pinned = told["pinned"] if told.get("pinned") in ("soft", "hard") else "none"
            key = layout.PREFIX + digest
            return Stub(key, size, lines, exit_code, tool, source, pinned)
    return None


def _count_or_none(text: str | None) -> int | None:
    return int(text) if text and _COUNT.fullmatch(text) else None


def _unquote_value(text: str | None) -> str | None:
    """A value; blocks quote only what is more than one plain line."""
    if text is None or not text.startswith('"'):
        return text
    import json

    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text  # another tool's value may merely begin with a quoted word
