"""Tool calls and their results, requests and compactions, in the order of a transcript.

The threads of subagents are told apart from the main one. Of a result only the beginning is kept,
of a call only what it is about: a session may be larger than memory.
"""

from __future__ import annotations

import glob
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brimline import fastjson
from brimline.transcript import rows

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
    usage: rows.Usage | None = None
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
    with open(path, "rb") as file:
        for line in file:
            if any(mark in line for mark in _MARKS):
                for row in fastjson.loads_all(line.decode("utf-8", "replace")):
                    if isinstance(row, dict):
                        yield moment_of(row)
            if progress:
                progress(len(line))


def subagents_of(path: str) -> list[str]:
    """The files of the subagents that a session started."""
    return sorted(glob.glob(f"{glob.escape(path.removesuffix('.jsonl'))}/subagents/*.jsonl"))


def moment_of(row: dict[str, Any]) -> Moment:
    """What a row tells."""
    in_subagent = bool(row.get("isSidechain"))
    # A subagent's rows have the shapes of the main thread's.
    row = row | {"isSidechain": False} if in_subagent else row
    blocks = rows.content_blocks(row)
    replied = row.get("type") == "assistant"
    results = () if replied else tuple(_results(blocks))
    boundary = rows.is_boundary(row)
    others = [] if replied else [block for block in blocks if not _is(block, "tool_result")]
    return Moment(
        uuid=_text(row.get("uuid")) or None,
        in_subagent=in_subagent,
        timestamp=rows.timestamp_of(row),
        project=_text(row.get("cwd")) or None,
        calls=tuple(_calls(blocks, _text(row.get("cwd")))) if replied else (),
        results=results,
        usage=rows.usage_of(row),
        is_final=replied and rows.is_final(row),
        is_boundary=boundary,
        is_summary=boundary and rows.is_summary(row),
        other_characters=rows.content_characters(others)
        + (rows.visible_characters(row) if rows.attachment_of(row) else 0),
    )


def _calls(blocks: list[Any], folder: str) -> Iterator[Call]:
    for block in blocks:
        if _is(block, "tool_use"):
            name, asked = _text(block.get("name")), block.get("input")
            subject = (
                _subject(asked, folder)[:_SUBJECT_CHARACTERS] if isinstance(asked, dict) else ""
            )
            yield Call(_text(block.get("id")), name, subject, rows.content_characters([block]))


def _subject(asked: dict[str, Any], folder: str) -> str:
    """What a call is about; a file by its full path, however it was spelt."""
    name = next((name for name in _SUBJECTS if isinstance(asked.get(name), str)), "")
    text = _text(asked.get(name))
    is_relative = name in _FILES and folder and not text.startswith("/") and text[1:2] != ":"
    return f"{folder}/{text.removeprefix('./')}" if is_relative else text


def _results(blocks: list[Any]) -> Iterator[Result]:
    for block in blocks:
        if _is(block, "tool_result"):
            texts = _texts(block.get("content"))
            yield Result(
                _text(block.get("tool_use_id")),
                "\n".join(texts)[:HEAD_CHARACTERS],
                sum(len(text) for text in texts),
                sum(len(text.encode("utf-8", "surrogatepass")) for text in texts),
            )


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    blocks = content if isinstance(content, list) else []
    found = [block.get("text") for block in blocks if isinstance(block, dict)]
    return [text for text in found if isinstance(text, str)]


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, dict) and block.get("type") == kind


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
