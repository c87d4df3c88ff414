"""What the bytes of a row are spent on. Pure.

Most of a session's bytes never reach the model: the client's own copies, reports of progress, and
what it writes around every message.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULT, INPUT, ASSISTANT, THINKING, USER = (
    "tool_result",
    "tool_input",
    "assistant",
    "thinking",
    "user",
)
SUMMARY, ATTACHMENT = "summary", "attachment"
COPY, PROGRESS, REQUEST, SNAPSHOT = "result_copy", "progress", "request_copy", "file_snapshot"
SIDECHAIN, ENVELOPE, BOOKKEEPING = "sidechain", "envelope", "bookkeeping"
UNREADABLE = "unreadable"
# The rest is for the client alone.
REACH_THE_MODEL = frozenset({RESULT, INPUT, ASSISTANT, THINKING, USER, SUMMARY, ATTACHMENT})

_WHOLE_ROWS = {
    "progress": PROGRESS,
    "file-history-snapshot": SNAPSHOT,
    "api-request": REQUEST,
    "api-request-shape": REQUEST,
    "api-request-blob": REQUEST,
}
_BLOCKS = {
    "tool_result": RESULT,
    "tool_use": INPUT,
    "thinking": THINKING,
    "redacted_thinking": THINKING,
}
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def spent(row: dict[str, Any], size_bytes: int) -> Iterator[tuple[str, int]]:
    """The kinds of bytes in a row, and how many of each; they add up to its size.

    Args:
        row: any JSON object of a session.
        size_bytes: how many bytes it takes on its line.
    """
    kind = row.get("type")
    if row.get("isSidechain"):
        yield SIDECHAIN, size_bytes
    elif kind in ("user", "assistant"):
        yield from _within(size_bytes, _message(row))
    elif kind == "attachment":
        yield from _within(size_bytes, [(ATTACHMENT, row.get("attachment"))])
    else:
        yield (
            _WHOLE_ROWS.get(kind, BOOKKEEPING) if isinstance(kind, str) else BOOKKEEPING,
            size_bytes,
        )


def text_bytes(text: str) -> int:
    """How many bytes a text takes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _within(size_bytes: int, found: list[tuple[str, Any]]) -> Iterator[tuple[str, int]]:
    """The parts, and what is left around them."""
    left = size_bytes
    for kind, value in found:
        taken = min(left, _value_bytes(value))
        left -= taken
        yield kind, taken
    yield ENVELOPE, left


def _message(row: dict[str, Any]) -> list[tuple[str, Any]]:
    found = [(COPY, row["toolUseResult"])] if "toolUseResult" in row else []
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    speaker = ASSISTANT if row.get("type") == "assistant" else USER
    if row.get("isCompactSummary") is True:
        return [*found, (SUMMARY, content)]
    if not isinstance(content, list):
        return [*found, (speaker, content)]
    return found + [(_block_kind(block, speaker), block) for block in content]


def _block_kind(block: Any, speaker: str) -> str:
    kind = block.get("type") if isinstance(block, dict) else None
    return _BLOCKS.get(kind, speaker) if isinstance(kind, str) else speaker


def _value_bytes(value: Any) -> int:
    if value is None:
        return 0
    try:
        return text_bytes(_encode(value))
    except RecursionError:  # it was nested just deep enough to be read
        return 0
