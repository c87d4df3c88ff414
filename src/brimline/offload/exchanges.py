"""Tool calls and their results, requests and compactions, in the order of a transcript.

The threads of subagents are told apart from the main one. Of a result only the beginning is kept,
of a call only what it is about: a session may be larger than memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brimline.transcript import read as transcripts
from brimline.transcript import row as shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEAD_CHARACTERS = 4_000
_SUBJECT_CHARACTERS = 4_000
_FILES = ("file_path", "notebook_path")
_SUBJECTS = ("command", *_FILES, "url")
# Without one of these a row holds nothing of what is told here, and is not even parsed.
_MARKS = (b'"usage"', b"tool_use", b"tool_result", b"ompact", b'"user"', b'"attachment"')


@dataclass(frozen=True, slots=True)
class Call:
    """What a tool was asked."""

    call_id: str
    tool: str
    subject: str
    """The command, file or address that it is about."""
    characters: int


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answered, as far as it is text."""

    call_id: str
    head: str
    characters: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Moment:
    """What one row tells."""

    uuid: str | None
    in_subagent: bool
    timestamp: str | None
    project: str | None = None
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
    usage: shapes.Usage | None = None
    is_final: bool = False
    """Whether the usage's `output_tokens` can be trusted."""
    is_boundary: bool = False
    is_summary: bool = False
    other_characters: int = 0
    """What it brings the model besides results and a reply."""


def read(path: str, progress: Callable[[int], None] | None = None) -> Iterator[Moment]:
    """Read a transcript forward, one moment per row that tells anything.

    Args:
        path: the file of a session or a subagent.
        progress: called with the number of bytes of each line.

    Raises:
        OSError: the file cannot be read.
    """
    return map(moment_of, transcripts.rows(path, _MARKS, progress))


def moment_of(row: dict[str, Any]) -> Moment:
    """What a row tells."""
    in_subagent = bool(row.get("isSidechain"))
    # A subagent's rows have the shapes of the main thread's.
    row = shapes.as_main_thread(row)
    blocks = shapes.content_blocks(row)
    replied = shapes.kind_of(row) == "assistant"
    boundary = shapes.is_boundary(row)
    others = [] if replied else [b for b in blocks if not shapes.is_block(b, "tool_result")]
    attached = shapes.visible_characters(row) if shapes.attachment_of(row) else 0
    return Moment(
        uuid=shapes.uuid_of(row) or None,
        in_subagent=in_subagent,
        timestamp=shapes.timestamp_of(row),
        project=shapes.cwd_of(row),
        calls=tuple(_calls(blocks, shapes.cwd_of(row) or "")) if replied else (),
        results=() if replied else tuple(_results(blocks)),
        usage=shapes.usage_of(row),
        is_final=replied and shapes.is_final(row),
        is_boundary=boundary,
        is_summary=boundary and shapes.is_summary(row),
        other_characters=shapes.content_characters(others) + attached,
    )


def _calls(blocks: list[Any], folder: str) -> Iterator[Call]:
    for block in blocks:
        if shapes.is_block(block, "tool_use"):
            asked = block.get("input")
            subject = _subject(asked, folder) if isinstance(asked, dict) else ""
            yield Call(
                shapes.text_of(block.get("id")),
                shapes.text_of(block.get("name")),
                subject[:_SUBJECT_CHARACTERS],
                shapes.content_characters([block]),
            )


def _subject(asked: dict[str, Any], folder: str) -> str:
    """What a call is about; a file by its full path, however it was spelt."""
    name = next((name for name in _SUBJECTS if isinstance(asked.get(name), str)), "")
    text = shapes.text_of(asked.get(name))
    is_relative = name in _FILES and folder and not text.startswith("/") and text[1:2] != ":"
    return f"{folder}/{text.removeprefix('./')}" if is_relative else text


def _results(blocks: list[Any]) -> Iterator[Result]:
    for block in blocks:
        if shapes.is_block(block, "tool_result"):
            texts = shapes.content_texts(block.get("content"))
            yield Result(
                shapes.text_of(block.get("tool_use_id")),
                "\n".join(texts)[:HEAD_CHARACTERS],
                sum(len(text) for text in texts),
                sum(len(text.encode("utf-8", "surrogatepass")) for text in texts),
            )
