"""Calls, results, requests and compactions, in the order of a transcript."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from brimline.offload import exchanges
from brimline.testing import SessionBuilder, text_block
from brimline.transcript import find

if TYPE_CHECKING:
    from pathlib import Path

    from brimline.offload.exchanges import Moment


def moments(session: SessionBuilder) -> list[Moment]:
    """What the session's file tells."""
    return list(exchanges.read(session.path))


def test_a_call_and_its_result_are_told_with_what_they_are_about(session: SessionBuilder) -> None:
    """The command, the whole length of the answer, and its beginning."""
    call_id = session.tool_call(40_000, "Bash", command="make all", description="x" * 50)
    session.tool_result(call_id, "ü" * 10_000)

    called, answered = moments(session)

    (call,) = called.calls
    assert (call.call_id, call.tool, call.subject) == (call_id, "Bash", "make all")
    assert call.characters == len("Bash") + len("make all") + 50
    assert called.usage is not None
    assert called.usage.prompt_tokens == 40_000
    (result,) = answered.results
    assert (result.call_id, result.characters, result.size_bytes) == (call_id, 10_000, 20_000)
    assert result.head == "ü" * exchanges.HEAD_CHARACTERS
    assert answered.other_characters == 0


@pytest.mark.parametrize(
    "content",
    [
        [text_block("one"), {"type": "image", "source": {}}, text_block("two")],
        [text_block("one\ntwo")],
        "one\ntwo",
    ],
)
def test_texts_in_blocks_are_one_text(content: object, session: SessionBuilder) -> None:
    """Agents and MCP servers answer in blocks."""
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": content}
    session.row("user", message={"role": "user", "content": [block]})

    (result,) = moments(session)[0].results
    assert result.head == "one\ntwo"
    assert result.characters in {6, 7}


def test_a_file_is_named_by_its_full_path(session: SessionBuilder) -> None:
    """Models write paths from the current folder, hooks are told the whole."""
    for path in ("a/b.py", "./a/b.py", f"{session.cwd}/a/b.py"):
        session.tool_call(40_000, "Read", file_path=path)

    calls = [call for moment in moments(session) for call in moment.calls]

    assert {call.subject for call in calls} == {f"{session.cwd}/a/b.py"}


def test_a_subagents_rows_are_told_apart(session: SessionBuilder) -> None:
    """Old clients keep them in the session's own file."""
    session.row(
        "user",
        message={"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
        isSidechain=True,
    )
    session.reply(9_000, isSidechain=True)

    answered, replied = moments(session)

    assert answered.in_subagent
    assert len(answered.results) == 1
    assert replied.in_subagent
    assert replied.usage is not None


def test_prompts_and_what_the_client_attaches_are_something_else(session: SessionBuilder) -> None:
    """They make a growth between two requests that is not the results' own."""
    session.prompt("go on")
    session.row("attachment", attachment={"type": "skill_listing"}, rendered="text")
    session.row("attachment", attachment={"type": "hook_success"})

    assert [moment.other_characters for moment in moments(session)] == [5, 4, 0]


def test_compactions_are_told(session: SessionBuilder) -> None:
    """The boundary and its summary, or the summary alone."""
    session.compact(160_000)
    session.compact(160_000, legacy=True)

    found = [(moment.is_boundary, moment.is_summary) for moment in moments(session)]

    assert found == [(True, False), (True, True), (True, True)]


def test_damage_is_passed_over(session: SessionBuilder) -> None:
    """Torn lines, two objects on a line, foreign rows, wrong types everywhere."""
    first = session.row("user", message={"role": "user", "content": "one"})
    session.raw('{"type":"user","message":{"role":"user","cont\n')
    twice = json.dumps(first) + json.dumps(first | {"uuid": "other"})
    session.raw(twice + "\n")
    session.raw('[1,"user"]\n{"type":"user"}\n{"type":"assistant","message":"tool_use"}\n')
    for content in (5, [5, None, {"type": "tool_result", "content": {}}], [{"type": "tool_use"}]):
        for kind in ("user", "assistant"):
            session.row(kind, message={"role": kind, "content": content}, uuid=5, cwd=[])
    session.raw(b'{"type":"user","uuid":"last","message":{"role":"user","content":"\xff\xfe"}}')

    found = moments(session)

    assert [moment.uuid for moment in found[:3]] == [first["uuid"], first["uuid"], "other"]
    assert found[-1].uuid == "last"


def test_the_files_of_subagents_are_found(world: Path) -> None:
    """They lie in the session's own folder, whatever its name holds."""
    folder = world / "with [brackets] and spaces"
    (folder / "session" / "subagents").mkdir(parents=True)
    for name in ("agent-b.jsonl", "agent-a.jsonl", "agent-a.meta.json"):
        (folder / "session" / "subagents" / name).touch()

    found = find.subagents_of(str(folder / "session.jsonl"))

    assert [path.rpartition("/")[2] for path in found] == ["agent-a.jsonl", "agent-b.jsonl"]
    assert find.subagents_of(str(world / "none.jsonl")) == []
