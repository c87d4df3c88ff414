"""Inspection: figures that add up, a context that begins at the last compaction, little memory."""

from __future__ import annotations

import io
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transcript.compacted import compact_inside

import brimline
from brimline.session import inspect, session_documents
from brimline.session import inspect as inspecting
from brimline.session.faults import Finder
from brimline.session.inspect import LARGEST
from brimline.testing import SessionBuilder, text_block
from brimline.transcript import read

from .broken import ROWS, lines_of, worked


def test_rows_turns_and_requests_are_counted(session: SessionBuilder) -> None:
    """Rows of one reply are one request; a line too long to parse is one line."""
    worked(session)
    session.row("system", subtype="turn_duration")
    session.raw(b'{"type":"user","text":"' + b"x" * (9 << 20) + b'"}\n')
    found = inspecting.inspect(session.path)

    assert found.types == {"user": 5, "assistant": 5, "system/turn_duration": 1}
    assert found.turns == 2
    assert found.occupancies == [20_000, 21_000, 22_000, 23_000]
    assert found.models == {session.model: 4}
    assert found.session_id == session.session_id
    assert found.lines == len(lines_of(session)) == 12


@pytest.mark.parametrize("names", ["one by one", "the ends"])
def test_rows_a_compaction_kept_are_in_the_context(session: SessionBuilder, names: str) -> None:
    """Newer boundaries name them, older ones the first and the last."""
    first, middle, last = (session.prompt(letter * 3_000)["uuid"] for letter in "xyz")
    session.parent = None
    kept: dict[str, Any] = {"preservedMessages": {"uuids": [first, middle, last]}}
    if names == "the ends":
        kept = {"preservedSegment": {"headUuid": first, "tailUuid": last, "anchorUuid": "a"}}
    session.row("system", subtype="compact_boundary", compactMetadata=kept)
    context = inspecting.inspect(session.path).context

    assert context.measured_tokens is None
    assert context.since_tokens > 2_500


def largest_results(session: SessionBuilder) -> list[dict[str, Any]]:
    """Those that a program is told."""
    document = session_documents.inspection_document(session.path, f"{session.path}-home")
    results: list[dict[str, Any]] = document["largest_results"]
    return results


def test_the_largest_results_come_first_and_are_few(session: SessionBuilder) -> None:
    """Of results alike the earlier one comes first; one without its call is listed too."""
    session.tool_result("toolu_gone", "x" * 2_001)
    for size in range(30):
        call = session.tool_call(1_000 + size, command=f"c{size}")
        session.tool_result(call, "x" * min(size * 100, 2_000))
    unknown, *largest = largest_results(session)

    assert (unknown["tool"], unknown["in_context"]) == (None, True)
    assert len(largest) == LARGEST - 1
    assert {one["bytes"] for one in largest} == {2_000}
    assert [one["source"] for one in largest][:2] == ["c20", "c21"]
    assert largest[0]["request"] == 21


@given(st.lists(st.one_of(ROWS.map(lambda one: json.dumps(one).encode()), st.binary())))
def test_anything_can_be_inspected(rows: list[bytes]) -> None:
    """Whatever its lines are."""
    data = b"\n".join(rows)
    found = inspecting.inspect_given_lines(read.lines_of_stream(io.BytesIO(data)))

    assert found.size_bytes == len(data)


def test_memory_grows_by_some_bytes_a_row_only() -> None:
    """A gigabyte has hundreds of thousands of rows; as objects they would not fit."""
    count = 10_000
    finder = Finder()
    tracemalloc.start()
    try:
        for number in range(count):
            parent = f'"{number - 1:036d}"' if number else "null"
            block = f'{{"type":"tool_use","id":"toolu_{number:020d}","name":"Bash","input":{{}}}}'
            if number % 2:
                block = f'{{"type":"tool_result","tool_use_id":"toolu_{number - 1:020d}"}}'
            text = (
                f'{{"parentUuid":{parent},"type":"{("assistant", "user")[number % 2]}",'
                f'"uuid":"{number:036d}","message":{{"content":[{block}]}}}}\n'
            )
            finder.read_line(read.Line(number + 1, 0, text.encode()))
        # What other threads of the test's process hold is not the finder's.
        ours = tracemalloc.Filter(
            inclusive=True, filename_pattern=f"{Path(brimline.__file__).parent}/*"
        )
        traces = tracemalloc.take_snapshot().filter_traces([ours]).traces
        held_bytes = sum(trace.size for trace in traces)
    finally:
        tracemalloc.stop()

    # As objects a row takes more than 3,000.
    assert 300 < held_bytes / count < 1_200


def test_it_tells_where_thinking_was_lost(session: SessionBuilder) -> None:
    """With who left it out."""
    session.reply(20_000)
    session.row("attachment", attachment={"type": "thinking_stripped", "scope": "all"})
    session.reply(21_000)

    found = inspecting.inspect(session.path)

    assert found.lost_thinking == [(1, "all, by the client after a refusal")]


def test_it_tells_what_was_cleared_and_counts_it_as_not_sent(session: SessionBuilder) -> None:
    """A result that the client cut is in the file, and in no request."""
    call = session.tool_call(20_000, command="make")
    session.tool_result(call, "x" * 9_000)
    session.now += 7_200
    session.cut(call, tokens=3_000)

    document = session_documents.inspection_document(session.path, f"{session.path}-home")

    what = "1 result, ~3,000 tokens, by the client, after a pause"
    told = {"by": "client", "after_request": 1, "results": 1, "tokens": 3_000, "what": what}
    assert document["cleared"] == [told]
    [result] = document["largest_results"]
    assert (result["in_context"], result["cut_by_client"]) == (False, True)


def test_what_a_compaction_kept_is_estimated_as_the_session_has_counted(
    session: SessionBuilder,
) -> None:
    """Where its texts take more tokens than usual, as JSON and other alphabets do."""
    session.prompt("Count them.")
    tokens = 20_000
    for _ in range(40):
        call = session.tool_call(tokens, output_tokens=60, command="make")
        session.tool_result(call, '{"a":1},' * 175)
        tokens += 60 + 700
    session.reply(tokens, text_block("Counted."))
    compact_inside(session)

    assert inspecting.inspect(session.path).resume_tokens == pytest.approx(tokens, rel=0.02)


def test_a_session_is_told_with_its_times_its_id_and_its_models(
    session: SessionBuilder, world: Path
) -> None:
    """First and last row, and the last answer; without any the file's name is the id."""
    first = session.prompt()["timestamp"]
    (answered,) = session.reply(1_000)
    session.model = "other"
    (second,) = session.reply(2_000)
    last = session.prompt()["timestamp"]
    session.raw('{"type":"mode"}\n{"no":"type"}\n')

    found = inspecting.inspect(session.path)

    assert (found.first_at, found.measured_at, found.last_at) == (first, second["timestamp"], last)
    assert answered["timestamp"] not in (found.measured_at, found.last_at)
    assert found.models == {"claude-sonnet-4-6": 1, "other": 1}
    assert found.types == {"user": 2, "assistant": 2, "mode": 1, "without a type": 1}
    empty = world / "an-id.jsonl"
    empty.write_bytes(b"")
    none = inspecting.inspect(str(empty))
    assert (none.session_id, none.first_at, none.last_at, none.lines) == ("an-id", None, None, 0)
    assert (none.measured_at, none.is_undone) == (None, False)


def test_a_result_is_told_with_what_compactions_made_of_it(session: SessionBuilder) -> None:
    """In the context, moved out as a line, or left behind; its source up to 200 characters."""
    session.prompt()
    session.tool_result(session.tool_call(1_000, command="c" * 201), "x" * 3_000)
    session.tool_result(session.tool_call(1_000, command="short"), "y" * 1_000)
    session.tool_result("toolu_side", "z" * 9_000, isSidechain=True, agentId="a")

    def told() -> list[tuple[str, bool, bool]]:
        names = ("source", "in_context", "moved_out")
        found = [tuple(one[name] for name in names) for one in largest_results(session)]
        return [((source or "")[:1], *where) for source, *where in found]

    assert told() == [("c", True, False), ("s", True, False)]
    assert len(largest_results(session)[0]["source"]) == 200
    compact_inside(session)
    assert told() == [("c", False, True), ("s", True, False)]
    session.compact(9_000)
    assert told() == [("c", False, False), ("s", False, False)]


@pytest.mark.parametrize(("size", "is_undone"), [(5 << 20, False), ((5 << 20) - 1, True)])
def test_a_resume_undoes_a_compaction_only_where_it_loads_the_file_whole(
    session: SessionBuilder, size: int, is_undone: bool
) -> None:
    """Below five megabytes; what it takes is told accordingly."""
    session.prompt("x" * 30_000)
    session.reply(20_000)
    session.parent = None
    session.row("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    session.raw(" " * (size - os.path.getsize(session.path) - 1) + "\n")

    found = inspecting.inspect(session.path)

    assert (found.size_bytes, found.is_undone) == (size, is_undone)
    wanted = found.context.next_tokens_if_uncompacted if is_undone else found.context.next_tokens
    assert found.resume_tokens == wanted
    assert found.context.next_tokens_if_uncompacted != found.context.next_tokens


@pytest.fixture
def path(world: Path) -> Path:
    """A session of forty rows."""
    path = world / "p" / "s.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"".join(b'{"n":%d,"text":"old"}\n' % number for number in range(40)))
    return path


def test_a_session_without_an_id_has_that_of_its_file(world: Path) -> None:
    """One that tells it has its own."""
    path = world / "name.jsonl"
    path.write_text('{"type":"user","message":{"role":"user","content":"x"}}\n')

    assert inspect.inspect(str(path)).session_id == "name"
