"""The fault finder: every fault is found, what is normal is none, and nothing makes it fail."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.session import faults
from brimline.session.find_faults import answer_uuid
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

NOWHERE = "00000000-dead-4bad-8bad-000000000000"
CORPUS = os.environ.get("BRIMLINE_CORPUS")


def _uuid(lines: list[bytes], text: str) -> str:
    found: str = row(lines[index_of(lines, text)])["uuid"]
    return found


def test_a_session_at_work_is_sound(world: Path) -> None:
    """Prompts, replies, single and parallel calls: no fault and no note."""
    found = findings(sound_lines(world))

    assert found.faults == []
    assert found.notes == {}
    assert found.rows == 10


@pytest.mark.parametrize("kind", BREAKS)
def test_every_way_to_break_a_session_is_found_and_has_one_mend(kind: str, world: Path) -> None:
    """The fault is there under its name, with what is to be done about it."""
    found = findings(BREAKS[kind](sound_lines(world)))

    assert kind in [fault.kind for fault in found.faults]
    assert found.left_alone == []
    assert all(fault.kind in faults.MEANINGS for fault in found.faults)


def test_a_lost_parent_is_replaced_by_the_row_before(world: Path) -> None:
    """The prompt follows the reply that stands before it."""
    lines = sound_lines(world)
    (fault,) = findings(BREAKS["dangling_parent"](lines)).faults

    assert fault.mend == faults.Mend(faults.RELINK, _uuid(lines, "FIRST-END"))
    assert fault.detail == "follows line 4"


def test_a_result_that_lost_its_parent_follows_its_call_wherever_that_stands(world: Path) -> None:
    """The call is known by its id, so rows in between make no difference."""
    lines = sound_lines(world)
    at = index_of(lines, '"tool_use_id":"toolu_two"')
    lines[at] = changed(lines[at], parentUuid=NOWHERE)
    (fault,) = findings(lines).faults

    assert fault.mend == faults.Mend(faults.RELINK, _uuid(lines, '"id":"toolu_two"'))


def test_a_part_of_a_reply_that_lost_its_parent_follows_the_part_before(world: Path) -> None:
    """Rows of one reply share the message's id."""
    lines = sound_lines(world)
    at = index_of(lines, '"id":"toolu_three"')
    lines[at] = changed(lines[at], parentUuid=NOWHERE)
    (fault,) = findings(lines).faults

    assert fault.mend == faults.Mend(faults.RELINK, _uuid(lines, '"id":"toolu_two"'))


def test_a_lost_parent_with_nothing_before_makes_the_row_the_first(world: Path) -> None:
    """A file that begins in the middle of a session has a first row all the same."""
    lines = sound_lines(world)[3:]
    (fault,) = findings(lines).faults

    assert fault.kind == faults.DANGLING
    assert fault.mend == faults.Mend(faults.RELINK, None)


def test_a_lost_parent_follows_the_result_that_was_written_before_its_call(world: Path) -> None:
    """Results may stand before their calls; the conversation still ends with the result."""
    session = SessionBuilder(str(world / "s.jsonl"))
    session.prompt()
    session.tool_result(session.tool_call(1_000), "OUT")
    session.reply(2_000, text_block("END"))
    lines = lines_of(session)
    lines[1], lines[2] = lines[2], lines[1]
    lines[3] = changed(lines[3], parentUuid=NOWHERE)
    (fault,) = findings(lines).faults

    assert fault.mend == faults.Mend(faults.RELINK, _uuid(lines, "OUT"))


def test_two_conversations_written_at_once_are_not_guessed_about(world: Path) -> None:
    """Two clients on one file: the row before may be of either, and both are named."""
    session = SessionBuilder(str(world / "s.jsonl"))
    session.prompt("start")
    start = session.parent
    ends = [start, start]
    for turn in range(3):
        for side in range(2):
            session.parent = ends[side]
            session.prompt(f"prompt {side} {turn}")
            session.reply(1_000 + turn, text_block(f"reply {side} {turn}"))
            ends[side] = session.parent
    session.parent = NOWHERE
    session.prompt("whose is this")
    found = findings(lines_of(session))

    assert found.mendable == []
    (fault,) = found.left_alone
    assert fault.detail == "may follow lines 11, 13"


def test_a_turn_that_was_taken_back_does_not_make_a_lost_parent_doubtful(world: Path) -> None:
    """The abandoned end was written before the present conversation went its own way."""
    session = SessionBuilder(str(world / "s.jsonl"))
    session.prompt("start")
    session.reply(1_000, text_block("ready"))
    fork = session.parent
    session.prompt("a wrong turn")
    session.reply(1_500, text_block("abandoned"))
    session.parent = fork
    session.prompt("another turn")
    session.reply(2_000, text_block("KEPT"))
    session.parent = NOWHERE
    session.prompt("go on")
    lines = lines_of(session)
    (fault,) = findings(lines).faults

    assert fault.mend == faults.Mend(faults.RELINK, _uuid(lines, "KEPT"))


def test_a_subagents_row_follows_its_own_thread(world: Path) -> None:
    """Old clients keep subagents in the same file; their rows do not follow the main thread."""
    session = SessionBuilder(str(world / "s.jsonl"))
    session.prompt("main")
    main = session.parent
    session.parent = None
    session.prompt("AGENT-TASK", isSidechain=True, agentId="a1")
    session.parent = main
    session.reply(1_000, text_block("main reply"))
    session.parent = NOWHERE
    session.prompt("agent goes on", isSidechain=True, agentId="a1")
    lines = lines_of(session)
    (fault,) = findings(lines).faults

    assert fault.mend == faults.Mend(faults.RELINK, _uuid(lines, "AGENT-TASK"))


def test_reports_of_progress_are_no_place_to_follow(world: Path) -> None:
    """The row before is the last of the conversation, not the last report."""
    session = SessionBuilder(str(world / "s.jsonl"))
    session.prompt("PROMPT")
    session.row("progress", data={"type": "hook_progress"})
    session.parent = NOWHERE
    session.reply(1_000)
    lines = lines_of(session)
    (fault,) = findings(lines).faults

    assert fault.mend == faults.Mend(faults.RELINK, _uuid(lines, "PROMPT"))


def test_the_last_calls_may_be_unanswered(world: Path) -> None:
    """A session that runs waits for results."""
    session = worked(SessionBuilder(str(world / "s.jsonl")))
    session.reply(24_000, call("toolu_four"), call("toolu_five"))
    session.tool_result("toolu_five", "FIVE")
    found = findings(lines_of(session))

    assert found.faults == []
    assert found.notes[faults.OPEN_CALL].count == 1


def test_a_call_that_a_compaction_cut_off_is_no_fault(world: Path) -> None:
    """Nothing before a compaction is in any request."""
    session = SessionBuilder(str(world / "s.jsonl"))
    session.prompt()
    session.tool_call(160_000)
    session.compact(167_000)
    session.prompt("go on")
    found = findings(lines_of(session))

    assert found.faults == []
    assert found.notes[faults.CUT_CALL].count == 1


def test_an_unanswered_call_is_answered_and_what_follows_follows_the_answer(world: Path) -> None:
    """A prompt came after a call whose result was never written."""
    session = SessionBuilder(str(world / "s.jsonl"))
    session.prompt()
    session.tool_call(1_000)
    session.prompt("what happened?")
    lines = lines_of(session)
    (fault,) = findings(lines).faults
    called = row(lines[1])["uuid"]

    assert fault.mend == faults.Mend(
        faults.ANSWER, answer_uuid(called), ("toolu_000002",), (faults.Place(3),)
    )


def test_a_reply_after_a_lost_result_follows_the_answer_that_is_added(world: Path) -> None:
    """Two faults at one place agree on what follows what."""
    lines = BREAKS["unanswered_call"](sound_lines(world))
    found = findings(lines)
    called = _uuid(lines, '"id":"toolu_one"')

    mends = {fault.kind: fault.mend for fault in found.faults}
    assert mends[faults.DANGLING] == faults.Mend(faults.RELINK, answer_uuid(called))


@pytest.mark.row("S3-45")
def test_an_orphan_result_is_named_by_its_call(world: Path) -> None:
    """The call is nowhere in the file, before or after."""
    found = findings(BREAKS["orphan_result"](sound_lines(world)))

    orphan = next(fault for fault in found.faults if fault.kind == faults.ORPHAN)
    assert orphan.mend == faults.Mend(faults.STUB, calls=("toolu_one",))


def test_an_orphan_on_a_line_with_broken_bytes_is_left_alone(world: Path) -> None:
    """Such a row cannot be changed without losing bytes."""
    lines = sound_lines(world)
    at = index_of(lines, '"tool_use_id":"toolu_one"')
    lines[at] = lines[at].replace(b"ONE", b"\xff\xfe").replace(b"toolu_one", b"toolu_zzz")
    found = findings(lines)

    (orphan,) = [fault for fault in found.faults if fault.kind == faults.ORPHAN]
    assert orphan.mend is None
    assert "UTF-8" in orphan.detail


def test_results_before_their_call_are_noted_only(world: Path) -> None:
    """Clients write them so; the request is right all the same."""
    lines = sound_lines(world)
    lines[1], lines[2] = lines[2], lines[1]
    found = findings(lines)

    assert found.faults == []
    assert found.notes[faults.ANSWER_FIRST].lines == [2]
    assert found.notes[faults.CHILD_FIRST].lines == [2]


def test_a_second_result_of_a_call_is_noted_only(world: Path) -> None:
    """The client takes one of them."""
    session = worked(SessionBuilder(str(world / "s.jsonl")))
    session.tool_result("toolu_one", "AGAIN")
    found = findings(lines_of(session))

    assert found.faults == []
    assert found.notes[faults.REPEATED_ANSWER].count == 1


def test_a_repeated_row_at_an_unfinished_end_is_left_alone(world: Path) -> None:
    """Without its line end the last line may be one that is being written."""
    lines = sound_lines(world)
    (fault,) = findings([*lines, lines[3].rstrip(b"\n")]).faults

    assert fault.kind == faults.REPEATED
    assert fault.mend is None


def test_rows_that_share_an_id_and_differ_are_left_alone(world: Path) -> None:
    """Either may be the right one."""
    lines = sound_lines(world)
    at = index_of(lines, "FIRST-END")
    lines.insert(at + 1, lines[at].replace(b"FIRST-END", b"OTHER-END"))
    (fault,) = findings(lines).faults

    assert fault.kind == faults.DIFFERING
    assert fault.mend is None
    assert "also in line 4" in fault.detail


def test_rows_that_share_an_id_are_not_mended_in_other_ways_either(world: Path) -> None:
    """Which of them is meant comes first."""
    lines = sound_lines(world)
    at = index_of(lines, "second prompt")
    lines[at] = changed(lines[at], parentUuid=NOWHERE)
    lines.insert(at + 3, changed(lines[at], version="9"))
    found = findings(lines)

    assert [fault.kind for fault in found.left_alone] == [
        faults.DANGLING,
        faults.DIFFERING,
        faults.DANGLING,
    ]
    assert found.mendable == []


def test_a_compaction_is_no_second_root(world: Path) -> None:
    """Its boundary has no parent, and names the row before it elsewhere."""
    session = worked(SessionBuilder(str(world / "s.jsonl")))
    session.compact(150_000)
    session.reply(30_000)

    assert kinds(lines_of(session)) == []


def test_a_row_without_a_parent_in_the_middle_is_left_alone(world: Path) -> None:
    """The user may have gone back to the start, or a link was lost."""
    lines = sound_lines(world)
    at = index_of(lines, "second prompt")
    lines[at] = changed(lines[at], parentUuid=None)
    (fault,) = findings(lines).faults

    assert fault.kind == faults.SECOND_ROOT
    assert fault.mend is None


def test_a_first_row_that_was_written_late_is_no_second_root(world: Path) -> None:
    """Everything before it descends from it."""
    lines = sound_lines(world)
    lines.insert(4, lines.pop(0))

    assert kinds(lines) == []


def test_a_circle_with_two_possible_breaks_is_left_alone(world: Path) -> None:
    """Two links lead forward: which of them is wrong cannot be told."""
    lines = sound_lines(world)
    names = [row(data)["uuid"] for data in lines]
    lines[0] = changed(lines[0], parentUuid=names[2])
    lines[2] = changed(lines[2], parentUuid=names[3])
    lines[3] = changed(lines[3], parentUuid=names[0])
    (fault,) = findings(lines).faults

    assert fault.kind == faults.CYCLE
    assert fault.mend is None
    assert fault.detail == "the wrong link may be in any of lines 1, 3"


def test_faults_before_the_last_compaction_are_marked_as_out_of_every_request(world: Path) -> None:
    """They are mended all the same, but nothing hangs on it."""
    session = worked(SessionBuilder(str(world / "s.jsonl")))
    session.compact(150_000)
    session.prompt()
    lines = BREAKS["dangling_parent"](lines_of(session))
    (fault,) = findings(lines).faults

    assert not fault.in_context


def test_what_a_compaction_kept_counts_as_in_the_context(world: Path) -> None:
    """Newer boundaries name rows from before them."""
    session = worked(SessionBuilder(str(world / "s.jsonl")))
    kept = _uuid(lines_of(session), "second prompt")
    session.parent = None
    told = {"trigger": "auto", "preTokens": 1, "preservedMessages": {"uuids": [kept]}}
    session.row("system", subtype="compact_boundary", compactMetadata=told)
    lines = BREAKS["dangling_parent"](lines_of(session))
    (fault,) = findings(lines).faults

    assert fault.in_context


@pytest.mark.parametrize(
    "data",
    [b"", b"\n\n  \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf{}\r\n{}\r\n", b"{}", b'{"type":5}\n'],
)
def test_odd_but_harmless_bytes_are_no_fault(data: bytes) -> None:
    """Empty files, blank lines, marks of byte order, line ends of Windows, empty objects."""
    assert findings(data).faults == []


def test_lines_that_are_no_json_are_noted_with_their_numbers(world: Path) -> None:
    """The client skips them."""
    lines = sound_lines(world)
    lines[2:2] = [b"\x00" * 80 + b"\n", b"garbage \xff\n", b'{"type":"user","mess\n']
    found = findings(lines)

    assert found.faults == []
    assert found.notes[faults.UNREADABLE].lines == [3, 4, 5]


def test_a_whole_row_behind_a_broken_one_is_saved_but_nothing_inside_a_row_is(world: Path) -> None:
    """A block of content ends like a row; it is none."""
    rest = b'{"parentUuid":null,"type":"user","message":{"content":[{"type":"text","text":"x"}'

    assert kinds(rest + b"\n") == []
    assert kinds(rest + line({"type": "summary", "summary": "s", "leafUuid": "u"})) == [
        faults.FUSED
    ]


def test_parents_on_a_line_too_long_to_parse_are_not_missing(world: Path) -> None:
    """Ids are looked for in such a line without parsing it, also across the parts it comes in."""
    lines = sound_lines(world)
    value = row(lines[1])
    value["message"]["content"][0]["input"]["command"] = "x" * (9 << 20)
    lines[1] = line(value)
    found = findings(lines)

    assert found.faults == []
    assert found.notes[faults.LONG].count == 1


def test_time_that_runs_back_is_noted(world: Path) -> None:
    """Clocks are set, and rows are written late."""
    lines = sound_lines(world)
    lines[4] = changed(lines[4], timestamp="2020-01-01T00:00:00.000Z")
    found = findings(lines)

    assert found.faults == []
    assert found.notes[faults.TIME_BACK].lines == [5]


@given(st.binary(max_size=2_000))
def test_any_bytes_can_be_looked_at(data: bytes) -> None:
    """Nothing raises, and faults name lines that exist."""
    found = findings(data)

    assert all(1 <= fault.place.line <= data.count(b"\n") + 1 for fault in found.faults)


@given(st.lists(st.one_of(ROWS, st.binary(max_size=20)), max_size=25), st.binary(max_size=3))
def test_any_rows_can_be_looked_at(rows: list[Any], end: bytes) -> None:
    """Ids that repeat, point at each other, or are no ids at all."""
    data = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in rows]

    found = findings(end.join(data) + b"\n".join(data))

    assert found.faults == sorted(found.faults, key=lambda fault: fault.place)


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
