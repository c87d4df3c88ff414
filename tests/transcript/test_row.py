"""Row shapes: any JSON value has an answer, and the answer for strangers is "nothing"."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from brimline.transcript import row as shapes
from brimline.transcript import words

from .generated import json_values
from .generated import rows as generated_rows

# Rows and parts of rows, each with what is to be found in it.
CASES = json.loads((Path(__file__).parent / "golden" / "rows.json").read_text(encoding="utf-8"))
# Questions to a row, or to whatever stands in its place; the others take what these answer.
ANY_VALUE = (
    *("usage_of", "is_boundary", "content_blocks", "attachment_of", "typed", "prompt_text"),
    *("queue_operation", "calls", "results", "is_final"),
    *("visible_characters", "content_characters", "text_characters"),
)
ANY_OBJECT = (
    *("is_summary", "is_sidechain", "is_meta", "is_message", "is_synthetic", "kind_of"),
    *("timestamp_of", "uuid_of", "session_of", "cwd_of", "branch_of"),
    *("message_id", "references", "envelope", "numbered_blocks", "queued_prompt", "tool_uses"),
    *("result_ids", "located_texts", "subject_of", "file_of", "lines_of"),
    *("compaction_of", "preserved", "cleared_ids", "client_session_of"),
)


def _ask(name: str, value: Any) -> None:
    found = getattr(shapes, name)(value)
    if isinstance(found, Iterator):
        list(found)


@given(value=json_values | generated_rows)
@settings(max_examples=300, deadline=None, database=None)
def test_every_json_value_has_an_answer(value: Any) -> None:
    """No row, known or not, raises; nor does one that holds itself in every place."""
    values = [value]
    if isinstance(value, dict):
        values.append(value | {"message": {**value, "content": [value, *value.values()]}})
    for one in values:
        for name in ANY_VALUE:
            _ask(name, one)
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

    assert shapes.text_characters(value) == 1
    assert shapes.visible_characters(row) == 3


@pytest.mark.parametrize("parts", [(300, 0, 0), (0, 300, 0), (0, 0, 300), (100, 150, 50)])
@pytest.mark.row("S0-02")
def test_the_prompt_side_is_one_sum_however_it_is_spread(parts: tuple[int, int, int]) -> None:
    """Fresh input, cache reads and cache writes all stand in the window; output does not."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    usage = dict(zip(names, parts, strict=True)) | {"output_tokens": 999}

    found = shapes.usage_of({"type": "assistant", "message": {"usage": usage}})

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

    usage = shapes.usage_of(row)

    assert usage is not None
    assert (usage.prompt_tokens, usage.output_tokens) == (3, 3)
    assert (usage.message_id, usage.model) == ("msg_1", "claude-opus-5")
    assert (usage.version, usage.session_id) == ("2.1.325", "abc")
    assert usage.timestamp == "2026-01-08T15:49:03.054Z"


def user(content: Any, **fields: Any) -> dict[str, Any]:
    """A user row."""
    return {"type": "user", "message": {"role": "user", "content": content}} | fields


@pytest.mark.parametrize(("row", "expected"), CASES["typed"])
def test_only_the_users_words_are_typed(row: Any, expected: str) -> None:
    """What the client adds, or writes in their place, is not theirs."""
    assert (words.message(row) if row else "") == expected


@pytest.mark.parametrize(("fields", "expected"), CASES["queued"])
def test_what_was_queued_is_typed_where_the_user_did_it(
    fields: dict[str, Any], expected: str
) -> None:
    """Other senders use the same row."""
    attachment = {"type": "queued_command"} | fields

    assert shapes.typed({"type": "attachment", "attachment": attachment}) == expected


def test_calls_and_results_are_matched_by_their_id() -> None:
    """With the text that the model got and the client's own copy."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [
            {"type": "text", "text": "a"},
            {"type": "image"},
            {"type": "text", "text": "b"},
        ],
        "is_error": True,
    }

    (called,) = shapes.calls({"type": "assistant", "message": {"content": [call]}})
    (answered,) = shapes.results(user([result], toolUseResult={"stdout": "a"}))

    assert (called.id, called.name, called.arguments) == ("t1", "Bash", {"command": "ls"})
    assert (answered.call_id, answered.text, answered.is_error) == ("t1", "a\nb", True)
    assert answered.told == {"stdout": "a"}


def test_the_texts_of_a_result_are_found_with_the_way_to_them() -> None:
    """A plain text, texts in a list; images and references are not texts."""
    image = {"type": "image", "source": {}}
    row = {
        "type": "user",
        "message": {
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "plain", "is_error": True},
                {
                    "type": "tool_result",
                    "tool_use_id": "b",
                    "content": [image, {"type": "text", "text": "listed"}],
                },
                {"type": "text", "text": "typed"},
            ]
        },
    }

    found = list(shapes.located_texts(row))

    assert found == [
        ("a", ("message", "content", 0, "content"), "plain", True),
        ("b", ("message", "content", 1, "content", 1, "text"), "listed", False),
    ]


@pytest.mark.parametrize(("asked", "source", "lines"), CASES["asked"])
def test_a_call_says_what_it_is_about(asked: Any, source: str | None, lines: list[int]) -> None:
    """The file, command or address, and the lines of a read."""
    block = {"type": "tool_use", "id": "a", "name": "Read", "input": asked}
    (call,) = shapes.tool_uses({"type": "assistant", "message": {"content": [block]}})

    assert shapes.subject_of(call.arguments) == source
    assert list(shapes.lines_of(call.arguments)) == lines


def test_what_a_compaction_preserved_is_named() -> None:
    """In the client's own words: single messages, and a stretch between two."""
    row = {
        "compactMetadata": {
            "preTokens": 5,
            "preservedSegment": {"headUuid": "a", "anchorUuid": "s", "tailUuid": "c"},
            "preservedMessages": {"anchorUuid": "s", "uuids": ["a", "b"], "allUuids": ["a", "x"]},
        }
    }

    assert shapes.preserved(row) == (frozenset("abcsx"), "a", "c")
    assert shapes.preserved({}) is None


def test_what_the_user_typed_while_the_model_worked_is_found() -> None:
    """In an attachment, or in rows of the client's queue: many such stand nowhere else."""
    queued = {"type": "queued_command", "prompt": [{"type": "text", "text": "brim:pin last"}]}
    row = {"type": "attachment", "attachment": queued}
    waiting = {"type": "queue-operation", "operation": "enqueue", "content": "do not amend"}

    assert "brim:pin last" in shapes.queued_prompt(row)
    assert shapes.queued_prompt(row | {"isSidechain": True}) == ""
    assert shapes.queue_operation(waiting) == ("enqueue", "do not amend")
    assert shapes.queue_operation({"type": "user"}) == ("", "")


@pytest.mark.parametrize(
    "text",
    [
        "<command-name>/compact</command-name>",
        "<local-command-stdout>Compacted</local-command-stdout>",
        "<bash-input>ls</bash-input>",
        "[Request interrupted by user]",
    ],
)
def test_what_the_client_writes_in_the_users_name_is_no_prompt(text: str) -> None:
    """Its own commands and marks; a prompt that only mentions one is the user's."""
    assert shapes.prompt_text(user(text)) == ""
    assert shapes.prompt_text(user(f"What does {text} mean?")) == f"What does {text} mean?"
