"""Row shapes: any JSON value has an answer, and the answer for strangers is "nothing"."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.transcript import rows

from .generated import json_values
from .generated import rows as generated_rows


@given(value=json_values | generated_rows)
@settings(max_examples=300, deadline=None, database=None)
def test_every_json_value_has_an_answer(value: Any) -> None:
    """No row, known or not, raises."""
    rows.usage_of(value)
    rows.is_boundary(value)

    assert rows.visible_characters(value) >= 0
    assert rows.content_characters(value) >= 0
    assert rows.text_characters(value) >= 0


@pytest.mark.row("S3-39")
@pytest.mark.parametrize(
    ("content", "characters"),
    [
        ("hello", 5),
        ([{"type": "text", "text": "hello"}, {"type": "thinking", "thinking": "hm"}], 7),
        ([{"type": "tool_result", "content": "result"}], 6),
        ([{"type": "tool_result", "content": [{"type": "text", "text": "abc"}]}], 3),
        ([{"type": "tool_use", "name": "Bash", "input": {"command": "ls", "n": [1, "x"]}}], 7),
        ([{"type": "image", "source": {"data": "a" * 99}}], rows.IMAGE_CHARACTERS),
        ([{"type": "redacted_thinking", "data": "zzz"}], 0),
        (["loose text", 5, None], 0),
        (None, 0),
    ],
)
def test_content_is_counted_as_the_model_is_sent_it(content: Any, characters: int) -> None:
    """Texts count by length, images by what they cost, bookkeeping not at all."""
    assert rows.content_characters(content) == characters


def test_the_clients_own_copy_of_a_result_is_not_sent() -> None:
    """`toolUseResult` doubles the result on disk only."""
    row = {
        "type": "user",
        "message": {"content": [{"type": "tool_result", "content": "abc"}]},
        "toolUseResult": {"stdout": "abc" * 1_000},
    }

    assert rows.visible_characters(row) == 3


def test_text_nested_to_any_depth_is_counted() -> None:
    """Depth is foreign: the count does not use the stack."""
    value: Any = "x"
    for _ in range(50_000):
        value = [value]

    assert rows.text_characters(value) == 1


@given(depth=st.integers(0, 2_000))
@settings(max_examples=10, deadline=None, database=None)
def test_results_within_results_are_counted_to_any_depth(depth: int) -> None:
    """Nested result blocks do not use the stack either."""
    content: Any = "abc"
    for _ in range(depth):
        content = [{"type": "tool_result", "content": content}]

    assert rows.content_characters(content) == 3


@pytest.mark.parametrize("parts", [(300, 0, 0), (0, 300, 0), (0, 0, 300), (100, 150, 50)])
@pytest.mark.row("S0-02")
def test_the_prompt_side_is_one_sum_however_it_is_spread(parts: tuple[int, int, int]) -> None:
    """Fresh input, cache reads and cache writes all stand in the window; output does not."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    usage = dict(zip(names, parts, strict=True)) | {"output_tokens": 999}

    found = rows.usage_of({"type": "assistant", "message": {"usage": usage}})

    assert found is not None
    assert found.prompt_tokens == 300


def test_a_usage_carries_what_the_gauge_needs() -> None:
    """Model, version, session and time of the row come with its figures."""
    row = {
        "type": "assistant",
        "timestamp": "2026-01-08T15:49:03.054Z",
        "version": "2.1.325",
        "sessionId": "abc",
        "message": {
            "id": "msg_1",
            "model": "claude-opus-5",
            "usage": {"input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 3},
        },
    }

    usage = rows.usage_of(row)

    assert usage is not None
    assert (usage.prompt_tokens, usage.output_tokens) == (3, 3)
    assert (usage.message_id, usage.model) == ("msg_1", "claude-opus-5")
    assert (usage.version, usage.session_id) == ("2.1.325", "abc")
    assert usage.timestamp == "2026-01-08T15:49:03.054Z"
