"""What a survey of a session finds: what could go, which request it is of, what is needed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from brimline.session import survey
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
    return [(one.call.id, one.request, one.size_bytes) for one in found.items if one.kind == "text"]


@pytest.mark.parametrize(("size", "is_item"), [(699, False), (700, True)])
def test_a_result_could_go_from_700_bytes_on(
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
        assert (item.is_main, item.segment) == (True, 0)
        assert (item.call.tool, item.call.subject) == ("Bash", "make")
        assert (item.characters, item.disk_bytes) == (size, size + 2)
        assert item.path == ("message", "content", 0, "content")
        assert len(item.digest) == 64


@pytest.mark.parametrize(("size", "is_item"), [(210, False), (300, True)])
def test_a_copy_could_go_where_it_is_worth_a_change(
    session: SessionBuilder, size: int, is_item: bool
) -> None:
    """From 250 bytes of its line on; what the client needs itself stays."""
    for tool in ("Bash", "Agent", "TodoWrite"):
        call = session.tool_call(2_000, tool)
        session.tool_result(call, "short", toolUseResult={"stdout": "x" * size})

    found = taken(session)

    copies = [one for one in found.items if one.kind == "copy"]
    assert [one.request for one in copies] == ([1] if is_item else [])
    assert all(one.path == ("toolUseResult",) and one.disk_bytes >= 250 for one in copies)


def test_rows_of_one_reply_are_one_request_and_those_of_subagents_none(
    session: SessionBuilder,
) -> None:
    """Their results belong to the request that was under way."""
    session.reply(2_000, text_block("a"), text_block("b"))
    aside: dict[str, Any] = {"isSidechain": True, "agentId": "g"}
    block = {"type": "tool_use", "id": "t9", "name": "Bash", "input": {}}
    session.reply(9_000, block, **aside)
    session.tool_result("t9", "y" * 900, **aside)
    # Neither are what the client said by itself, and a reply without an id.
    session.row("assistant", message={"id": "m9", "model": "<synthetic>", "usage": {}})
    session.row("assistant", message={"model": "m", "usage": {"input_tokens": 5}})

    found = taken(session)

    assert (found.requests, found.occupancy_tokens) == (1, 2_000)
    assert texts(found) == [("t9", 1, 900)]
    assert [one.is_main for one in found.items if one.kind == "text"] == [False]
    assert "t9" not in found.sent.calls


def test_progress_rows_could_go_unless_something_hangs_on_them(session: SessionBuilder) -> None:
    """The last row is needed by what comes next."""
    session.prompt()
    first = session.row("progress", data={})
    session.row("progress", data={})
    session.parent = first["uuid"]
    session.prompt()

    found = taken(session)

    names = [one.uuid for one in found.items if one.kind == "progress"]
    assert first["uuid"] in names
    assert first["uuid"] in found.referenced
    assert session.parent in found.referenced
    assert found.parents[str(session.parent)] == first["uuid"]


def test_a_compaction_begins_another_conversation(session: SessionBuilder) -> None:
    """Its results are of the next segment, and its calls alone are sent."""
    before = session.tool_call(2_000)
    session.tool_result(before, "x" * 800)
    session.compact(3_000)
    after = session.tool_call(2_000)
    session.tool_result(after, "x" * 800, is_error=True)

    found = taken(session)

    first, second = (one.segment for one in found.items if one.kind == "text")
    assert first == 0 < second == found.sent.segment
    assert list(found.sent.calls) == [after]
    assert found.sent.calls[after].characters == 800


def test_large_results_and_directives_are_the_conversation_of_pins(
    session: SessionBuilder,
) -> None:
    """A result from 5,000 bytes on is one that a pin may mean."""
    session.prompt("brim:pin next")
    session.prompt("hello")
    for size in (4_999, 5_000):
        session.tool_result(session.tool_call(2_000), "x" * size)

    found = taken(session).conversation

    assert len(found) == 2
    assert getattr(found[0], "kind", None) == "next"


def test_a_line_that_is_no_row_is_counted_and_let_be(session: SessionBuilder) -> None:
    """A torn one at the end too."""
    session.prompt()
    session.raw("no json\n")
    session.raw('{"type": "user"')

    found = taken(session)

    assert (found.lines, found.unparsed_lines) == (3, 2)
    assert found.last_mark is not None
    assert found.last_mark.offset == 0


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
    """The last 512 bytes."""
    base: Any = b"x" * 600

    assert survey.line_checksum(base) == survey.line_checksum(b"y" + base)
    assert survey.line_checksum(base) != survey.line_checksum(base[:-1] + b"y")
    assert survey.line_checksum(b"a" + b"x" * 511) != survey.line_checksum(b"b" + b"x" * 511)
    assert survey.line_checksum(b"a" + b"x" * 512) == survey.line_checksum(b"b" + b"x" * 512)
