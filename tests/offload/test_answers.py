"""Calls with the client's record of their answers, from the end of a transcript."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from brimline.offload import answers

if TYPE_CHECKING:
    from pathlib import Path

    from brimline.testing import SessionBuilder

MARKS = (b'"Read"',)


def recorded(session: SessionBuilder) -> list[answers.Answer]:
    """The Reads of a session."""
    return list(answers.recorded(session.path, MARKS, lambda tool, _: tool == "Read"))


def read(session: SessionBuilder, path: str, text: str = "x", **extra: Any) -> None:
    """A file is read."""
    call = session.tool_call(1_000, "Read", file_path=path)
    session.tool_result(call, text, **extra)


def test_wanted_calls_come_with_their_answers_in_order(session: SessionBuilder) -> None:
    """What the model was sent, what the client kept, and where the session was."""
    read(session, "/a", "1\tone", toolUseResult={"type": "text"})
    session.tool_result(session.tool_call(1_000, "Bash", command="Read"), "other")
    read(session, "/b")

    first, second = recorded(session)

    assert (first.tool, first.tool_input, first.text) == ("Read", {"file_path": "/a"}, "1\tone")
    assert (first.response, first.cwd) == ({"type": "text"}, session.cwd)
    assert second.tool_input == {"file_path": "/b"}


def test_results_that_share_a_row_have_no_record_of_their_own(session: SessionBuilder) -> None:
    """There is one record, and no telling whose it is."""
    calls = [session.tool_call(1_000, "Read", file_path=name) for name in ("/a", "/b")]
    blocks = [
        {"type": "tool_result", "tool_use_id": call, "content": [{"type": "text", "text": call}]}
        for call in ("unknown", *calls)
    ]
    session.row("user", message={"role": "user", "content": blocks}, toolUseResult={"a": 1})

    assert [(one.text, one.response) for one in recorded(session)] == [(c, None) for c in calls]


def test_other_threads_and_broken_rows_are_passed_over(session: SessionBuilder) -> None:
    """Subagents, torn lines, calls without an answer, answers without a call, foreign kinds."""
    read(session, "/a", isSidechain=True)
    session.raw(b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id"\n')
    session.raw(b'{"type":"user","message":{"content":[{"type":"tool_result"}]}}\n')
    odd = {"type": "tool_use", "id": 5, "name": "Read", "input": []}
    session.reply(1_000, odd, {"type": "tool_use", "name": "Read"})
    session.tool_result("toolu_unknown", "x")
    session.tool_call(1_000, "Read", file_path="/unanswered")
    call = session.tool_call(1_000, "Read", file_path="/b")
    session.raw(f"null\n[1]\n{json.dumps({'type': 'user', 'toolUseResult': 1, 'x': call})}\n")
    session.tool_result(call, "seen", cwd=None)

    (found,) = recorded(session)

    assert (found.text, found.cwd) == ("seen", "")


def test_what_is_no_transcript_is_an_error(session: SessionBuilder, world: Path) -> None:
    """The caller knows what that means."""
    with pytest.raises(OSError, match="No such file"):
        recorded(session)
    session.path = str(world)
    with pytest.raises(OSError, match="not a regular file"):
        recorded(session)
