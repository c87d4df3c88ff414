"""The changes a repair makes to single rows, as bytes; all else in a row stays as it is. Pure.

A change is a list of replacements. Where the structure of a row is too odd for that, it is written
anew as a whole; where not even that would keep its bytes, there is no change.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.purge import parts, spans
from brimline.purge.faults_find import answer_uuid
from brimline.purge.spans import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

MISSING_RESULT = (
    "[brimline] The result of this call is missing from the recorded session; whether the call ran "
    "is not known. Check before you rely on it."
)
ORPHAN_RESULT = "[brimline] The result of a call that is missing from the recorded session: {stub}"
_PARENT = (parts.PARENT_FIELD,)


class Change(NamedTuple):
    """The bytes at a place in a row become others."""

    span: Span
    new: bytes


def relink(row: bytes, value: dict[str, Any], parent: str | None) -> list[Change] | None:
    """Give a row another parent."""
    wanted = {**value, parts.PARENT_FIELD: parent}
    span = spans.find(row, 0, _PARENT)
    changes = [Change(span, _written(parent))] if span else []
    return _proven(row, changes, wanted)


def stub(
    row: bytes, value: dict[str, Any], calls: Collection[str], keep: Callable[[str], str]
) -> list[Change] | None:
    """Put short texts in the place of results.

    Args:
        row: its bytes, valid UTF-8.
        value: what they say.
        calls: the ids of the calls whose results go.
        keep: stores a result and returns what stands for it.
    """
    content = list(value["message"]["content"])
    changes = []
    for index, block in enumerate(content):
        if not isinstance(block, dict) or block.get("type") != "tool_result":
            continue
        if block.get("tool_use_id") not in calls:
            continue
        text = ORPHAN_RESULT.format(stub=keep(_result_text(block.get("content"))))
        content[index] = {"type": "text", "text": text}
        span = spans.find(row, 0, ("message", "content", index))
        if span:
            changes.append(Change(span, _written(content[index])))
    wanted = {**value, "message": {**value["message"], "content": content}}
    return _proven(row, changes, wanted)


def answer(value: dict[str, Any], calls: Collection[str]) -> bytes:
    """A row that answers calls of which no result is known, as the client would write it."""
    call_row = value["uuid"]
    blocks = [
        {"tool_use_id": call, "type": "tool_result", "content": MISSING_RESULT, "is_error": True}
        for call in calls
    ]
    around = parts.envelope(value)
    if "agentId" in value:
        around["agentId"] = value["agentId"]
    row = {
        **around,
        parts.PARENT_FIELD: call_row,
        "type": "user",
        "message": {"role": "user", "content": blocks},
        "uuid": answer_uuid(call_row),
        "toolUseResult": f"Error: {MISSING_RESULT}",
        "sourceToolAssistantUUID": call_row,
    }
    return _written(row)


def applied(row: bytes, changes: list[Change]) -> bytes:
    """The row with its changes."""
    pieces = []
    position = 0
    for span, new in sorted(changes):
        pieces += [row[position : span.start], new]
        position = span.end
    return b"".join([*pieces, row[position:]])


def _proven(row: bytes, changes: list[Change], wanted: dict[str, Any]) -> list[Change] | None:
    """Changes that do what they should; else the row written anew; None where bytes would go."""
    if changes and read(applied(row, changes)) == wanted:
        return changes
    try:
        row.decode()
    except UnicodeDecodeError:
        return None
    whole = [Change(Span(0, len(row)), _written(wanted))]
    return whole if read(whole[0].new) == wanted else None


def read(row: bytes) -> Any:
    """What a row says; None where it cannot be read."""
    try:
        return json.loads(row.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None


def _written(value: Any) -> bytes:
    """JSON as the client writes it; half characters are escaped, as it does too."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def _result_text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content)
