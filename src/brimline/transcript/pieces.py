"""What each row adds to the context, in pieces: whose text, how long, of which tool or file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.transcript import clienttools, row

if TYPE_CHECKING:
    from collections.abc import Iterator

OUR_MARK = "[brimline"
# A reply's own pieces; everything else is what it was answered with.
REPLY_KINDS = frozenset({"assistant", "thinking", "tool_input"})
# Loading a deferred tool's schema added about 1,000 tokens each in recorded sessions.
TOOL_REFERENCE_CHARACTERS = 2_200

_SHOWN_TYPES = ("text", "image", "document")
# User messages that no user typed.
_CLIENT_TEXTS = (
    *("<local-command-", "<bash-stdout>", "<bash-stderr>", "<task-notification>"),
    *("<system-reminder>", "<ide_", "[Request interrupted by user"),
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
# A signature is base64 and holds the whole thought, also where the text is shortened or left out.
_SIGNATURE_OVERHEAD_CHARACTERS = 180
_COMMAND_WITHIN_CHARACTERS = 2_000


class Piece(NamedTuple):
    """One text in the context."""

    kind: str
    characters: int
    name: str = ""  # the tool, the hook, or the client's word for what it attached
    call_id: str = ""  # ties a tool's result to its input
    file: str = ""
    # The first line that a call asked for, and the first that it did not.
    lines: tuple[int, int] | None = None
    ours: bool = False


class Entry(NamedTuple):
    """What one row adds to the context."""

    pieces: tuple[Piece, ...] = ()
    prompt: str | None = None  # what the user typed, where the row opens a turn


NOTHING = Entry()


def entry_of_row(fields: Any) -> Entry:
    """Return what a row adds; nothing of most."""
    if attachment := row.attachment_of(fields):
        return Entry(tuple(_attachment_pieces(fields, attachment)))
    blocks = row.blocks_sent_to_model(fields)
    if not blocks:
        return NOTHING
    if row.is_compaction_row(fields):
        return Entry((Piece("summary", row.content_characters(blocks)),))
    if row.type_of(fields) == "assistant":
        return Entry(tuple(_reply_pieces(blocks)))
    is_meta = row.is_meta(fields)
    prompt = None if is_meta else _typed_text(blocks)
    return Entry(tuple(_user_pieces(blocks, meta=is_meta)), prompt)


def prompt_of_row(fields: dict[str, Any]) -> str | None:
    """What the user typed, where a row opens a turn: words beside a refusal do not."""
    if row.type_of(fields) != "user" or row.is_meta(fields) or row.is_compaction_row(fields):
        return None
    return _typed_text(row.blocks_sent_to_model(fields))


def _reply_pieces(blocks: list[Any]) -> Iterator[Piece]:
    for block in blocks:
        kind = _block_type(block)
        if kind == "text":
            yield Piece("assistant", row.content_characters([block]))
        elif kind in row.THINKING:
            yield Piece("thinking", thought_characters(block))
        elif kind == "tool_use":
            yield _call_piece(block)


def thought_characters(block: dict[str, Any]) -> int:
    """Return how long a thought is, also where its text is left out."""
    encoded = row.as_text(block.get("signature")) or row.as_text(block.get("data"))
    decoded = max(0, len(encoded) * 3 // 4 - _SIGNATURE_OVERHEAD_CHARACTERS)
    return max(len(row.as_text(block.get("thinking"))), decoded)


def _call_piece(block: dict[str, Any]) -> Piece:
    call, name = row.as_object(block.get("input")), row.as_text(block.get("name"))
    return Piece(
        "tool_input",
        row.content_characters([block]),
        name,
        call_id=row.as_text(block.get("id")),
        file=clienttools.file_of_call(call),
        lines=clienttools.half_open_line_range_asked_for(call) if name == "Read" else None,
    )


def _user_pieces(blocks: list[Any], *, meta: bool) -> Iterator[Piece]:
    for block in blocks:
        kind = _block_type(block)
        if kind == "tool_result":
            characters = row.content_characters([block]) + _tool_reference_characters(block)
            call_id = row.as_text(block.get("tool_use_id"))
            ours = OUR_MARK in row.content_text(block.get("content"))
            yield Piece("tool_result", characters, call_id=call_id, ours=ours)
        elif kind in _SHOWN_TYPES:
            characters = row.content_characters([block])
            if meta or _is_written_by_client(row.as_text(block.get("text"))):
                yield Piece("client", characters, "message")
            else:
                yield Piece("user", characters)


def _tool_reference_characters(block: dict[str, Any]) -> int:
    content = block.get("content")
    parts = content if isinstance(content, list) else []
    return TOOL_REFERENCE_CHARACTERS * sum(row.is_block(part, "tool_reference") for part in parts)


def _typed_text(blocks: list[Any]) -> str | None:
    """The user's first words; None in a result, and where nothing in the message is theirs."""
    if any(row.is_block(block, "tool_result") for block in blocks):
        return None
    shown = [block for block in blocks if _block_type(block) in _SHOWN_TYPES]
    texts = [row.as_text(block.get("text")) for block in shown]
    texts = [text for text in texts if not _is_written_by_client(text)]
    if not texts:
        return None
    text = next(filter(None, texts), "")
    head = text[:_COMMAND_WITHIN_CHARACTERS]
    command = row.text_in_tag(head, "command-name")
    return f"{command} {row.text_in_tag(head, 'command-args')}".strip() if command else text


def _attachment_pieces(fields: Any, attachment: dict[str, Any]) -> Iterator[Piece]:
    name, rendered = row.as_text(attachment.get("type")), row.rendered_attachment(fields)
    characters = row.count_text_characters(rendered)
    if rendered is None and name in _SENT_UNRENDERED:
        characters = row.count_text_characters(attachment.get(_SENT_UNRENDERED[name]))
    if not characters:
        return
    if name.startswith("hook_"):
        yield from _hook_pieces(attachment, characters)
    elif name == "queued_command" and attachment.get("commandMode") == "prompt":
        yield Piece("user", characters)
    else:
        yield Piece("client", characters, name, file=row.as_text(attachment.get("filename")))


def _hook_pieces(attachment: dict[str, Any], characters: int) -> Iterator[Piece]:
    """One piece per text; each bears its share of the frame around them."""
    texts = row.all_texts_in(attachment.get("content")) or [""]
    whole = sum(len(text) for text in texts)
    name = row.as_text(attachment.get("hookName")) or row.as_text(attachment.get("hookEvent"))
    for text in texts:
        share = characters * len(text) // whole if whole else characters
        yield Piece("hook", share, name or "hook", ours=text.startswith(OUR_MARK))


def _is_written_by_client(text: str) -> bool:
    return text.lstrip().startswith(_CLIENT_TEXTS)


def _block_type(block: Any) -> str:
    return row.as_text(row.as_object(block).get("type"))
