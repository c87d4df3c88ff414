"""What ties the rows of a session together: parents, threads, calls and their results. Pure.

Rows are foreign data: any JSON object is accepted, and what is not known of it is None.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.transcript import row as shapes
from brimline.transcript.row import PROGRESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["MAIN", "PROGRESS", "Links", "ids_in", "links_of", "preserved_by"]

# The main conversation; every other thread is named after its agent.
MAIN = ""
_UNNAMED_SIDECHAIN = "sidechain"
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
    results = tuple(_ids(shapes.result_ids(row)))
    return Links(
        _id(shapes.kind_of(row)) or "",
        _id(shapes.uuid_of(row)),
        _id(shapes.parent_of(row)),
        (_id(shapes.agent_of(row)) or _UNNAMED_SIDECHAIN) if row.get("isSidechain") else MAIN,
        _id(shapes.message_id(row)),
        tuple(_ids(call.id for call in shapes.tool_uses(row))),
        results,
        bool(results) and len(results) == shapes.content_length(row),
        shapes.is_boundary(row),
        shapes.timestamp_of(row),
    )


def preserved_by(row: dict[str, Any]) -> frozenset[str]:
    """The uuids of earlier rows that a compaction kept in the context; first and last at least."""
    found = shapes.preserved(row)
    return found[0] if found else frozenset()


def ids_in(part: bytes) -> Iterator[str]:
    """Every id spelled out in bytes that nobody parses."""
    return (found.decode("utf-8", "replace") for found in _NAMED.findall(part))


def _ids(named: Iterable[str]) -> Iterator[str]:
    return (found for name in named if (found := _id(name)))


def _id(value: Any) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= _LONGEST_ID else None
