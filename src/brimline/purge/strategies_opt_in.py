"""What a purge does only when it is told to: take thoughts out, put a compaction in.

Both have a price. The API refuses thoughts that were edited and may miss ones that it expects; a
compaction that never happened is a message to the model that nobody wrote. So what is put in says
what it is.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

from brimline.purge import parts, spans

if TYPE_CHECKING:
    from collections.abc import Collection

    from brimline.purge.plan_items import Survey, Thought

_SPACE = uuid.UUID("6f1c8a70-52b4-4d0e-9a53-0b4b1d1d6c11")


def compaction(survey: Survey, replaced: int) -> tuple[str, bytes]:
    """The name and the line of a compaction's summary, to stand before the first message.

    Args:
        survey: the session.
        replaced: how many results became references.
    """
    first = survey.first_message
    name = str(uuid.uuid5(_SPACE, f"{survey.session_id} {first.uuid if first else ''}"))
    text = (
        "[brimline] No model wrote this summary: it marks where this conversation was shortened "
        f"by hand. Nothing was summarised; {replaced} old tool results below are references to "
        "stored content, and every message is still there."
    )
    row = parts.compact_summary(survey.envelope, name, text)
    return name, json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def saved_bytes(thought: Thought, blocks: Collection[int]) -> int:
    """By how much a line shrinks when it loses some of its blocks."""
    kept = [size for index, size in enumerate(thought.sizes) if index not in blocks]
    return thought.span.end - thought.span.start - len("[]") - sum(kept) - max(0, len(kept) - 1)


def without_blocks(raw: bytes, blocks: Collection[int]) -> bytes:
    """A list, given as the bytes of its line from where it begins, without some of its items."""
    kept = [
        raw[span.start : span.end]
        for index, span in enumerate(spans.find_items(raw, 0))
        if index not in blocks
    ]
    return b"[" + b",".join(kept) + b"]"
