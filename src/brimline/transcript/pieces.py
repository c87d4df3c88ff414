"""What each row adds to the context, in pieces: whose text, how long, of which tool or file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brimline import fastjson
from brimline.transcript import rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OUR_MARK = "[brimline]"
# A reply's own pieces; everything else is what it was answered with.
REPLY_KINDS = frozenset({"assistant", "thinking", "tool_input"})
# Loading a deferred tool's schema added about 1,000 tokens each in recorded sessions.
TOOL_REFERENCE_CHARACTERS = 2_200

_SHOWN_TYPES = ("text", "image", "document")
# User messages that no user typed.
_CLIENT_TEXTS = (
    "<local-command-",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "<system-reminder>",
    "<ide_",
    "[Request interrupted by user",
)
# Clients that keep no rendered text send these types, and put what matters in these fields.
_SENT_UNRENDERED = {
    "agent_listing_delta": "addedLines",
    "deferred_tools_delta": "addedLines",
    "diagnostics": "files",
    "edited_text_file": "snippet",
    "hook_additional_context": "content",
    "mcp_instructions_delta": "addedBlocks",
    "queued_command": "prompt",
    "skill_listing": "content",
    "task_reminder": "content",
}
_COMMAND_WITHIN_CHARACTERS = 2_000
_COMMAND = re.compile(r"<command-(name|args)>(.*?)</command-\1>", re.DOTALL)
# A signature is base64 and holds the whole thought, also where the text is shortened or left out.
_SIGNATURE_OVERHEAD_CHARACTERS = 180


@dataclass(frozen=True, slots=True)
class Piece:
    """One text in the context."""

    kind: str
    characters: int
    name: str = ""
    """The tool, the hook, or the client's word for what it attached."""
    call_id: str = ""
    """Ties a tool's result to its input."""
    file: str = ""
    lines: tuple[int, int] | None = None
    """The first line that a call asked for, and the first that it did not."""
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """What one row means for the context."""

    pieces: tuple[Piece, ...] = ()
    prompt: str | None = None
    """What the user typed, where the row opens a turn."""
    usage: rows.Usage | None = None
    is_final: bool = False
    """Whether the usage's `output_tokens` can be trusted."""
    is_boundary: bool = False
    is_summary: bool = False


def read(path: str, progress: Callable[[int], None] | None = None) -> Iterator[Entry]:
    """Read a transcript forward, one entry per row that means anything.

    Args:
        path: the session's file.
        progress: called with the number of bytes of each line.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        for line in file:
            for row in fastjson.loads_all(line.decode("utf-8", "replace")):
                entry = entry_of(row)
                if entry:
                    yield entry
            if progress:
                progress(len(line))


def entry_of(row: Any) -> Entry | None:
    """What a row means; None where it adds nothing and measures nothing."""
    blocks = rows.content_blocks(row)
    if rows.is_boundary(row):
        return _compacted(blocks, is_summary=rows.is_summary(row))
    usage = rows.usage_of(row)
    if usage or (blocks and row["type"] == "assistant"):
        return Entry(tuple(_replied(blocks)), usage=usage, is_final=rows.is_final(row))
    if blocks:
        meta = rows.is_meta(row)
        return Entry(tuple(_told(blocks, meta=meta)), None if meta else _prompt(blocks))
    attached = tuple(_attached(rows.attachment_of(row), row))
    return Entry(attached) if attached else None


def _compacted(blocks: list[Any], *, is_summary: bool) -> Entry:
    found = (Piece("summary", rows.content_characters(blocks)),) if is_summary else ()
    return Entry(found, is_boundary=True, is_summary=is_summary)


def _replied(blocks: list[Any]) -> Iterator[Piece]:
    for block in blocks:
        kind = _type(block)
        if kind == "text":
            yield Piece("assistant", rows.content_characters([block]))
        elif kind == "thinking":
            yield Piece("thinking", _thought_characters(block))
        elif kind == "redacted_thinking":
            yield Piece("thinking", _decoded_characters(block.get("data")))
        elif kind == "tool_use":
            yield _call(block)


def _told(blocks: list[Any], *, meta: bool) -> Iterator[Piece]:
    for block in blocks:
        kind = _type(block)
        if kind == "tool_result":
            characters = rows.content_characters([block]) + _reference_characters(block)
            yield Piece("tool_result", characters, call_id=_text(block.get("tool_use_id")))
        elif kind in _SHOWN_TYPES:
            typed = not meta and not _is_clients(_text(block.get("text")))
            yield Piece(
                "user" if typed else "client",
                rows.content_characters([block]),
                name="" if typed else "message",
            )


def _attached(attachment: dict[str, Any], row: Any) -> Iterator[Piece]:
    if not attachment:
        return
    name = _text(attachment.get("type"))
    characters = rows.text_characters(row.get("rendered"))
    if not characters and "rendered" not in row and name in _SENT_UNRENDERED:
        characters = rows.text_characters(attachment.get(_SENT_UNRENDERED[name]))
    if not characters:
        return
    if name.startswith("hook_"):
        yield from _hooked(attachment, characters)
    elif name == "queued_command" and attachment.get("commandMode") == "prompt":
        yield Piece("user", characters)
    else:
        yield Piece("client", characters, name, file=_text(attachment.get("filename")))


def _hooked(attachment: dict[str, Any], characters: int) -> Iterator[Piece]:
    """One piece per text; each bears its share of the frame around them."""
    content = attachment.get("content")
    texts = [text for text in content if isinstance(text, str)] if isinstance(content, list) else []
    texts = texts or [_text(content)]
    whole = sum(len(text) for text in texts)
    name = _text(attachment.get("hookName")) or _text(attachment.get("hookEvent")) or "hook"
    for text in texts:
        share = characters * len(text) // whole if whole else characters
        yield Piece("hook", share, name, ours=text.startswith(OUR_MARK))


def _call(block: dict[str, Any]) -> Piece:
    asked = block.get("input")
    asked = asked if isinstance(asked, dict) else {}
    name = _text(block.get("name"))
    return Piece(
        "tool_input",
        rows.content_characters([block]),
        name,
        call_id=_text(block.get("id")),
        file=_text(asked.get("file_path")) or _text(asked.get("notebook_path")),
        lines=_lines(asked) if name == "Read" else None,
    )


def _lines(asked: dict[str, Any]) -> tuple[int, int]:
    """The lines a read asked for; without a limit the client's own, whose end is open here."""
    offset, limit = asked.get("offset"), asked.get("limit")
    first = offset if isinstance(offset, int) and offset > 0 else 1
    open_end = 1 << 62
    return first, first + limit if isinstance(limit, int) and limit > 0 else open_end


def _prompt(blocks: list[Any]) -> str | None:
    """The user's words; None where nothing in the message is theirs."""
    texts = [_text(block.get("text")) for block in blocks if _type(block) in _SHOWN_TYPES]
    texts = [text for text in texts if not _is_clients(text)]
    if not texts:
        return None
    text = next(filter(None, texts), "")
    command = dict(_COMMAND.findall(text[:_COMMAND_WITHIN_CHARACTERS]))
    return f"{command['name']} {command.get('args', '')}".strip() if "name" in command else text


def _thought_characters(block: dict[str, Any]) -> int:
    return max(len(_text(block.get("thinking"))), _decoded_characters(block.get("signature")))


def _decoded_characters(encoded: Any) -> int:
    return max(0, len(_text(encoded)) * 3 // 4 - _SIGNATURE_OVERHEAD_CHARACTERS)


def _reference_characters(block: dict[str, Any]) -> int:
    content = block.get("content")
    if not isinstance(content, list):
        return 0
    references = sum(_type(inner) == "tool_reference" for inner in content)
    return references * TOOL_REFERENCE_CHARACTERS


def _is_clients(text: str) -> bool:
    return text.lstrip().startswith(_CLIENT_TEXTS)


def _type(block: Any) -> str:
    return _text(block.get("type")) if isinstance(block, dict) else ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
