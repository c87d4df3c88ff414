"""What happened in a session: which calls with which results, in which request, after what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.transcript.typed import Row, Session

from .compacted import LINE, compact_inside

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder


def read(session: SessionBuilder) -> tuple[Session, list[Row]]:
    """All of it, and its rows."""
    found = Session()
    return found, list(found.rows_of(session.path))


@pytest.mark.parametrize("is_rebuilt", [True, False])
def test_a_call_that_was_written_again_is_one_call(
    session: SessionBuilder, is_rebuilt: bool
) -> None:
    """Its size is that of its first writing, its place that of the last; short ones stay whole."""
    session.prompt()
    long, short = (session.tool_call(tokens, command="make") for tokens in (10_000, 11_000))
    session.tool_result(long, "x" * 9_000)
    session.tool_result(short, "y" * 90)
    session.cut(short)
    compact_inside(session, is_rebuilt=is_rebuilt)
    session.reply(5_000)

    found, rows = read(session)

    told = [(call.size_bytes, call.request, call.segment) for call in found.calls.values()]
    assert told == [(9_000, 1, 1), (90, 2, 1)]
    assert [found.calls[name].moved_out for name in (long, short)] == [True, False]
    assert found.cut_by_client == {short}
    again = [row for row in rows if row.is_copy]
    assert [row.entry.prompt for row in again] == [None] * 5
    assert sum(piece.characters for row in again for piece in row.entry.pieces) < len(LINE) * 9


def test_a_result_that_stands_before_its_call_belongs_to_it(session: SessionBuilder) -> None:
    """One whose call is nowhere has neither tool nor subject."""
    session.tool_result("late", "x")
    session.tool_result("gone", "x")
    block = {"type": "tool_use", "id": "late", "name": "Read", "input": {"file_path": "/a"}}
    session.reply(9_000, block)

    calls = read(session)[0].calls

    assert [calls["late"].tool, calls["late"].subject, calls["late"].request] == ["Read", "/a", 1]
    assert (calls["gone"].tool, calls["gone"].size_bytes) == ("", 1)


def test_rows_of_a_reply_are_of_one_request_also_where_the_first_measure_nothing(
    session: SessionBuilder,
) -> None:
    """What was attached before it is told with it."""
    session.reply(9_000)
    session.row("attachment", attachment={"type": "skill_listing"})
    for number, tokens in enumerate((0, 3, 9_500)):
        block = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {}}
        usage = {"input_tokens": tokens, "output_tokens": tokens}
        session.row("assistant", message={"id": "m", "content": [block], "usage": usage})

    found, _ = read(session)

    assert [request.tokens for request in found.requests] == [9_000, 9_500]
    assert found.requests[1].spent.output_tokens == 9_500
    assert found.requests[1].attached == {"skill_listing": 1}
    assert [call.request for call in found.calls.values()] == [2, 2, 2]
