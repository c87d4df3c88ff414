"""The client's hook JSON: what we read from an event, and the document we answer with."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.decision import Decision
from brimline.hooks.wire import Event, render
from brimline.transcript.row import IMAGE_CHARACTERS

READ = {
    "type": "text",
    "file": {"filePath": "/p/a.txt", "content": "x" * 50, "numLines": 1, "startLine": 1},
}
AGENT = {
    "status": "completed",
    "prompt": "SUBTASK: read things",
    "agentId": "a654e4a971a422f27",
    "content": [{"type": "text", "text": "sub result"}],
    "totalTokens": 120,
    "usage": {"input_tokens": 100, "service_tier": "standard"},
}
BASH = {"stdout": "x" * 40, "stderr": "y" * 2, "interrupted": False, "isImage": False}
responses: list[tuple[str, Any, int]] = [
    ("Bash", BASH, 42),
    ("Bash", BASH | {"persistedOutputPath": "/p/out", "persistedOutputSize": 90_000}, 2_300),
    ("Read", READ, len("text") + len("/p/a.txt") + 50),
    ("Read", {"type": "image", "file": {"base64": "A" * 9_000}}, IMAGE_CHARACTERS),
    ("Agent", AGENT, len("sub result")),
    ("mcp__lab__big", [{"type": "text", "text": "abc"}, {"type": "image"}], 3 + IMAGE_CHARACTERS),
    ("mcp__lab__structured", '{"a":"b"}', 9),
    ("Edit", {"originalFile": "x" * 9_000, "newString": "y"}, 200),
    ("Write", {"content": "x" * 9_000}, 200),
    ("TodoWrite", {"oldTodos": ["x" * 900], "newTodos": []}, 200),
    ("Bash", None, 0),
    ("Bash", 5, 0),
]


@pytest.mark.parametrize(("tool", "response", "characters"), responses)
def test_a_result_is_counted_by_what_the_model_is_sent(
    tool: str, response: Any, characters: int
) -> None:
    """Each tool's record has its own shape, and some records hold far more than is sent."""
    event = _event("PostToolUse", tool_name=tool, tool_response=response)

    assert event.added_characters() == characters


def test_a_prompt_adds_its_own_length() -> None:
    """Other events add nothing."""
    assert _event("UserPromptSubmit", prompt="do work").added_characters() == 7
    assert _event("UserPromptSubmit", prompt=None).added_characters() == 0
    assert _event("PreCompact", prompt="do work").added_characters() == 0


def test_a_missing_or_foreign_field_is_empty() -> None:
    """The client's versions differ; nothing is relied on."""
    event = _event("PostToolUse", session_id=5, cwd=None)

    assert (event.session_id, event.cwd, event.transcript, event.tool_input) == ("", "", "", {})
    assert not event.agent_id


@pytest.mark.parametrize("raw", [b"", b"[]", b"5", b"{", b"nonsense", b"\xff"])
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    """Refusing is a ValueError, which the entry turns into silence."""
    with pytest.raises(ValueError, match=r"."):
        Event("PostToolUse", raw)


def test_broken_characters_survive_in_texts() -> None:
    """A path of any bytes reaches the file system as the same bytes."""
    event = Event("PostToolUse", b'{"cwd":"/p/\xff"}')

    assert event.cwd.encode("utf-8", "surrogateescape") == b"/p/\xff"


@given(
    response=st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["content", "type", "text", "x"]), inner)
        ),
    )
)
@settings(max_examples=200, deadline=None, database=None)
def test_any_result_has_a_count(response: Any) -> None:
    """Results come from tools that nobody knows yet."""
    assert _event("PostToolUse", tool_response=response).added_characters() >= 0


def test_an_empty_decision_is_no_answer() -> None:
    """Silence is nothing at all, not an empty document."""
    assert render("PostToolUse", Decision()) == ""


def test_notes_for_model_and_person_take_their_own_channels() -> None:
    """Context reaches the model, the system message the person."""
    decision = Decision(model_notes=("one", "two"), person_notes=("hello",))

    assert json.loads(render("PostToolUse", decision)) == {
        "systemMessage": "hello",
        "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "one\n\ntwo"},
    }


def test_a_refusal_is_a_document_not_an_exit_code() -> None:
    """Permission and reason go into the answer, as do replacements."""
    decision = Decision(permission="deny", reason="full", replacement={"stdout": ""})

    assert json.loads(render("PreToolUse", decision))["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "full",
        "updatedToolOutput": {"stdout": ""},
    }


@pytest.mark.row("S1-23")
def test_the_answer_is_one_line_of_ascii() -> None:
    """One document and nothing else, whatever the note holds."""
    text = render("PostToolUse", Decision(model_notes=("ü\n\u2028\ud800",)))

    assert text.isascii()
    assert "\n" not in text


def _event(name: str, **fields: Any) -> Event:
    return Event(name, json.dumps(fields).encode())
