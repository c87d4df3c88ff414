"""Failures of hooks that the client noted in a transcript, told apart by whose hook it was.

The client notes whose command failed only where the process itself failed. A refused answer
(`hook_error_during_execution`) names no command: it belongs to the hook whose success at the same
event of the same tool call was noted just before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.transcript import tail
from brimline.transcript.row import attachment_of, text_of, timestamp_of

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
    rows = list(tail.rows_backward(path, b'"hook', TAIL_BYTES))[::-1]
    noted = [
        (timestamp_of(row), _Note(attached)) for row in rows if (attached := attachment_of(row))
    ]
    ours = {note.call for _, note in noted if is_ours(note.command)}
    return [
        HookFailure(at, note.event, note.message)
        for at, note in noted
        if note.kind in _FAILURES and note.is_ours(ours, is_ours)
    ]


class _Note:
    """What the client noted about one hook."""

    def __init__(self, attached: dict[str, Any]) -> None:
        self.texts = {name: text for name, text in attached.items() if isinstance(text, str)}
        said = {name: text_of(attached.get(name)) for name in ("toolUseID", "hookEvent")}
        self.kind, self.command = text_of(attached.get("type")), text_of(attached.get("command"))
        self.call = (said["toolUseID"], said["hookEvent"])
        self.event = text_of(attached.get("hookName")) or said["hookEvent"]
        told = text_of(attached.get("content")) or text_of(attached.get("stderr")) or self.kind
        self.message = told.strip().partition("\n")[0]

    def is_ours(self, calls: set[tuple[str, str]], is_ours: Callable[[str], bool]) -> bool:
        if self.command:
            return is_ours(self.command)
        named = any(map(is_ours, self.texts.values()))
        return named or (self.call in calls and self.call[0] != "")
