"""What a row is made of, as a purge looks at it: calls without their arguments, texts with places.

Questions about single keys are those of `transcript.row`, under their names there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.transcript import row as shapes
from brimline.transcript.row import (
    COPY_FIELD,
    PARENT_FIELD,
    PROGRESS,
    cleared_ids,
    compact_summary,
    envelope,
    is_message,
    is_sidechain,
    is_synthetic,
    is_unchanged_notice,
    message_id,
    parent_of,
    queued_prompt,
    references,
    result_ids,
    session_of,
    structure,
    thoughts,
    uuid_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "COPY_FIELD",
    "PARENT_FIELD",
    "PROGRESS",
    "Call",
    "Preserved",
    "Text",
    "calls",
    "cleared_ids",
    "compact_summary",
    "envelope",
    "is_message",
    "is_sidechain",
    "is_synthetic",
    "is_unchanged_notice",
    "message_id",
    "parent_of",
    "preserved",
    "queued_prompt",
    "references",
    "result_ids",
    "result_texts",
    "session_of",
    "structure",
    "thoughts",
    "uuid_of",
]


class Call(NamedTuple):
    """A tool call."""

    id: str
    name: str
    source: str | None
    """The file, command, address, … that it is about."""
    file: str | None
    lines: tuple[int, int]
    """The first line that a read asked for, and the first that it did not."""


class Text(NamedTuple):
    """One text in the result of a tool call."""

    call_id: str
    path: tuple[str | int, ...]
    """How to get to it in the row."""
    text: str
    is_error: bool


class Preserved(NamedTuple):
    """What a compaction kept from before: rows by name, and a stretch from one row to another."""

    uuids: frozenset[str]
    head: str | None
    tail: str | None


def calls(row: dict[str, Any]) -> list[Call]:
    """The tool calls in a reply."""
    return [
        Call(
            one.id,
            one.name,
            shapes.subject_of(one.arguments),
            shapes.file_of(one.arguments),
            shapes.lines_of(one.arguments),
        )
        for one in shapes.tool_uses(row)
    ]


def result_texts(row: dict[str, Any]) -> Iterator[Text]:
    """Every text in the results of a row; images and references are not among them."""
    return (Text(*found) for found in shapes.located_texts(row))


def preserved(row: dict[str, Any]) -> Preserved | None:
    """What a compaction kept from before it; None for rows that are no compaction."""
    found = shapes.preserved(row)
    return None if found is None else Preserved(*found)
