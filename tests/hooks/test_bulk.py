"""Large results and overwrites through the whole hook."""

from __future__ import annotations

import json
from typing import Any

import pytest

from brimline.hooks.entry import respond
from brimline.state.logs import recent_failures
from brimline.testing import SessionBuilder, bash_event, event

LINES = "\n".join(f"line {number} of the output" for number in range(1_000))


def answer(name: str, payload: dict[str, Any], home_dir: str) -> dict[str, Any]:
    """What the client is told; empty for nothing."""
    said = respond(name, json.dumps(payload).encode(), home_dir)
    found: dict[str, Any] = json.loads(said)["hookSpecificOutput"] if said else {}
    return found


def shown(session: SessionBuilder, output: str, **fields: Any) -> dict[str, Any]:
    """A command showed a log."""
    return bash_event(session, output, tool_input={"command": "cat app.log"}, **fields)


def read_event(session: SessionBuilder, path: str, **asked: int) -> dict[str, Any]:
    """A file of a thousand lines was read, or a page of it."""
    start, limit = asked.get("offset", 1), asked.get("limit")
    page = LINES.split("\n")[start - 1 :][:limit]
    file = {
        "filePath": path,
        "content": "\n".join(page),
        "numLines": len(page),
        "startLine": start,
        "totalLines": 1_000,
    }
    return event(
        "PostToolUse",
        session,
        tool_name="Read",
        tool_input={"file_path": path} | asked,
        tool_response={"type": "text", "file": file},
    )


def write_event(session: SessionBuilder, path: str) -> dict[str, Any]:
    """A file is about to be written."""
    asked = {"file_path": path, "content": "new"}
    return event("PreToolUse", session, tool_name="Write", tool_input=asked)


@pytest.mark.row("S3-05", "S3-06")
def test_a_subagent_is_left_alone_and_the_main_agent_is_not(
    session: SessionBuilder, home_dir: str
) -> None:
    """The same output passes where a subagent asked for it."""
    inside = shown(session, LINES, agent_id="a1b2", agent_type="general-purpose")

    assert answer("PostToolUse", inside, home_dir) == {}
    replaced = answer("PostToolUse", shown(session, LINES), home_dir)
    assert replaced["updatedToolOutput"]["stdout"].startswith("[brimline stored")


def test_pages_too_small_to_be_looked_at_still_count(
    session: SessionBuilder, home_dir: str
) -> None:
    """A hundred lines at a time, and the file has been seen whole."""
    answer("PostToolUse", read_event(session, "/p/a.log"), home_dir)
    answer("PostToolUse", read_event(session, "/p/b.log"), home_dir)
    for start in range(1, 1_000, 100):
        page = read_event(session, "/p/a.log", offset=start, limit=100)
        assert answer("PostToolUse", page, home_dir) == {}

    assert answer("PreToolUse", write_event(session, "/p/a.log"), home_dir) == {}
    refused = answer("PreToolUse", write_event(session, "/p/b.log"), home_dir)
    assert refused["permissionDecision"] == "deny"


def test_a_subagents_overwrite_is_its_own_affair(session: SessionBuilder, home_dir: str) -> None:
    """It has its own window."""
    answer("PostToolUse", read_event(session, "/p/a.log"), home_dir)
    inside = write_event(session, "/p/a.log") | {"agent_id": "a1b2"}

    assert answer("PreToolUse", inside, home_dir) == {}


def test_a_store_of_a_newer_format_lets_results_pass_and_says_why(
    session: SessionBuilder, home_dir: str
) -> None:
    """Nothing is stored where nothing could be had back; the log has the sentence."""
    answer("PostToolUse", shown(session, LINES), home_dir)
    with open(f"{home_dir}/store/format", "w", encoding="ascii") as file:
        file.write("2\n")
    other = shown(session, LINES) | {"tool_input": {"command": "cat other.log"}}

    assert answer("PostToolUse", other, home_dir) == {}
    (failure,) = recent(home_dir, 0)
    assert "newer brimline" in failure["message"]


@pytest.mark.parametrize("asked", [None, [], {}, {"file_path": 5}, {"file_path": "\0"}])
def test_any_write_gets_an_answer(session: SessionBuilder, home_dir: str, asked: Any) -> None:
    """Foreign input does not stop a tool."""
    answer("PostToolUse", read_event(session, "/p/a.log"), home_dir)
    payload = write_event(session, "") | {"tool_input": asked}

    assert answer("PreToolUse", payload, home_dir) == {}
