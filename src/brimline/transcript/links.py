"""What ties the rows of a session together: parents, threads, calls and their results. Pure.

Rows are foreign data: any JSON object is accepted, and what is not known of it is None.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.transcript import rows

if TYPE_CHECKING:
    from collections.abc import Iterator

# The main conversation; every other thread is named after its agent.
MAIN = ""
_UNNAMED_SIDECHAIN = "sidechain"
# Reports on the way to a result; no request contains them.
PROGRESS = "progress"
_LONGEST_ID = 256
_NAMED = re.compile(rb'"(?:uuid|id|tool_use_id)"\s*:\s*"([^"\\]{1,256})"')


class Links(NamedTuple):
    """One row as the others see it."""

    kind: str
    uuid: str | None
    parent: str | None
    thread: str
    message_id: str | None
    """Rows of one reply share it."""
    calls: tuple[str, ...]
    """The ids of the tool calls in it."""
    results: tuple[str, ...]
    """The ids of the calls that it answers."""
    is_answer: bool
    """Whether it holds results and nothing else."""
    is_boundary: bool
    timestamp: str | None


def links_of(row: dict[str, Any]) -> Links:
    """How a row is tied to others."""
    kind = _id(row.get("type")) or ""
    calls, results, is_answer = _pairs(row, kind)
    message = row.get("message")
    return Links(
        kind,
        _id(row.get("uuid")),
        _id(row.get("parentUuid")),
        _thread(row),
        _id(message.get("id")) if kind == "assistant" and isinstance(message, dict) else None,
        calls,
        results,
        is_answer,
        rows.is_boundary(row),
        rows.timestamp_of(row),
    )


def preserved_by(row: dict[str, Any]) -> tuple[str, ...]:
    """The uuids of earlier rows that a compaction kept in the context; first and last at least."""
    told = row.get("compactMetadata")
    if not isinstance(told, dict):
        return ()
    listed, segment = told.get("preservedMessages"), told.get("preservedSegment")
    if isinstance(listed, dict):
        listed = listed.get("uuids")
    if isinstance(listed, list):
        return tuple(uuid for uuid in listed if isinstance(uuid, str))
    if isinstance(segment, dict):
        ends = (segment.get("headUuid"), segment.get("tailUuid"))
        return tuple(uuid for uuid in ends if isinstance(uuid, str))
    return ()


def ids_in(part: bytes) -> Iterator[str]:
    """Every id spelled out in bytes that nobody parses."""
    return (found.decode("utf-8", "replace") for found in _NAMED.findall(part))


def _pairs(row: dict[str, Any], kind: str) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    message = row.get("message")
    if kind not in ("user", "assistant") or not isinstance(message, dict):
        return (), (), False
    content = message.get("content")
    if not isinstance(content, list):
        return (), (), False
    blocks = [block for block in content if isinstance(block, dict)]
    if kind == "assistant":
        return tuple(_ids(blocks, "tool_use", "id")), (), False
    results = tuple(_ids(blocks, "tool_result", "tool_use_id"))
    return (), results, bool(results) and len(results) == len(content)


def _ids(blocks: list[dict[str, Any]], kind: str, field: str) -> Iterator[str]:
    for block in blocks:
        if block.get("type") == kind and (found := _id(block.get(field))):
            yield found


def _thread(row: dict[str, Any]) -> str:
    if not row.get("isSidechain"):
        return MAIN
    return _id(row.get("agentId")) or _UNNAMED_SIDECHAIN


def _id(value: Any) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= _LONGEST_ID else None
