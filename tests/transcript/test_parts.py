"""What rows are made of; any JSON object is accepted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.transcript import parts

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=10,
)
NAMES = st.sampled_from(
    ["type", "message", "content", "uuid", "parentUuid", "compactMetadata", "attachment", "usage"]
)
KINDS = st.sampled_from(["user", "assistant", "attachment", "tool_use", "tool_result", "thinking"])


@settings(deadline=None)
@given(st.dictionaries(NAMES, JSON | KINDS, max_size=5))
def test_any_row_is_accepted(row: dict[str, Any]) -> None:
    """Foreign data raises nothing."""
    row["message"] = {"content": [row, *row.values()], **row}
    list(parts.result_texts(row))
    parts.calls(row)
    parts.structure(row)
    parts.result_ids(row)
    parts.thoughts(row)
    parts.references(row)
    parts.preserved(row)
    parts.cleared_ids(row)
    parts.queued_prompt(row)
    parts.message_id(row)
    parts.is_synthetic(row)


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

    found = list(parts.result_texts(row))

    assert [(text.call_id, text.text, text.is_error) for text in found] == [
        ("a", "plain", True),
        ("b", "listed", False),
    ]
    assert found[1].path == ("message", "content", 1, "content", 1, "text")


@pytest.mark.parametrize(
    ("asked", "source", "lines"),
    [
        ({"file_path": "/a.py"}, "/a.py", (1, 1 << 62)),
        ({"file_path": "/a.py", "offset": 10, "limit": 5}, "/a.py", (10, 15)),
        ({"command": "make", "description": "x"}, "make", (1, 1 << 62)),
        ({"url": "http://x"}, "http://x", (1, 1 << 62)),
        ({"offset": True, "limit": "5"}, None, (1, 1 << 62)),
        ("none", None, (1, 1 << 62)),
    ],
)
def test_a_call_says_what_it_is_about(
    asked: Any, source: str | None, lines: tuple[int, int]
) -> None:
    """The file, command or address, and the lines of a read."""
    block = {"type": "tool_use", "id": "a", "name": "Read", "input": asked}
    (call,) = parts.calls({"type": "assistant", "message": {"content": [block]}})

    assert (call.source, call.lines) == (source, lines)


def test_what_a_compaction_preserved_is_named() -> None:
    """In the client's own words: single messages, and a stretch between two."""
    row = {
        "compactMetadata": {
            "preTokens": 5,
            "preservedSegment": {"headUuid": "a", "anchorUuid": "s", "tailUuid": "c"},
            "preservedMessages": {"anchorUuid": "s", "uuids": ["a", "b"], "allUuids": ["a", "x"]},
        }
    }

    kept = parts.preserved(row)

    assert kept is not None
    assert kept.uuids == {"a", "b", "c", "s", "x"}
    assert (kept.head, kept.tail) == ("a", "c")
    assert parts.preserved({}) is None


def test_what_the_user_typed_while_the_model_worked_is_found() -> None:
    """The client keeps it in an attachment."""
    row = {
        "type": "attachment",
        "attachment": {
            "type": "queued_command",
            "prompt": [{"type": "text", "text": "brim:pin last"}],
        },
    }

    assert "brim:pin last" in parts.queued_prompt(row)
    assert parts.queued_prompt(row | {"isSidechain": True}) == ""
