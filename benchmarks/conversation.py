"""Recorded sessions as conversations: what was said and answered between two compactions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.fast import json
from brimline.transcript.row import attachment_of, content_blocks, is_boundary, usage_of

if TYPE_CHECKING:
    from collections.abc import Iterator


class Item(NamedTuple):
    """One block of the conversation."""

    kind: str
    """`text`, `thinking` or `call` of the assistant, `result`, or `other`."""
    text: str
    tool: str = ""
    tool_input: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it
    is_fixed: bool = False
    """Whether a hook cannot replace it: a failure, or more than text."""


class Segment(NamedTuple):
    """What happened between two compactions."""

    session: str
    model: str | None
    fullest_tokens: int
    fullest_at: int
    """The index of the first item that the fullest request did not hold."""
    items: list[Item]


def files(paths: list[str]) -> Iterator[str]:
    """The files named, and the transcripts in the folders named."""
    for path in paths:
        if not os.path.isdir(path):
            yield path
        for folder, _, names in sorted(os.walk(path)):
            for name in sorted(names):
                if name.endswith(".jsonl"):
                    yield os.path.join(folder, name)


def read(path: str) -> list[Segment]:
    """Cut a transcript at its compactions.

    Raises:
        OSError: the file cannot be read.
    """
    segments: list[Segment] = []
    reader = _Reader(os.path.basename(path).removesuffix(".jsonl"))
    with open(path, "rb") as file:
        for line in file:
            for row in json.loads_all(line.decode("utf-8", "replace")):
                if is_boundary(row):
                    segments.append(reader.cut())
                reader.take(row)
    return [segment for segment in [*segments, reader.cut()] if segment.items]


class _Reader:
    def __init__(self, session: str) -> None:
        self.session = session
        self.calls: dict[Any, tuple[str, dict[str, Any]]] = {}
        self._begin()

    def _begin(self) -> None:
        self.model: str | None = None
        self.fullest_tokens = self.fullest_at = 0
        self.items: list[Item] = []

    def cut(self) -> Segment:
        """The segment so far; the next row begins another."""
        found = Segment(self.session, self.model, self.fullest_tokens, self.fullest_at, self.items)
        self._begin()
        return found

    def take(self, row: Any) -> None:
        """Add what a row holds."""
        usage = usage_of(row)
        if usage:
            self.model = usage.model
            if usage.prompt_tokens > self.fullest_tokens:
                self.fullest_tokens, self.fullest_at = usage.prompt_tokens, len(self.items)
        for block in content_blocks(row):
            if isinstance(block, dict):
                self._take_block(block, row["type"])
        attached = attachment_of(row)
        if attached:
            self.items.append(Item("other", _texts(row.get("rendered") or attached)))

    def _take_block(self, block: dict[str, Any], speaker: str) -> None:
        kind = block.get("type")
        if kind == "tool_use":
            asked = block.get("input")
            asked = asked if isinstance(asked, dict) else {}
            self.calls[block.get("id")] = (str(block.get("name")), asked)
            self.items.append(Item("call", _texts(asked)))
        elif kind == "tool_result":
            self.items.append(self._result(block))
        elif speaker == "assistant" and kind in ("text", "thinking"):
            self.items.append(Item(kind, str(block.get(kind) or "")))
        else:
            self.items.append(Item("other", _texts(block)))

    def _result(self, block: dict[str, Any]) -> Item:
        tool, asked = self.calls.get(block.get("tool_use_id"), ("", {}))
        content = block.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        texts = [part for part in parts if isinstance(part, dict) and part.get("type") == "text"]
        fixed = len(texts) < len(parts) or bool(block.get("is_error"))
        text = "\n".join([str(part.get("text") or "") for part in texts])
        return Item("result", text, tool, asked, fixed)


def _texts(value: Any) -> str:
    """Every text inside a JSON value, in order."""
    found, pending = [], [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict | list):
            inner = list(item.values()) if isinstance(item, dict) else item
            pending.extend(reversed(inner))
    return "\n".join(found)
