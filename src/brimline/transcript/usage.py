"""What Claude Code's transcripts say about the size of a context: their rows, and their end.

Fast path: imports only `fast.io` and `fast.json`; every hook loads it, so it is apart from `row`,
which has the rest and gives these names too. Rows are foreign data: any JSON value is accepted.
The end is read backwards: the cost does not depend on the length of the file.
"""

from __future__ import annotations

from brimline.fast import io, json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SYNTHETIC_MODEL = "<synthetic>"
# What an image costs the model, expressed in characters so that one sum serves all content.
IMAGE_CHARACTERS = 4_000
# More than any window can hold: a larger count is damage, and no arithmetic should have to bear it.
_LARGEST_COUNT = 10**12
_CACHE_READ = "cache_read_input_tokens"
_SPEAKERS = ("user", "assistant")
# Once the last usage is known, older requests are only worth a short walk.
_HISTORY_LIMIT_BYTES = 1 << 20
PROMPT_FIELDS = ("input_tokens", _CACHE_READ, "cache_creation_input_tokens")


class Usage:
    """What one model request cost, as the client recorded it with the reply."""

    __slots__ = (
        *("prompt_tokens", "output_tokens", "fresh_tokens", "message_id", "model", "timestamp"),
        *("requested_model", "version", "session_id", "cleared_results"),
    )

    def __init__(self, row: dict[str, Any], message: dict[str, Any], prompt_tokens: int) -> None:
        self.prompt_tokens = prompt_tokens
        self.output_tokens = count_or_none(message["usage"].get("output_tokens")) or 0
        # What the cache did not have: mostly what this request was the first to carry.
        self.fresh_tokens = prompt_tokens - (count_or_none(message["usage"].get(_CACHE_READ)) or 0)
        self.message_id = message.get("id")
        self.model = as_text(message.get("model")) or None
        self.timestamp = as_text(row.get("timestamp")) or None
        # The name as it was asked for: only here does `[1m]` leave a trace.
        self.requested_model = as_text(row.get("requestedModel")) or None
        self.version = as_text(row.get("version")) or None
        self.session_id = as_text(row.get("sessionId")) or None
        # What the request had no more, by the client and the service together.
        told = message.get("context_management")
        self.cleared_results = _count_cleared(row, told) if isinstance(told, dict) else 0


class Tail:
    """The last usage, what came after it, and the occupancies that led to it (newest first).

    It gathers itself from lines that arrive last one first, parsing as few of them as it can.
    """

    def __init__(self, requests: int = 0) -> None:
        self.usage: Usage | None = None
        self.boundary_timestamp: str | None = None
        self.offset = 0
        # What the last request was the first to carry.
        self.fresh_tokens = 0
        self.output_tokens = 0
        self.reply_characters = 0
        self.result_characters = 0
        self.history: list[int] = []
        # How many requests it looks back, and the one whose rows are arriving.
        self._requests = requests
        self._message_id: object = None
        # Lines and rows whose place, before or after the last request, is not known yet.
        self._pending: list[Any] = []

    def take_line(self, line: bytes, offset: int) -> bool:
        """Use one line; True once the walk is over."""
        if self.usage and self.offset - offset > _HISTORY_LIMIT_BYTES:
            return True
        # Quotes inside JSON texts are escaped, so only a real key can match the first of these.
        if b'"usage"' not in line and b"ompact" not in line:
            self._pending.append(line)
            return False
        return any(self._take_row(row, offset) for row in reversed(json.parse_all_on_line(line)))

    def _take_row(self, row: Any, offset: int) -> bool:
        if is_compaction_row(row):
            self.boundary_timestamp = timestamp_text_of(row) or ""
            return True
        usage = usage_of(row)
        if usage is None:
            self._pending.append(row)
            return False
        is_first = self.usage is None
        if is_first:
            self.usage, self.offset = usage, offset
            self.fresh_tokens = usage.fresh_tokens
        if is_first or usage.message_id is None or usage.message_id != self._message_id:
            if len(self.history) == self._requests:
                return True
            self._message_id = usage.message_id
            self.history.append(usage.prompt_tokens)
        if len(self.history) == 1:
            self._add_reply_and_pending(row, usage)
        self._pending.clear()
        return False

    def _add_reply_and_pending(self, row: Any, usage: Usage) -> None:
        # One reply is several rows, and results of its first calls may stand between them.
        for item in self._pending:
            for later in json.parse_all_on_line(item) if isinstance(item, bytes) else (item,):
                self.result_characters += characters_model_is_sent(later)
        self.reply_characters += characters_model_is_sent(row)
        self.output_tokens = max(self.output_tokens, usage.output_tokens)


def read_tail(path: str, requests: int = 4) -> Tail:
    """Read the end of a transcript, back to the given number of requests.

    Nothing before the last compaction counts. `usage` is None where none is found within the limit.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    tail = Tail(requests)
    for offset, line in io.lines_backward_with_offsets(path):
        if tail.take_line(line, offset):
            break
    return tail


def usage_of(row: Any) -> Usage | None:
    """The usage of a main-thread reply; None for every other row, also synthetic and zero ones."""
    if not isinstance(row, dict) or row.get("type") != "assistant" or row.get("isSidechain"):
        return None
    message = message_of(row)
    usage = message.get("usage")
    is_synthetic = message.get("model") == SYNTHETIC_MODEL or row.get("isApiErrorMessage")
    if is_synthetic or not isinstance(usage, dict):
        return None
    prompt_tokens = 0
    for field in PROMPT_FIELDS:
        count = count_or_none(usage.get(field))
        if count is None:
            return None
        prompt_tokens += count
    return Usage(row, message, prompt_tokens) if prompt_tokens > 0 else None


def _count_cleared(row: dict[str, Any], told: dict[str, Any]) -> int:
    by_client = count_or_none(told.get("client_cut_tool_uses")) or 0
    return by_client + results_cleared_by_service(row)[0]


def results_cleared_by_service(row: Any) -> tuple[int, int]:
    """How many results the service left out of the request that a reply answers, and tokens."""
    told = message_of(row).get("context_management")
    if not isinstance(told, dict):
        return 0, 0
    edits = told.get("applied_edits")
    results = tokens = 0
    for edit in edits if isinstance(edits, list) else ():
        if isinstance(edit, dict) and as_text(edit.get("type")).startswith("clear_tool_uses"):
            results += count_or_none(edit.get("cleared_tool_uses")) or 0
            tokens += count_or_none(edit.get("cleared_input_tokens")) or 0
    return results, tokens


def is_compaction_row(row: Any) -> bool:
    """Tell whether nothing before this row is in the context any more."""
    if not isinstance(row, dict) or row.get("isSidechain"):
        return False
    boundary = row.get("type") == "system" and row.get("subtype") == "compact_boundary"
    return boundary or row.get("isCompactSummary") is True


def is_summary(row: dict[str, Any]) -> bool:
    """Tell whether this row is the summary that replaced the conversation before it."""
    return row.get("isCompactSummary") is True


def timestamp_text_of(row: dict[str, Any]) -> str | None:
    """Return when the row was written, as the client spells it."""
    return as_text(row.get("timestamp")) or None


def characters_model_is_sent(row: Any) -> int:
    """Roughly how many characters of a main-thread row the model will be sent."""
    if not isinstance(row, dict) or row.get("isSidechain"):
        return 0
    if row.get("type") == "attachment":
        # The client keeps the rendered text of those that it sends; the others are bookkeeping.
        return count_text_characters(row.get("rendered"))
    if row.get("type") not in _SPEAKERS or row.get("isVisibleInTranscriptOnly"):
        return 0
    return content_characters(message_of(row).get("content"))


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
                if not isinstance(block, dict):
                    continue
                if block.get("type") == "tool_result":
                    pending.append(block.get("content"))
                else:
                    total += _block_characters(block)
    return total


def count_text_characters(value: Any) -> int:
    """Characters of every text inside a JSON value."""
    return sum([len(text) for text in all_texts_in(value)])


def _block_characters(block: dict[str, Any]) -> int:
    kind = block.get("type")
    if kind == "text":
        return len(as_text(block.get("text")))
    if kind == "tool_use":
        return len(as_text(block.get("name"))) + count_text_characters(block.get("input"))
    if kind == "thinking":
        return len(as_text(block.get("thinking")))
    return IMAGE_CHARACTERS if kind in ("image", "document") else 0


def all_texts_in(value: Any) -> list[str]:
    """Every text inside a JSON value, in order, however deep (iterative: depth is foreign)."""
    found = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            pending.extend(reversed(item.values()))
        elif isinstance(item, list):
            pending.extend(reversed(item))
    return found


def is_block(block: Any, kind: str) -> bool:
    """Tell whether a piece of content is of a kind."""
    return isinstance(block, dict) and block.get("type") == kind


def is_message(row: dict[str, Any]) -> bool:
    """Tell whether it is part of a conversation, be it a subagent's."""
    return row.get("type") in _SPEAKERS


def message_of(row: Any) -> dict[str, Any]:
    """The message in a row of any thread; empty for other rows."""
    message = row.get("message") if isinstance(row, dict) else None
    return message if isinstance(message, dict) else {}


def as_text(value: Any) -> str:
    """A text; the empty one for every other value."""
    return value if isinstance(value, str) else ""


def count_or_none(value: Any) -> int | None:
    """A count that can be true; None for every other value."""
    if type(value) is int:  # a truth value is none
        return value if 0 <= value <= _LARGEST_COUNT else None
    return 0 if value is None else None


def nested_instruction_file(attachment: dict[str, Any]) -> str:
    """The instruction file, of a folder below or for some files alone, that an attachment is."""
    return as_text(attachment.get("path")) if attachment.get("type") == "nested_memory" else ""
