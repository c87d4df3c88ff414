"""Failures of hooks that the client noted in a transcript, told apart by whose hook it was.

The client notes whose command failed only where the process itself failed. A refused answer
(`hook_error_during_execution`) names no command: it belongs to the hook whose success at the same
event of the same tool call was noted just before.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import fastjson

if TYPE_CHECKING:
    from collections.abc import Callable

TAIL_BYTES = 2 << 20
_FAILURES = frozenset({"hook_error_during_execution", "hook_non_blocking_error", "hook_cancelled"})


class HookFailure(NamedTuple):
    """One failure, as the client noted it."""

    timestamp: str | None
    event: str
    message: str


def find(path: str, is_ours: Callable[[str], bool]) -> list[HookFailure]:
    """The failures at the end of a transcript, oldest first, of hooks whose command is ours.

    Raises:
        OSError: the file cannot be read.
    """
    rows = [row for row in _tail_rows(path) if _attachment(row)]
    calls = {_call(row) for row in rows if is_ours(_text(row, "command"))}
    return [
        _failure(row) for row in rows if _kind(row) in _FAILURES and _is_ours(row, calls, is_ours)
    ]


def _is_ours(row: Any, calls: set[tuple[str, str]], is_ours: Callable[[str], bool]) -> bool:
    if _text(row, "command"):
        return is_ours(_text(row, "command"))
    named = any(is_ours(text) for text in _attachment(row).values() if isinstance(text, str))
    return named or (_call(row) in calls and _text(row, "toolUseID") != "")


def _failure(row: Any) -> HookFailure:
    message = _text(row, "content") or _text(row, "stderr") or _kind(row)
    timestamp = row.get("timestamp")
    return HookFailure(
        timestamp if isinstance(timestamp, str) else None,
        _text(row, "hookName") or _text(row, "hookEvent"),
        message.strip().partition("\n")[0],
    )


def _tail_rows(path: str) -> list[Any]:
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - TAIL_BYTES))
        lines = file.read(TAIL_BYTES).split(b"\n")
    if size > TAIL_BYTES:
        lines = lines[1:]  # its beginning was not read
    texts = [line.decode("utf-8", "replace") for line in lines if b'"hook' in line]
    return [row for text in texts for row in fastjson.loads_all(text)]


def _attachment(row: Any) -> dict[str, Any]:
    if not isinstance(row, dict) or row.get("type") != "attachment":
        return {}
    attachment = row.get("attachment")
    return attachment if isinstance(attachment, dict) else {}


def _kind(row: Any) -> str:
    return _text(row, "type")


def _call(row: Any) -> tuple[str, str]:
    return _text(row, "toolUseID"), _text(row, "hookEvent")


def _text(row: Any, name: str) -> str:
    value = _attachment(row).get(name)
    return value if isinstance(value, str) else ""
