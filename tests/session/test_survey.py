"""What a survey of a session finds: what could go, which request it is of, what is needed."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from brimline.session import survey
from brimline.session.survey import SMALLEST_TEXT_BYTES
from brimline.testing import text_block

if TYPE_CHECKING:
    from brimline.session.survey import Survey
    from brimline.testing import SessionBuilder


def taken(session: SessionBuilder) -> Survey:
    """The survey of all that was written."""
    with open(session.path, "rb") as file:
        return survey.take_survey(file, os.path.getsize(session.path), None)


def texts(found: Survey) -> list[tuple[str, int, int]]:
    """The results that could go: their call, request and size."""
    return [(one.call.id, one.call.request, one.size_bytes) for one in found.items]


@pytest.mark.parametrize(
    ("size", "is_item"), [(SMALLEST_TEXT_BYTES - 1, False), (SMALLEST_TEXT_BYTES, True)]
)
def test_a_result_could_go_where_it_is_not_small(
    session: SessionBuilder, size: int, is_item: bool
) -> None:
    """With its call, its request and its key."""
    session.prompt()
    session.reply(1_000)
    call = session.tool_call(2_000, command="make")
    session.tool_result(call, "x" * size, toolUseResult="x")
    session.reply(3_000)

    found = taken(session)

    assert texts(found) == ([(call, 2, size)] if is_item else [])
    assert (found.requests, found.occupancy_tokens, found.model) == (3, 3_000, session.model)
    assert (found.lines, found.unparsed_lines) == (5, 0)
    assert found.length == os.path.getsize(session.path)
    if is_item:
        (item,) = found.items
        assert item.segment == 0
        assert (item.call.tool, item.call.subject) == ("Bash", "make")
        assert (item.characters, item.disk_bytes) == (size, size + 2)
        assert item.path == ("message", "content", 0, "content")
        assert len(item.digest) == 64


def test_rows_of_one_reply_are_one_request_and_those_of_subagents_none(
    session: SessionBuilder,
) -> None:
    """Nothing of theirs could go."""
    session.reply(2_000, text_block("a"), text_block("b"))
    aside: dict[str, Any] = {"isSidechain": True, "agentId": "g"}
    block = {"type": "tool_use", "id": "t9", "name": "Bash", "input": {}}
    session.reply(9_000, block, **aside)
    session.tool_result("t9", "y" * 900, **aside)
    # Neither is what the client said by itself.
    session.row("assistant", message={"id": "m9", "model": "<synthetic>", "usage": {}})

    found = taken(session)

    assert (found.requests, found.occupancy_tokens) == (1, 2_000)
    assert texts(found) == []
    assert "t9" not in found.sent.calls


def test_a_compaction_begins_another_conversation(session: SessionBuilder) -> None:
    """Its results are of the next segment, and its calls alone are sent."""
    before = session.tool_call(2_000)
    session.tool_result(before, "x" * 2_000)
    session.compact(3_000)
    after = session.tool_call(2_000)
    session.tool_result(after, "x" * 2_000, is_error=True)

    found = taken(session)

    first, second = (one.segment for one in found.items)
    assert first == 0 < second == found.sent.segment
    assert list(found.sent.calls) == [after]
    assert found.sent.calls[after].characters == 2_000


def test_a_line_that_is_no_row_is_counted_and_let_be(session: SessionBuilder) -> None:
    """A torn one at the end too."""
    session.prompt()
    session.raw("no json\n")
    session.raw('{"type": "user"')

    found = taken(session)

    assert (found.lines, found.unparsed_lines) == (3, 2)


@pytest.mark.parametrize(
    ("first", "left"), [(None, ["a", "b", "c"]), ("", []), ("b", ["a"]), ("x", ["a", "b", "c"])]
)
def test_thoughts_are_let_go_of_from_a_message_on(first: str | None, left: list[str]) -> None:
    """All of them where none is named; an unknown name changes nothing."""
    thoughts = [survey.Thought(number, name, 5) for number, name in enumerate("abc")]
    conversation = survey.Conversation(thoughts=thoughts)

    conversation.drop_thoughts_from(first)

    assert [thought.message_id for thought in conversation.thoughts] == left


def test_a_line_is_told_from_another_by_its_end() -> None:
    """By so many bytes."""
    least = survey._CHECKED_BYTES
    base: Any = b"x" * least

    assert survey.line_checksum(base) == survey.line_checksum(b"y" + base)
    assert survey.line_checksum(base) != survey.line_checksum(base[:-1] + b"y")
    assert survey.line_checksum(b"a" + b"x" * (least - 1)) != survey.line_checksum(
        b"b" + b"x" * (least - 1)
    )
    assert survey.line_checksum(b"a" + base) == survey.line_checksum(b"b" + base)


KEY = "sha256:" + "0123456789ab"


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ({"a": ["ü", 1.5, None]}, '{"a":["ü",1.5,null]}'.encode()),
        ({"a": "\ud800ü"}, b'{"a":"\\ud800\\u00fc"}'),
    ],
)
def test_a_row_is_written_as_the_client_does(value: Any, line: bytes) -> None:
    """Half a character is escaped, and then all that is not plain."""
    assert survey.row_bytes(value) == line


def test_texts_that_cannot_be_stored_stay(session: SessionBuilder) -> None:
    """Half a character, bytes that are not text, two rows on a line, a line that is not ended."""
    call = session.tool_call(2_000)
    block = {"type": "tool_result", "tool_use_id": call, "content": "\ud800" * 2_000}
    row = {"type": "user", "uuid": "u1", "message": {"content": [block]}}
    session.raw(json.dumps(row) + "\n")
    fine = json.dumps(row | {"uuid": "u2"}).replace("\\ud800", "x")
    session.raw(fine.replace("xxx", "\udcff", 1).encode("utf-8", "surrogateescape") + b"\n")
    session.raw(fine.replace("u2", "u3") + json.dumps({"type": "mode"}) + "\n")
    session.raw(fine.replace("u2", "u4"))

    found = taken(session)

    assert found.items == []
    session.raw("\n")
    assert [one.uuid for one in taken(session).items] == ["u4"]


def test_what_a_compaction_kept_between_two_rows_is_protected(session: SessionBuilder) -> None:
    """From the last to the first along their parents, and the rows that it names."""
    names = [session.prompt(str(number))["uuid"] for number in range(5)]
    segment = {"headUuid": names[1], "tailUuid": names[3]}
    told = {"preservedSegment": segment, "preservedMessages": {"uuids": ["unknown"]}}
    session.row("system", subtype="compact_boundary", compactMetadata=told)

    assert taken(session).protected == {*names[1:4]}


def test_parents_that_run_in_a_circle_end_the_walk(session: SessionBuilder) -> None:
    """Each row once."""
    session.row("user", uuid="a", parentUuid="b")
    session.row("user", uuid="b", parentUuid="a")
    told = {"preservedSegment": {"headUuid": "elsewhere", "tailUuid": "b"}}
    session.row("system", subtype="compact_boundary", compactMetadata=told)

    assert taken(session).protected == {"a", "b"}


def test_thinking_is_noted_by_message_and_place_of_the_main_thread(
    session: SessionBuilder,
) -> None:
    """Hidden thinking counts; what the client has left out since does not."""
    thought = {"type": "thinking", "thinking": "t" * 50, "signature": "s"}
    session.prompt()
    begin = os.path.getsize(session.path)
    session.reply(1_000, thought, message_id="m1")
    session.reply(1_000, thought, message_id="m2", isSidechain=True, agentId="g")
    session.reply(1_000, thought, message_id="m3")

    first, second = taken(session).sent.thoughts

    assert (first.message_id, first.offset, first.characters) == ("m1", begin, second.characters)
    assert second.message_id == "m3"
    assert first.characters > 0
    stripped = {"type": "thinking_stripped", "scope": "partial", "from": {"messageId": "m3"}}
    session.row("attachment", attachment=stripped)
    assert [one.message_id for one in taken(session).sent.thoughts] == ["m1"]


@pytest.mark.parametrize("size", [0, (5 << 20) - 1, 5 << 20])
def test_what_a_resume_sends_depends_on_whether_it_undoes_the_last_compaction(
    session: SessionBuilder, size: int
) -> None:
    """It does where the boundary names no rows and the client loads the file whole."""
    before = session.tool_call(2_000)
    session.tool_result(before, "x")
    session.parent = None
    session.row("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    rest = size - os.path.getsize(session.path) - 1
    session.raw(" " * rest + "\n" if size else "")

    found = taken(session)

    is_undone = size < 5 << 20
    assert found.sent.segment == (0 if is_undone else 1)
    assert list(found.sent.calls) == ([before] if is_undone else [])


def test_calls_and_results_end_as_they_were_told(session: SessionBuilder) -> None:
    """With the length of the text; those that the client left out by itself are known."""
    failed = session.tool_call(2_000, command="make")
    block = {"type": "tool_result", "tool_use_id": failed, "content": "abc", "is_error": True}
    session.row("user", message={"role": "user", "content": [block]})
    fine = session.tool_call(2_000, "Read", file_path="/a")
    session.tool_result(fine, "text")
    told = {"trigger": "auto", "compactedToolIds": [fine]}
    session.row("system", subtype="microcompact_boundary", microcompactMetadata=told)

    found = taken(session)

    calls = found.sent.calls
    assert [(one.tool, one.subject, one.characters, one.is_error) for one in calls.values()] == [
        ("Bash", "make", 3, True),
        ("Read", "/a", 4, False),
    ]
    assert [call.request for call in found.sent.calls.values()] == [1, 2]
    assert found.cleared == {fine}
    assert found.last_row["uuid"] == session.parent


def test_two_compactions_that_a_resume_undoes_are_undone_together(session: SessionBuilder) -> None:
    """What was said before the first one is sent; one that holds ends that."""
    before = session.tool_call(2_000)
    for number in range(2):
        session.parent = None
        session.row("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
        found = taken(session)
        assert (found.sent.segment, list(found.sent.calls)) == (0, [before]), number
    session.compact(3_000)
    between = session.tool_call(2_000)
    session.parent = None
    session.row("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})

    assert list(taken(session).sent.calls) == [between]


def test_the_last_row_is_one_of_the_main_thread_with_a_name(session: SessionBuilder) -> None:
    """What comes next hangs on it."""
    last = session.prompt()
    session.prompt("aside", isSidechain=True, agentId="g")
    session.raw('{"type":"mode"}\n{"type":"mode","isSidechain":true}\n')

    found = taken(session)

    assert found.last_row["uuid"] == last["uuid"]
