"""The shapes of Claude Code's transcript rows. No other module knows them.

Fast path: imports nothing. Rows are foreign data: every function here accepts any JSON value and
answers "nothing" for what it does not know.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SYNTHETIC_MODEL = "<synthetic>"
# What an image costs the model, expressed in characters so that one sum serves all content.
IMAGE_CHARACTERS = 4_000
# More than any window can hold: a larger count is damage, and no arithmetic should have to bear it.
_LARGEST_COUNT = 10**12
# What the client writes as if the user had: output of its own commands, marks of an interruption.
_CLIENT_TEXTS = ("<local-command-", "<command-", "<bash-", "[Request interrupted")
_PROMPT_FIELDS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class Usage:
    """What one model request cost, as the client recorded it with the reply."""

    __slots__ = (
        "message_id",
        "model",
        "output_tokens",
        "prompt_tokens",
        "requested_model",
        "session_id",
        "timestamp",
        "version",
    )

    def __init__(self, row: dict[str, Any], message: dict[str, Any], prompt_tokens: int) -> None:
        self.prompt_tokens = prompt_tokens
        self.output_tokens = _count(message["usage"].get("output_tokens")) or 0
        self.message_id = message.get("id")
        self.model = _text(message.get("model"))
        self.timestamp = timestamp_of(row)
        # The name as it was asked for: only here does `[1m]` leave a trace.
        self.requested_model = _text(row.get("requestedModel"))
        self.version = _text(row.get("version"))
        self.session_id = _text(row.get("sessionId"))


def usage_of(row: Any) -> Usage | None:
    """The usage of a main-thread reply; None for every other row, also synthetic and zero ones."""
    if not isinstance(row, dict) or row.get("type") != "assistant" or row.get("isSidechain"):
        return None
    message = row.get("message")
    if not isinstance(message, dict) or message.get("model") == SYNTHETIC_MODEL:
        return None
    usage = message.get("usage")
    if row.get("isApiErrorMessage") or not isinstance(usage, dict):
        return None
    counts = [_count(usage.get(field, 0)) for field in _PROMPT_FIELDS]
    if None in counts:
        return None
    prompt_tokens = sum(count for count in counts if count)
    return Usage(row, message, prompt_tokens) if prompt_tokens > 0 else None


def is_boundary(row: Any) -> bool:
    """Whether nothing before this row is in the context any more."""
    if not isinstance(row, dict) or row.get("isSidechain"):
        return False
    return (row.get("type") == "system" and row.get("subtype") == "compact_boundary") or is_summary(
        row
    )


def is_summary(row: dict[str, Any]) -> bool:
    """Whether this row is the summary that replaced the conversation before it."""
    return row.get("isCompactSummary") is True


def timestamp_of(row: dict[str, Any]) -> str | None:
    """When the row was written, as the client spells it."""
    return _text(row.get("timestamp"))


def uuid_of(row: dict[str, Any]) -> str | None:
    """The row's own name; a fork's copy of a row keeps it."""
    return _text(row.get("uuid"))


def prompt_text(row: Any) -> str:
    """What the user typed; empty for every other row, also for what the client adds for them."""
    if not isinstance(row, dict) or row.get("type") != "user" or row.get("isSidechain"):
        return ""
    if row.get("isMeta") or row.get("isCompactSummary") or row.get("isVisibleInTranscriptOnly"):
        return ""
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        texts = [_text(block.get("text")) for block in content if isinstance(block, dict)]
        content = "\n".join([text for text in texts if text])
    typed = content.strip() if isinstance(content, str) else ""
    return "" if typed.startswith(_CLIENT_TEXTS) else typed


def visible_characters(row: Any) -> int:
    """Roughly how many characters of a main-thread row the model will be sent."""
    if not isinstance(row, dict) or row.get("isSidechain"):
        return 0
    kind = row.get("type")
    if kind == "attachment":
        # The client keeps the rendered text of those that it sends; the others are bookkeeping.
        return text_characters(row.get("rendered"))
    if kind not in ("user", "assistant") or row.get("isVisibleInTranscriptOnly"):
        return 0
    message = row.get("message")
    return content_characters(message.get("content")) if isinstance(message, dict) else 0


def content_characters(content: Any) -> int:
    """Characters of message content: a text, or a list of blocks of any kind (iterative too)."""
    total = 0
    pending = [content]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            total += len(item)
        elif isinstance(item, list):
            for block in item:
                if isinstance(block, dict) and block.get("type") == "tool_result":
                    pending.append(block.get("content"))
                else:
                    total += _block_characters(block)
    return total


def content_blocks(row: Any) -> list[Any]:
    """The content of a main-thread message that the model is sent, a plain text as one block."""
    if not isinstance(row, dict) or row.get("isSidechain") or row.get("isApiErrorMessage"):
        return []
    message = row.get("message")
    if row.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        return []
    hidden = row.get("isVisibleInTranscriptOnly") and not is_summary(row)
    if hidden or message.get("model") == SYNTHETIC_MODEL:
        return []
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def result_texts(row: Any) -> list[str]:
    """The texts of the tool results in a main-thread row, in order."""
    return [result_text(b) for b in content_blocks(row) if is_block(b, "tool_result")]


def is_block(block: Any, kind: str) -> bool:
    """Whether a piece of content is of a kind."""
    return isinstance(block, dict) and block.get("type") == kind


def result_text(block: dict[str, Any]) -> str:
    """The text of one tool result."""
    content = block.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [_text(part.get("text")) for part in parts if isinstance(part, dict)]
    return "\n".join([text for text in texts if text])


def attachment_of(row: Any) -> dict[str, Any]:
    """What the client attached to the main thread of its own accord; empty for other rows."""
    if not isinstance(row, dict) or row.get("isSidechain") or row.get("type") != "attachment":
        return {}
    attachment = row.get("attachment")
    return attachment if isinstance(attachment, dict) else {}


def is_meta(row: dict[str, Any]) -> bool:
    """Whether the client, not the user, wrote this user message."""
    return row.get("isMeta") is True


def is_final(row: dict[str, Any]) -> bool:
    """Whether the reply's `output_tokens` is its real count; old clients keep a placeholder."""
    message = row.get("message")
    return isinstance(message, dict) and isinstance(message.get("stop_reason"), str)


def text_characters(value: Any) -> int:
    """Characters of every text inside a JSON value, however deep (iterative: depth is foreign)."""
    total = 0
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            total += len(item)
        elif isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
    return total


def _block_characters(block: Any) -> int:
    if not isinstance(block, dict):
        return 0
    kind = block.get("type")
    if kind == "text":
        return _length(block.get("text"))
    if kind == "tool_use":
        return _length(block.get("name")) + text_characters(block.get("input"))
    if kind == "thinking":
        return _length(block.get("thinking"))
    return IMAGE_CHARACTERS if kind in ("image", "document") else 0


def _count(value: Any) -> int | None:
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _LARGEST_COUNT else None


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str) else 0


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
