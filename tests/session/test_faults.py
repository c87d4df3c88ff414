"""The fault finder: every fault is found, what is normal is none, and nothing makes it fail."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.session import faults
from brimline.testing import SessionBuilder, text_block

from .broken import (
    BREAKS,
    ROWS,
    call,
    changed,
    findings,
    index_of,
    kinds,
    line,
    lines_of,
    row,
    sound_lines,
    worked,
)

if TYPE_CHECKING:
    from collections.abc import Callable

NOWHERE = "00000000-dead-4bad-8bad-000000000000"
CORPUS = os.environ.get("BRIMLINE_CORPUS")


def lose_parent(lines: list[bytes], text: str) -> list[bytes]:
    """The first row with a text names a parent that is nowhere."""
    at = index_of(lines, text)
    lines[at] = changed(lines[at], parentUuid=NOWHERE)
    return lines


def test_a_session_at_work_is_sound(world: Path) -> None:
    """Prompts, replies, single and parallel calls: no fault and no note."""
    found = findings(sound_lines(world))

    assert found.faults == []
    assert found.notes == {}
    assert found.rows == 10


def the_row_before(_: SessionBuilder, sound: list[bytes]) -> list[bytes]:
    """A prompt follows the reply before it."""
    return lose_parent(sound, "second prompt")


def its_call(_: SessionBuilder, sound: list[bytes]) -> list[bytes]:
    """A result follows its call, whatever stands in between."""
    return lose_parent(sound, '"tool_use_id":"toolu_two"')


def the_part_before(_: SessionBuilder, sound: list[bytes]) -> list[bytes]:
    """Parts of one reply share the message's id."""
    return lose_parent(sound, '"id":"toolu_three"')


def nothing(_: SessionBuilder, sound: list[bytes]) -> list[bytes]:
    """A file that begins in the middle of a session has a first row all the same."""
    return sound[3:]


def a_result_before_its_call(session: SessionBuilder, _: list[bytes]) -> list[bytes]:
    """Results may stand before their calls; the conversation still ends with the result."""
    session.prompt()
    session.tool_result(session.tool_call(1_000), "OUT")
    session.reply(2_000, text_block("END"))
    lines = lines_of(session)
    lines[1], lines[2] = lines[2], lines[1]
    return lose_parent(lines, "END")


def the_turn_that_was_kept(session: SessionBuilder, _: list[bytes]) -> list[bytes]:
    """A turn that was taken back was written before."""
    session.prompt("start")
    fork = session.parent
    session.prompt("a wrong turn")
    session.parent = fork
    session.prompt("KEPT")
    session.prompt("go on")
    return lose_parent(lines_of(session), "go on")


def its_own_thread(session: SessionBuilder, _: list[bytes]) -> list[bytes]:
    """Old clients keep subagents in the same file."""
    session.prompt("main")
    session.prompt("AGENT-TASK", isSidechain=True, agentId="a1")
    session.reply(1_000, text_block("main reply"))
    session.prompt("agent goes on", isSidechain=True, agentId="a1")
    return lose_parent(lines_of(session), "agent goes on")


def no_report(session: SessionBuilder, _: list[bytes]) -> list[bytes]:
    """The row before is the last of the conversation, not the last report of progress."""
    session.prompt("PROMPT")
    session.row("progress", data={"type": "hook_progress"})
    session.reply(1_000, text_block("END"))
    return lose_parent(lines_of(session), "END")


@pytest.mark.row("S3-44")
@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        (the_row_before, "FIRST-END"),
        (its_call, '"id":"toolu_two"'),
        (the_part_before, '"id":"toolu_two"'),
        (nothing, None),
        (a_result_before_its_call, "OUT"),
        (the_turn_that_was_kept, "KEPT"),
        (its_own_thread, "AGENT-TASK"),
        (no_report, "PROMPT"),
    ],
)
def test_a_row_that_lost_its_parent_follows(
    case: Callable[[SessionBuilder, list[bytes]], list[bytes]], wanted: str | None, world: Path
) -> None:
    """The row that most surely stood there; with nothing before it, it is the first."""
    lines = case(SessionBuilder(str(world / "s.jsonl")), sound_lines(world))

    (fault,) = findings(lines).faults

    parent = row(lines[index_of(lines, wanted)])["uuid"] if wanted else None
    assert (fault.kind, fault.mend) == (faults.DANGLING, faults.Mend(faults.RELINK, parent))


def test_calls_may_be_unanswered_at_the_end_and_before_a_compaction(world: Path) -> None:
    """A session that runs waits for results; nothing before a compaction is in any request."""
    session = worked(SessionBuilder(str(world / "s.jsonl")))
    session.tool_call(160_000)
    session.compact(167_000)
    session.prompt("go on")
    session.reply(24_000, call("toolu_four"), call("toolu_five"))
    session.tool_result("toolu_five", "FIVE")
    found = findings(lines_of(session))

    assert found.faults == []
    assert {kind: note.count for kind, note in found.notes.items()} == {
        faults.CUT_CALL: 1,
        faults.OPEN_CALL: 1,
    }


def test_an_unanswered_call_is_answered_and_what_follows_follows_the_answer(world: Path) -> None:
    """A prompt came after a call whose result was never written."""
    session = SessionBuilder(str(world / "s.jsonl"))
    session.prompt()
    session.tool_call(1_000)
    session.prompt("what happened?")
    lines = lines_of(session)
    (fault,) = findings(lines).faults
    answer = faults.answer_uuid(row(lines[1])["uuid"])

    moves, after = (faults.Place(3),), faults.Place(2)
    assert fault.mend == faults.Mend(faults.ANSWER, answer, ("toolu_000002",), moves, after)


def test_a_lost_result_and_the_link_behind_it_agree_on_the_answer(world: Path) -> None:
    """Two faults at one place: the reply follows the answer that is added."""
    lines = BREAKS["unanswered_call"](sound_lines(world))
    answer = faults.answer_uuid(row(lines[1])["uuid"])

    mends = {fault.kind: fault.mend for fault in findings(lines).faults}
    assert mends[faults.DANGLING] == faults.Mend(faults.RELINK, answer)


def test_what_is_odd_but_harmless_is_noted_with_its_lines(world: Path) -> None:
    """Results before their call, second results, rows twice, junk."""
    session = worked(SessionBuilder(str(world / "s.jsonl")))
    session.tool_result("toolu_one", "AGAIN")
    lines = lines_of(session)
    lines[1], lines[2] = lines[2], lines[1]
    lines += [lines[3], b"\x00" * 80 + b"\n", b"garbage \xff\n", b'{"type":"user","mess']
    found = findings(lines)

    assert found.faults == []
    assert {kind: note.lines for kind, note in found.notes.items()} == {
        faults.ANSWER_FIRST: [2],
        faults.CHILD_FIRST: [2],
        faults.REPEATED_ANSWER: [11],
        faults.REPEATED: [12],
        faults.UNREADABLE: [13, 14, 15],
    }


def test_rows_that_share_an_id_and_differ_are_left_alone(world: Path) -> None:
    """Either may be the right one, and nothing else about them is mended either."""
    lines = lose_parent(sound_lines(world), "second prompt")
    lines.insert(7, changed(lines[4], version="9"))
    found = findings(lines)

    wanted = [faults.DANGLING, faults.DIFFERING, faults.DANGLING]
    assert [fault.kind for fault in found.left_alone] == wanted
    assert "also in line 5" in found.left_alone[1].detail
    assert found.mendable == []


def test_rows_with_broken_bytes_are_left_alone(world: Path) -> None:
    """They cannot be changed without losing bytes."""
    lines = lose_parent(sound_lines(world), '"tool_use_id":"toolu_one"')
    lines[2] = lines[2].replace(b"ONE", b"\xff\xfe").replace(b"toolu_one", b"toolu_zzz")
    found = [fault for fault in findings(lines).faults if fault.place.line == 3]

    assert [(one.kind, one.mend) for one in found] == [
        (faults.DANGLING, None),
        (faults.ORPHAN, None),
    ]
    assert all("UTF-8" in fault.detail for fault in found)


def test_a_row_without_a_parent_in_the_middle_is_left_alone(world: Path) -> None:
    """A return to the start, or a lost link; a compaction and a first row come late are neither."""
    lines = sound_lines(world)
    at = index_of(lines, "second prompt")
    lines[at] = changed(lines[at], parentUuid=None)
    (fault,) = findings(lines).faults
    assert (fault.kind, fault.mend) == (faults.SECOND_ROOT, None)

    late = sound_lines(world / "late")
    late.insert(4, late.pop(0))
    assert kinds(late) == []

    session = worked(SessionBuilder(str(world / "s.jsonl")))
    session.compact(150_000)
    session.reply(30_000)
    assert kinds(lines_of(session)) == []


def test_parents_that_run_in_a_circle_make_nothing_hang(world: Path) -> None:
    """They are passed over; lost rows beside them are mended."""
    lines = lose_parent(sound_lines(world), "second prompt")
    lines[0] = changed(lines[0], parentUuid=row(lines[3])["uuid"])
    lines[5] = changed(lines[5], parentUuid=row(lines[5])["uuid"])

    assert [fault.place.line for fault in findings(lines).mendable] == [5]


@pytest.mark.parametrize("keeps", [False, True])
def test_faults_before_the_last_compaction_are_in_no_request(world: Path, keeps: bool) -> None:
    """They are mended all the same; what a compaction kept counts."""
    session = worked(SessionBuilder(str(world / "s.jsonl")))
    kept = [row(lines_of(session)[4])["uuid"]] if keeps else []
    session.parent = None
    told = {"trigger": "auto", "preTokens": 1, "preservedMessages": {"uuids": kept}}
    session.row("system", subtype="compact_boundary", compactMetadata=told)
    (fault,) = findings(BREAKS["dangling_parent"](lines_of(session))).faults

    assert fault.in_context is keeps


@pytest.mark.parametrize(
    "data",
    [b"", b"\n\n  \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf{}\r\n{}\r\n", b"{}", b'{"type":5}\n'],
)
def test_odd_but_harmless_bytes_are_no_fault(data: bytes) -> None:
    """Empty files, blank lines, marks of byte order, line ends of Windows, empty objects."""
    assert findings(data).faults == []


def test_nothing_is_missing_that_may_be_on_a_line_too_long_to_parse(world: Path) -> None:
    """Neither parents nor calls; what shares a line is still told."""
    lines = BREAKS["merged_lines"](sound_lines(world))
    value = row(lines[1])
    value["message"]["content"][0]["input"]["command"] = "x" * (9 << 20)
    lines[1] = line(value)
    found = findings(lines)

    assert [fault.kind for fault in found.faults] == [faults.MERGED]
    assert found.notes[faults.LONG].count == 1


@given(st.lists(st.one_of(ROWS, st.binary(max_size=200)), max_size=25), st.binary(max_size=3))
def test_any_rows_can_be_looked_at(rows: list[Any], end: bytes) -> None:
    """Ids that repeat, point at each other, or are no ids at all."""
    data = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in rows]
    whole = end.join(data) + b"\n".join(data)

    found = findings(whole)

    assert found.faults == sorted(found.faults, key=lambda fault: fault.place)
    assert all(1 <= fault.place.line <= whole.count(b"\n") + 1 for fault in found.faults)


@pytest.mark.skipif(CORPUS is None, reason="BRIMLINE_CORPUS is not set")
def test_recorded_sessions_have_the_faults_they_are_known_for() -> None:
    """Merged lines in two, orphans in two, and no fault in those that are sound."""
    found = {
        path.name[:3]: sorted(set(kinds(path.read_bytes())))
        for path in sorted(Path(str(CORPUS)).glob("*.jsonl"))
    }

    assert {name: names for name, names in found.items() if names} == {
        "080": ["differing_rows", "merged_lines"],
        "110": ["merged_lines"],
        "147": ["dangling_parent", "orphan_result", "second_root"],
        "152": ["dangling_parent", "orphan_result", "second_root"],
        "162": ["dangling_parent"],
        "287": ["dangling_parent"],
    }
