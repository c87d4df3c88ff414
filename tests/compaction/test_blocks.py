"""What the blocks of a request take, and what stands in for them."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.compaction import blocks

TEXT = "x" * 320  # a hundred tokens
CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "x" * 306}}
PICTURE = {"type": "image", "source": {}}


@pytest.mark.parametrize(
    ("role", "block", "tokens"),
    [
        ("assistant", {"type": "text", "text": TEXT}, 104),
        ("assistant", {"type": "text", "text": TEXT, "whole": True}, 104),
        ("assistant", CALL, 125),
        ("user", {"type": "tool_result", "tool_use_id": "t1", "content": "x" * 285}, 112),
        ("user", {"type": "tool_result", "tool_use_id": "t1", "content": [PICTURE]}, 1_500),
        ("assistant", {"type": "thinking", "thinking": TEXT, "signature": "x" * 80}, 110),
        ("user", PICTURE, 1_500),
    ],
    ids=[
        "text",
        "text that is all of a message",
        "call",
        "result",
        "picture in a result",
        "thinking",
        "picture",
    ],
)
def test_a_block_is_estimated_by_its_kind(role: str, block: dict[str, Any], tokens: int) -> None:
    """Characters over their ratio, and the frame that a block of this kind has."""
    body = {"messages": [{"role": role, "content": [block]}]}

    (read,) = blocks.read(body) or []

    assert read.tokens == pytest.approx(tokens)


def test_what_stands_in_is_estimated_as_what_it_stands_for() -> None:
    """With the frame of its kind; where nothing stands in, the block itself counts."""
    content = [CALL, {"type": "text", "text": TEXT}]
    result = {"type": "tool_result", "tool_use_id": "t1", "content": TEXT}
    said = [{"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
    call, prose, shown = blocks.read({"messages": said}) or []

    taken = [
        blocks.estimate(call, {"input": CALL["input"]}),
        blocks.estimate(prose, {"text": TEXT}),
        blocks.estimate(shown, {"content": "x" * 285}),
    ]

    assert taken == pytest.approx([125, 104, 112])
    assert blocks.estimate(prose, None) == prose.tokens
