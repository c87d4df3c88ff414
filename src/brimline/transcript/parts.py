"""What a row is made of: calls, texts of results, copies, thoughts, what a compaction preserved.

Rows are foreign data: every function accepts any JSON object and answers "nothing" for what it does
not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.transcript import rows

if TYPE_CHECKING:
    from collections.abc import Iterator

# The type of rows that only tell how far a tool or a hook had come; the model never sees these.
PROGRESS = "progress"
COPY_FIELD = "toolUseResult"
PARENT_FIELD = "parentUuid"
_REFERENCES = (
    "parentUuid",
    "logicalParentUuid",
    "leafUuid",
    "messageId",
    "sourceToolAssistantUUID",
)
_ENVELOPE = (
    "parentUuid",
    "isSidechain",
    "userType",
    "cwd",
    "sessionId",
    "version",
    "gitBranch",
    "timestamp",
)
_SOURCES = ("file_path", "notebook_path", "command", "url", "pattern", "query", "path", "prompt")
_LONGEST_SOURCE = 400
_THINKING = ("thinking", "redacted_thinking")
# What the client answers to a read whose result is still in the conversation.
_UNCHANGED = "File unchanged since last read"
_OPEN_END = 1 << 62


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


def uuid_of(row: dict[str, Any]) -> str | None:
    """The name of a row."""
    return _text(row.get("uuid"))


def parent_of(row: dict[str, Any]) -> str | None:
    """The name of the row that it follows."""
    return _text(row.get(PARENT_FIELD))


def references(row: dict[str, Any]) -> list[str]:
    """The names of all rows that it needs."""
    named = [row[field] for field in _REFERENCES if field in row]
    return [name for name in named if isinstance(name, str)]


def is_message(row: dict[str, Any]) -> bool:
    """Whether it is part of a conversation, be it a subagent's."""
    return row.get("type") in ("user", "assistant")


def is_sidechain(row: dict[str, Any]) -> bool:
    """Whether it belongs to a subagent."""
    return row.get("isSidechain") is True


def is_synthetic(row: dict[str, Any]) -> bool:
    """Whether the client wrote a reply by itself, without a request."""
    message = row.get("message")
    return isinstance(message, dict) and message.get("model") == rows.SYNTHETIC_MODEL


def session_of(row: dict[str, Any]) -> str | None:
    """The id of the session that it was written in."""
    return _text(row.get("sessionId"))


def envelope(row: dict[str, Any]) -> dict[str, Any]:
    """What the client writes around every message."""
    return {name: row[name] for name in _ENVELOPE if name in row}


def compact_summary(around: dict[str, Any], name: str, text: str) -> dict[str, Any]:
    """A row as the client writes it for the summary of a compaction, with another's envelope."""
    return {
        **around,
        "type": "user",
        "message": {"role": "user", "content": text},
        "isVisibleInTranscriptOnly": True,
        "isCompactSummary": True,
        "uuid": name,
    }


def message_id(row: dict[str, Any]) -> str | None:
    """The id of the request that a reply answers; the rows of one reply share it."""
    message = row.get("message")
    if row.get("type") != "assistant" or not isinstance(message, dict):
        return None
    return _text(message.get("id"))


def structure(row: dict[str, Any]) -> tuple[list[str], list[str], list[Any] | None]:
    """What ties a message to others: the calls in it, those that it answers, what it cost."""
    message = row.get("message")
    if not isinstance(message, dict):
        return [], [], None
    called, answered = [], []
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            kind = block.get("type")
            if kind == "tool_use":
                called.append(_text(block.get("id")) or "")
            elif kind == "tool_result":
                answered.append(_text(block.get("tool_use_id")) or "")
    usage = message.get("usage")
    if not isinstance(usage, dict):
        return called, answered, None
    figures = [value for value in usage.values() if isinstance(value, int)]
    return called, answered, [_text(message.get("id")), *figures]


def calls(row: dict[str, Any]) -> list[Call]:
    """The tool calls in a reply."""
    if row.get("type") != "assistant":
        return []
    return [_call(block) for block in _blocks(row, "tool_use")]


def result_ids(row: dict[str, Any]) -> list[str]:
    """The ids of the calls that a row answers."""
    if row.get("type") != "user":
        return []
    return [_text(block.get("tool_use_id")) or "" for block in _blocks(row, "tool_result")]


def result_texts(row: dict[str, Any]) -> Iterator[Text]:
    """Every text in the results of a row; images and references are not among them."""
    if row.get("type") != "user":
        return
    for index, block in _numbered_blocks(row):
        if block.get("type") != "tool_result":
            continue
        call_id, failed = _text(block.get("tool_use_id")) or "", block.get("is_error") is True
        content = block.get("content")
        path = ("message", "content", index, "content")
        if isinstance(content, str):
            yield Text(call_id, path, content, failed)
        elif isinstance(content, list):
            for inner, part in enumerate(content):
                text = part.get("text") if isinstance(part, dict) else None
                if isinstance(text, str) and part.get("type") == "text":
                    yield Text(call_id, (*path, inner, "text"), text, failed)


def thoughts(row: dict[str, Any]) -> list[tuple[int, int]]:
    """Which blocks of a reply are thoughts: the place of each, and its characters."""
    if row.get("type") != "assistant":
        return []
    return [
        (index, len(_text(block.get("thinking")) or _text(block.get("data")) or ""))
        for index, block in _numbered_blocks(row)
        if block.get("type") in _THINKING
    ]


def preserved(row: dict[str, Any]) -> Preserved | None:
    """What a compaction kept from before it; None for rows that are no compaction."""
    told = row.get("compactMetadata")
    if not isinstance(told, dict):
        return None
    segment = told.get("preservedSegment")
    segment = segment if isinstance(segment, dict) else {}
    named = {*_texts(told.get("preservedMessages")), *_texts(segment)}
    return Preserved(
        frozenset(named), _text(segment.get("headUuid")), _text(segment.get("tailUuid"))
    )


def cleared_ids(row: dict[str, Any]) -> list[str]:
    """The calls whose results the client itself had left out of its requests from here on."""
    told = row.get("microcompactMetadata")
    return list(_texts(told.get("compactedToolIds"))) if isinstance(told, dict) else []


def queued_prompt(row: dict[str, Any]) -> str:
    """What the user typed while the model was at work; empty for every other row."""
    attachment = row.get("attachment")
    if row.get("type") != "attachment" or not isinstance(attachment, dict):
        return ""
    if attachment.get("type") != "queued_command" or is_sidechain(row):
        return ""
    return "\n".join(_texts(attachment.get("prompt")))


def is_unchanged_notice(text: str) -> bool:
    """Whether a read returned no content because an earlier result still holds it."""
    return text.lstrip().startswith(_UNCHANGED)


def _blocks(row: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """The blocks of one type in a message."""
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict) and block.get("type") == kind]


def _numbered_blocks(row: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        for index, block in enumerate(content):
            if isinstance(block, dict):
                yield index, block


def _call(block: dict[str, Any]) -> Call:
    asked = block.get("input")
    asked = asked if isinstance(asked, dict) else {}
    sources = [asked[name] for name in _SOURCES if name in asked]
    source = next((text for text in sources if isinstance(text, str) and text), None)
    file = _text(asked.get("file_path")) or _text(asked.get("notebook_path"))
    return Call(
        _text(block.get("id")) or "",
        _text(block.get("name")) or "",
        source and source[:_LONGEST_SOURCE],
        file,
        _lines(asked),
    )


def _lines(asked: dict[str, Any]) -> tuple[int, int]:
    offset, limit = asked.get("offset"), asked.get("limit")
    first = offset if isinstance(offset, int) and offset > 0 else 1
    return first, first + limit if isinstance(limit, int) and limit > 0 else _OPEN_END


def _texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value, however deep."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
