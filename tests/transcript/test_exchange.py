"""What was said and done in a row, whatever the row is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.transcript import exchange


def user(content: Any, **fields: Any) -> dict[str, Any]:
    """A user row."""
    return {"type": "user", "message": {"role": "user", "content": content}} | fields


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (user("hello"), "hello"),
        (user([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]), "one\n\ntwo"),
        (
            user(
                [
                    {"type": "text", "text": "<ide_opened_file>x</ide_opened_file>"},
                    {"type": "text", "text": "do it"},
                ]
            ),
            "do it",
        ),
        (user("a<system-reminder>b</system-reminder>c"), "ac"),
        (user("a<system-reminder>b"), "a"),
        (user("<command-name>/fix</command-name><command-args>the bug</command-args>"), "the bug"),
        (user("<command-name>/compact</command-name><command-args>be brief</command-args>"), ""),
        (user("hello", isMeta=True), ""),
        (user("hello", isSidechain=True), ""),
        (user("hello", isCompactSummary=True), ""),
        ({"type": "assistant", "message": {"content": "hello"}}, ""),
        (None, ""),
    ],
)
def test_only_the_users_words_are_typed(row: Any, expected: str) -> None:
    """What the client adds, or writes in their place, is not theirs."""
    assert exchange.typed(row) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"prompt": "go on", "commandMode": "prompt"}, "go on"),
        ({"prompt": [{"type": "text", "text": "go on"}]}, "go on"),
        ({"prompt": "x", "commandMode": "task-notification"}, ""),
        ({"prompt": "x", "isMeta": True}, ""),
        ({"prompt": "x", "origin": {"kind": "peer"}}, ""),
        ({"prompt": 3}, ""),
    ],
)
def test_what_was_queued_is_typed_where_the_user_did_it(
    fields: dict[str, Any], expected: str
) -> None:
    """Other senders use the same row."""
    attachment = {"type": "queued_command"} | fields

    assert exchange.typed({"type": "attachment", "attachment": attachment}) == expected


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

    (called,) = exchange.calls({"type": "assistant", "message": {"content": [call]}})
    (answered,) = exchange.results(user([result], toolUseResult={"stdout": "a"}))

    assert (called.id, called.name, called.arguments) == ("t1", "Bash", {"command": "ls"})
    assert (answered.call_id, answered.text, answered.is_error) == ("t1", "a\nb", True)
    assert answered.told == {"stdout": "a"}
    assert not answered.is_refused


def test_a_notification_is_read_from_a_row_or_an_attachment() -> None:
    """The client uses both."""
    text = "<task-notification>\n<task-id>b1</task-id>\n<status>failed</status></task-notification>"
    attachment = {"type": "queued_command", "prompt": text}

    for row in (user(text), {"type": "attachment", "attachment": attachment}):
        assert exchange.notification(row)["task-id"] == "b1"
        assert exchange.notification(row)["status"] == "failed"
        assert exchange.notification(row)["result"] == ""
    assert exchange.notification(user("hello")) == {}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "message", "content", "text", "input", "prompt", "attachment"]
                ),
                inner
                | st.sampled_from(["user", "assistant", "attachment", "tool_use", "tool_result"]),
            )
        ),
    )
)
def test_any_value_is_borne(row: Any) -> None:
    """Rows are foreign data."""
    exchange.typed(row)
    exchange.replied(row)
    exchange.notification(row)
    assert isinstance([*exchange.calls(row), *exchange.results(row)], list)
