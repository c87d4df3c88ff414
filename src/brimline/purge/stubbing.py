"""The text that takes the place of a tool result in a recorded session. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from brimline.purge.plan_survey import TRUNCATED
from brimline.store import layout, stub

if TYPE_CHECKING:
    from brimline.purge.plan_items import ResultText

OLD, SUPERSEDED, DUPLICATE = "old", "superseded", "duplicates"
KEPT_BYTES = 500
_REASONS = {
    OLD: "Taken out of the conversation to make room.",
    SUPERSEDED: "The file was read or changed again later.",
    DUPLICATE: "The same output came again later.",
}
_SOURCE_CHARACTERS = 60
# Enough of a key to find one blob among more than any store holds.
_SHORT_DIGITS = 12
_EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,3})\b")


def reference(text: ResultText, reason: str) -> str:
    """What the model reads instead of a result: what it was, why it is gone, how to get it."""
    return f"{stub.build(_stub(text))}\n{_REASONS[reason]} {_way_back(text)}"


def truncated(text: ResultText) -> str:
    """The beginning of a result, and how long it was."""
    return f"{text.head}{TRUNCATED}{text.size_bytes} bytes]"


def key_of(text: ResultText) -> str:
    """The key of a result in the store."""
    return layout.PREFIX + text.digest


def source_of(text: ResultText) -> str | None:
    """What the result came from, short enough for a reference."""
    if text.call is None or not text.call.source:
        return None
    source = " ".join(_encodable(text.call.source).split())
    if len(source) <= _SOURCE_CHARACTERS:
        return source or None
    # A path tells most at its end, a command at its beginning.
    room = _SOURCE_CHARACTERS - 1
    return "…" + source[-room:] if text.call.file else source[:room] + "…"


def exit_code_of(text: ResultText) -> int | None:
    """The code that a failed command ended with."""
    found = _EXIT.match(text.head) if text.is_error else None
    return int(found[1]) if found else None


def _stub(text: ResultText) -> stub.Stub:
    return stub.Stub(
        key_of(text),
        text.size_bytes,
        text.lines,
        exit_code=exit_code_of(text),
        tool=_encodable(text.call.name) if text.call else None,
        source=source_of(text),
    )


def _way_back(text: ResultText) -> str:
    again = ", or Read it again" if text.call and text.call.name == "Read" else ""
    key = key_of(text)[: len(layout.PREFIX) + _SHORT_DIGITS]
    return f"All of it: brimline store get {key} (parts: --lines A:B){again}."


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
