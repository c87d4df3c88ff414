"""The client's hook JSON: what we read from an event, and the document we answer with."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.fast.decision import Decision
from brimline.hooks.wire import _TERSE_CHARACTERS, Event, answer_text
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
    ("Edit", {"originalFile": "x" * 9_000, "newString": "y"}, _TERSE_CHARACTERS),
    ("Write", {"content": "x" * 9_000}, _TERSE_CHARACTERS),
    ("TodoWrite", {"oldTodos": ["x" * 900], "newTodos": []}, _TERSE_CHARACTERS),
    ("Bash", None, 0),
    ("Bash", 5, 0),
]

BLOCK = {"decision": "block", "reason": "no"}


@pytest.mark.parametrize(("tool", "response", "characters"), responses)
def test_a_result_counts_by_what_is_sent(tool: str, response: Any, characters: int) -> None:
    """Each tool's record has its own shape, and some records hold far more than is sent."""
    event = _event("PostToolUse", tool_name=tool, tool_response=response)

    assert event.added_characters() == characters


def test_a_missing_or_foreign_field_is_empty_and_paths_keep_their_bytes() -> None:
    """The client's versions differ; nothing is relied on. Only prompts add their own length."""
    event = _event("PostToolUse", session_id=5, cwd=None)

    assert (event.session_id, event.cwd, event.transcript, event.tool_input) == ("", "", "", {})
    assert not event.agent_id
    odd = Event("PostToolUse", b'{"cwd":"/p/\xff"}')
    assert odd.cwd.encode("utf-8", "surrogateescape") == b"/p/\xff"
    for raw in (b"", b"[]", b"5", b"{", b"nonsense", b"\xff"):
        with pytest.raises(ValueError, match=r"."):
            Event("PostToolUse", raw)
    added = [("UserPromptSubmit", "do work", 7), ("UserPromptSubmit", None, 0)]
    for name, prompt, characters in [*added, ("PreCompact", "do work", 0)]:
        assert _event(name, prompt=prompt).added_characters() == characters


@given(
    response=st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["content", "type", "text", "x"]), inner)
        ),
    )
)
@settings(max_examples=60)
def test_any_result_has_a_count(response: Any) -> None:
    """Results come from tools that nobody knows yet."""
    assert _event("PostToolUse", tool_response=response).added_characters() >= 0


@pytest.mark.row("S1-23")
def test_a_decision_becomes_one_line_of_ascii() -> None:
    """Context for the model, a message for the person, permission, replacement; or nothing."""
    notes = Decision(model_notes=("one", "ü\n\u2028\ud800"), person_notes=("hello",))
    refusal = Decision(permission="deny", reason="full", replacement={"stdout": ""})

    said, refused = answer_text("PostToolUse", notes), answer_text("PreToolUse", refusal)

    assert answer_text("PostToolUse", Decision()) == ""
    assert said.isascii()
    assert "\n" not in said
    assert json.loads(said)["systemMessage"] == "hello"
    specific = json.loads(said)["hookSpecificOutput"]
    assert specific["additionalContext"].startswith("one\n\nü\n")
    assert json.loads(refused)["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "full",
        "updatedToolOutput": {"stdout": ""},
    }


@pytest.mark.parametrize(
    ("name", "decision", "said"),
    [
        ("UserPromptSubmit", Decision(permission="deny", reason="no"), BLOCK),
        ("PreCompact", Decision(permission="deny", reason="no"), BLOCK),
        ("PreCompact", Decision(model_notes=("a", "b"), person_notes=("c",)), "a\n\nb"),
        ("PreCompact", Decision(permission="ask", reason="no"), ""),
        ("Stop", Decision(person_notes=("a", "b")), {"systemMessage": "a\n\nb"}),
        (
            "UserPromptSubmit",
            Decision(model_notes=("a", "b")),
            {
                "hookSpecificOutput": {
                    "hookEventName": "UserPromptSubmit",
                    "additionalContext": "a\n\nb",
                }
            },
        ),
        (
            "PreToolUse",
            Decision(permission="ask", reason="why"),
            {
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "ask",
                    "permissionDecisionReason": "why",
                }
            },
        ),
        (
            "PostToolUse",
            Decision(replacement=""),
            {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": ""}},
        ),
    ],
)
def test_each_event_is_answered_in_its_own_form(
    name: str, decision: Decision, said: str | dict[str, Any]
) -> None:
    """A prompt and a compaction are blocked as a whole; before a compaction a text is read."""
    told = answer_text(name, decision)

    assert (told if isinstance(said, str) else json.loads(told)) == said


def test_an_event_has_what_the_client_sent() -> None:
    """By our names."""
    sent = {
        "session_id": "s",
        "transcript_path": "/t",
        "cwd": "/c",
        "agent_id": "a",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_response": [1],
        "tool_use_id": "u",
        "prompt": "p",
        "source": "startup",
        "model": "m",
        "reason": "r",
        "trigger": "auto",
        "compact_summary": "sum",
    }
    raw = json.dumps(sent).encode()
    event = Event("Stop", raw)

    found = [event.session_id, event.transcript, event.cwd, event.agent_id, event.tool]
    found += [event.tool_input, event.tool_response, event.call_id, event.prompt, event.source]
    found += [event.model, event.reason, event.trigger, event.summary]
    assert found == list(sent.values())
    assert (event.name, event.payload_bytes, event.payload) == ("Stop", len(raw), sent)


def _event(name: str, **fields: Any) -> Event:
    return Event(name, json.dumps(fields).encode())
