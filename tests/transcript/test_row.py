"""Row shapes: any JSON value has an answer, and the answer for strangers is "nothing"."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from brimline.transcript import pieces, words
from brimline.transcript import row as shapes

from .generated import json_values
from .generated import rows as generated_rows

# Rows and parts of rows, each with what is to be found in it.
CASES = json.loads((Path(__file__).parent / "golden" / "rows.json").read_text(encoding="utf-8"))
# Questions to a row, or to whatever stands in its place; the others take what these answer.
ANY_VALUE = (
    *(
        "usage_of",
        "is_compaction_row",
        "blocks_sent_to_model",
        "attachment_of",
        "text_sent_by_user",
    ),
    *("queue_operation_and_text", "main_thread_calls", "main_thread_results", "has_final_usage"),
    *("describe_dropped_thinking", "results_cleared_by_service"),
    *("characters_model_is_sent", "content_characters", "count_text_characters"),
)
ANY_OBJECT = (
    *("is_summary", "is_sidechain", "is_meta", "is_message", "is_synthetic", "type_of"),
    *("timestamp_text_of", "uuid_of", "session_id_in", "cwd_of", "branch_of"),
    *(
        "message_id",
        "envelope_fields_of",
        "numbered_blocks",
        "any_thread_calls",
    ),
    *("answered_call_ids", "result_block_texts_at_paths"),
    *(
        "compaction_figures",
        "preserved_ids_and_ends",
        "cut_results",
        "clients_first_session_id",
    ),
    *(
        "is_idle_compaction_notice",
        "is_marked_as_holding_persons_words",
    ),
)


def _ask(name: str, value: Any) -> None:
    found = getattr(shapes, name)(value)
    if isinstance(found, Iterator):
        list(found)


@given(value=json_values | generated_rows)
@settings(max_examples=200)
def test_every_json_value_has_an_answer(value: Any) -> None:
    """No row, known or not, raises; nor does one that holds itself in every place."""
    values = [value]
    if isinstance(value, dict):
        values.append(value | {"message": {**value, "content": [value, *value.values()]}})
    for one in values:
        for name in ANY_VALUE:
            _ask(name, one)
        assert all(piece.characters >= 0 for piece in pieces.entry_of_row(one).pieces)
        for name in ANY_OBJECT if isinstance(one, dict) else ():
            _ask(name, one)


@pytest.mark.row("S3-39")
@pytest.mark.parametrize(("content", "characters"), CASES["content"])
def test_content_is_counted_as_the_model_is_sent_it(content: Any, characters: int) -> None:
    """Texts count by length, images by what they cost, bookkeeping not at all."""
    assert shapes.content_characters(content) == characters


def test_text_nested_to_any_depth_is_counted() -> None:
    """Depth is foreign: the count does not use the stack; the client's own copy is not sent."""
    value: Any = "x"
    content: Any = "abc"
    for _ in range(50_000):
        value = [value]
        content = [{"type": "tool_result", "content": content}]
    row = {"type": "user", "message": {"content": content}, "toolUseResult": {"stdout": "a" * 99}}

    assert shapes.count_text_characters(value) == 1
    assert shapes.characters_model_is_sent(row) == 3


@pytest.mark.parametrize(("row", "expected"), CASES["typed"])
def test_only_the_users_words_are_typed(row: Any, expected: str) -> None:
    """What the client adds, or writes in their place, is not theirs."""
    assert (words.users_own_message(row) if row else "") == expected


@pytest.mark.parametrize(("fields", "expected"), CASES["queued"])
def test_what_was_queued_is_the_users_where_typed(fields: dict[str, Any], expected: str) -> None:
    """Other senders use the same row."""
    attachment = {"type": "queued_command"} | fields

    assert shapes.text_sent_by_user({"type": "attachment", "attachment": attachment}) == expected


@pytest.mark.parametrize(
    ("attachment", "lost"),
    [
        ({"type": "thinking_stripped", "scope": "all"}, "all, by the client after a refusal"),
        (
            {"type": "thinking_stripped", "scope": "partial", "from": {"messageId": "msg_1"}},
            "those from one reply on, by the client after a refusal, or by a purge",
        ),
        (
            {
                "type": "thinking_drop",
                "newlyDropped": {"reason": "prefix_mismatch", "blockCount": 4},
                "clientChange": {"kinds": ["tool_result"], "firstChangedMessageIndex": 3},
            },
            "4, by the service (prefix_mismatch; changed: tool_result)",
        ),
        ({"type": "thinking_drop"}, "some, by the service (; changed: unknown)"),
        ({"type": "queued_command"}, ""),
    ],
)
def test_a_row_tells_which_thoughts_are_not_sent(attachment: dict[str, Any], lost: str) -> None:
    """And who left them out."""
    row = {"type": "attachment", "attachment": attachment}

    assert shapes.describe_dropped_thinking(row) == lost
