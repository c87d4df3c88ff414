"""The sessions and events that tests and the demo are made of: the client's shapes, every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from brimline import testing
from brimline.testing import SessionBuilder

NAME = "11111111-2222-4333-8444-555555555555"
CWD = "/home/dev/project"


@pytest.fixture
def built(tmp_path: Path) -> SessionBuilder:
    """A session in a folder that is not there yet."""
    return SessionBuilder(str(tmp_path / "folder" / "session.jsonl"))


def rows(session: SessionBuilder) -> list[dict[str, Any]]:
    """What was written so far."""
    return [json.loads(line) for line in Path(session.path).read_text("utf-8").splitlines()]


def test_a_row_has_the_clients_head_and_follows_the_one_before(built: SessionBuilder) -> None:
    """A second later, under a number of its own, with what the test adds."""
    first, second = built.prompt(), built.prompt("é", isMeta=True)

    assert rows(built) == [first, second]
    assert "é" in Path(built.path).read_text("utf-8")
    assert first == {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": CWD,
        "sessionId": NAME,
        "version": testing.CLIENT_VERSION,
        "type": "user",
        "uuid": "00000000-0000-0000-0000-000000000001",
        "timestamp": "2026-09-21T14:13:21.000Z",
        "message": {"role": "user", "content": "go on"},
    }
    assert second["parentUuid"] == first["uuid"]
    assert (second["uuid"][-2:], second["timestamp"][-7:-1]) == ("02", "22.000")
    assert (second["isMeta"], second["message"]["content"]) == (True, "é")


@pytest.mark.parametrize(
    ("before", "tokens", "usage"),
    [
        (None, 50_000, (10, 1_000, 48_990)),
        (None, 1_011, (10, 1_000, 1)),
        (None, 4, (4, 0, 0)),
        (40_000, 50_000, (10, 9_990, 40_000)),
        (50_000, 40_000, (10, 1_000, 38_990)),
    ],
)
def test_a_reply_reads_from_the_cache_what_was_sent_before(
    built: SessionBuilder, before: int | None, tokens: int, usage: tuple[int, int, int]
) -> None:
    """Ten tokens are new, the rest is read or written; all of it is what the request took."""
    if before:
        built.reply(before)

    (row,) = built.reply(tokens)

    told = row["message"]["usage"]
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    assert tuple(told[name] for name in names) == usage
    assert told["output_tokens"] == 120
    assert sum(usage) == tokens


def test_a_reply_has_a_row_for_each_block_and_a_name_of_its_own(built: SessionBuilder) -> None:
    """Unless it is given one; without a block it says that it is done."""
    (one,) = built.reply(1_000)
    two = built.reply(2_000, testing.text_block("a"), testing.text_block("b"), output_tokens=7)
    (three,) = built.reply(3_000, message_id="msg_x")

    assert one["message"]["content"] == [{"type": "text", "text": "Done."}]
    assert [row["message"]["content"][0]["text"] for row in two] == ["a", "b"]
    assert len({row["message"]["id"] for row in two}) == 1
    assert two[0]["message"]["id"] != one["message"]["id"]
    assert two[0]["message"]["usage"]["output_tokens"] == 7
    assert three["message"]["id"] == "msg_x"
    assert (one["type"], one["message"]["model"]) == ("assistant", "claude-sonnet-4-6")
    assert one["message"]["stop_reason"] is None


def test_a_call_and_its_result_name_each_other(built: SessionBuilder) -> None:
    """The result comes with the client's own copy, which a test may replace."""
    call = built.tool_call(9_000, command="ls")
    other = built.tool_call(9_500, "Read", 30, file_path="/a")
    result = built.tool_result(call, "ok")
    replaced = built.tool_result(other, "ok", toolUseResult={"type": "text"})

    use = rows(built)[0]["message"]["content"][0]
    assert use == {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "ls"}}
    told = rows(built)[1]["message"]
    assert (told["content"][0]["name"], told["usage"]["output_tokens"]) == ("Read", 30)
    assert result["message"] == {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": call, "content": "ok"}],
    }
    assert result["toolUseResult"] == {"stdout": "ok"}
    assert replaced["toolUseResult"] == {"type": "text"}


def test_a_compaction_is_a_boundary_and_a_summary_or_the_summary_alone(
    built: SessionBuilder,
) -> None:
    """The boundary begins a chain of its own, and names the row before it."""
    before = built.prompt()
    built.compact(90_000)
    built.compact(80_000, "manual", "So far.", legacy=True)

    _, boundary, summary, old = rows(built)
    assert (boundary["parentUuid"], boundary["logicalParentUuid"]) == (None, before["uuid"])
    assert (boundary["type"], boundary["subtype"]) == ("system", "compact_boundary")
    assert boundary["compactMetadata"] == {"trigger": "auto", "preTokens": 90_000}
    assert (summary["parentUuid"], summary["isCompactSummary"]) == (boundary["uuid"], True)
    assert [row["message"]["content"] for row in (summary, old)] == ["Summary.", "So far."]


def test_anything_can_be_appended_as_it_is(built: SessionBuilder) -> None:
    """Torn lines, bytes that are not text, halves of a character."""
    built.raw("{torn\n")
    built.raw(b"\xff\n")
    built.raw("\ud800")

    assert Path(built.path).read_bytes() == b"{torn\n\xff\n\xed\xa0\x80"


def test_events_have_the_clients_keys(built: SessionBuilder) -> None:
    """Of a Bash call with its result, of a status line with and without a figure."""
    called = testing.bash_event(built, "out", tool_use_id="toolu_9")
    assert called["hook_event_name"] == "PostToolUse"
    assert (called["session_id"], called["cwd"], called["transcript_path"]) == (
        built.session_id,
        CWD,
        built.path,
    )
    assert called["tool_response"] == {
        "stdout": "out",
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
    }
    assert (called["tool_name"], called["tool_use_id"]) == ("Bash", "toolu_9")
    assert testing.bash_event(built)["tool_response"]["stdout"] == "ok"
    shown = testing.statusline_event(built, 200_000, 50_000)["context_window"]
    usage = shown["current_usage"]
    assert shown["context_window_size"] == 200_000
    assert usage["cache_read_input_tokens"] + usage["input_tokens"] == 50_000
    assert (usage["output_tokens"], usage["cache_creation_input_tokens"]) == (50, 0)
    empty = testing.statusline_event(built, None, None)["context_window"]
    assert empty == {"context_window_size": None, "current_usage": None}
