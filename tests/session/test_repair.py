"""Repair: one mend per fault, nothing lost, nothing left on the second run, undone on demand."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.transcript.compacted import compact_inside

from brimline.bulk import contents
from brimline.bulk import stub as stubs
from brimline.session import faults, repair
from brimline.session.copying import CopyError
from brimline.session.faults import _LONGEST_ID
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
from .recorded import LONG_AGO, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from brimline.session.repair import Report

    Case = Callable[[SessionBuilder, list[bytes]], list[bytes]]

NOWHERE = "00000000-dead-4bad-8bad-000000000000"


@pytest.fixture
def path(world: Path) -> Path:
    """Where the session goes; its folder's name asks for care."""
    folder = world / "a project of Zoë [1]"
    folder.mkdir()
    return folder / "s.jsonl"


def _mend(path: Path, home_dir: str, data: list[bytes] | None = None) -> Report:
    """Repair a session, and put what the copy says in its place."""
    if data is not None:
        path.write_bytes(b"".join(data))
    os.utime(path, (LONG_AGO, LONG_AGO))
    before = path.read_bytes()
    report = repair.repair(str(path), home_dir=home_dir)
    assert path.read_bytes() == before
    if report.copy:
        copy = Path(report.copy.path)
        path.write_bytes(plain(copy.read_bytes()) + b"\n" * before.endswith(b"\n"))
        copy.unlink()
    return report


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(data) for data in path.read_bytes().splitlines()]


@pytest.mark.row("S3-44", "S3-45", "S3-48", "S3-49", "S3-50", "S3-51")
@pytest.mark.parametrize("kind", BREAKS)
def test_what_is_broken_is_mended_once(kind: str, path: Path, home_dir: str, world: Path) -> None:
    """A look touches nothing; then no fault is left in the copy, and the session is as it was."""
    damaged = BREAKS[kind](sound_lines(world))
    path.write_bytes(b"".join(damaged))
    told = repair.examine(str(path))
    assert (path.read_bytes(), os.path.exists(home_dir)) == (b"".join(damaged), False)

    report = _mend(path, home_dir, damaged)

    assert kind in [fault.kind for fault in report.before.mendable_faults]
    assert told.mendable_faults == report.before.mendable_faults
    assert report.after is not None
    assert report.after.faults == []
    again = _mend(path, home_dir)
    assert (again.before.mendable_faults, again.after, again.copy) == ([], None, None)


def test_sound_sessions_and_what_has_two_mends_stay(path: Path, home_dir: str, world: Path) -> None:
    """No copy, no file of ours, no other time of change."""
    lines = sound_lines(world)
    for doubt in ([], [faults.DIFFERING]):
        if doubt:
            lines.insert(4, lines[3].replace(b"FIRST-END", b"OTHER-END"))
        report = _mend(path, home_dir, lines)
        assert report.after is None
        assert [fault.kind for fault in report.before.faults_left_alone] == doubt
    assert path.read_bytes() == b"".join(lines)
    assert os.listdir(path.parent) == [path.name]
    assert path.stat().st_mtime == LONG_AGO
    assert not os.path.exists(home_dir)


def test_an_orphan_goes_into_the_store_and_a_short_text_takes_its_place(
    path: Path, home_dir: str, world: Path
) -> None:
    """The row stays in its chain with its other results; the content can be had by its key."""
    lines = sound_lines(world)
    at = index_of(lines, '"tool_use_id":"toolu_one"')
    value = row(lines[at])
    value["message"]["content"] += [
        {"type": "tool_result", "tool_use_id": "gone1", "content": "LOST"},
        {"type": "tool_result", "tool_use_id": "gone2", "content": [{"type": "text"}]},
    ]
    lines[at] = line(value)
    _mend(path, home_dir, lines)

    first, *others = _rows(path)[at]["message"]["content"]
    assert first == value["message"]["content"][0]
    found = [stubs.first_reference_in(block["text"]) for block in others if block["type"] == "text"]
    assert [contents.read_content(home_dir, one.key) for one in found if one] == [
        b"LOST",
        b'[{"type":"text"}]',
    ]
    about = [contents.read_sidecar(home_dir, one.key) for one in found if one]
    assert all(each["session"] and each["cwd"] for each in about), "a recall asks whose it is"


def test_a_missing_result_is_said_to_be_missing_there(
    path: Path, home_dir: str, world: Path
) -> None:
    """The added row answers the call as a failure, in the shape the client gives such rows."""
    lines = sound_lines(world)
    del lines[index_of(lines, '"tool_use_id":"toolu_two"')]
    _mend(path, home_dir, lines)
    called, other, added, answered = _rows(path)[5:9]

    assert added["message"]["content"] == [
        {
            "tool_use_id": "toolu_two",
            "type": "tool_result",
            "content": repair.MISSING_RESULT,
            "is_error": True,
        }
    ]
    assert added["parentUuid"] == added["sourceToolAssistantUUID"] == called["uuid"]
    assert added["sessionId"] == called["sessionId"]
    assert other["message"]["content"][0]["id"] == "toolu_three"
    assert answered["message"]["content"][0]["tool_use_id"] == "toolu_three"


PIECE = '{"parentUuid":"x","message":{"content":[{"type":"text","text":"é {\\"type\\":'.encode()
MARK = b"\xef\xbb\xbf"


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("torn", [b"", b'{"type":"us', PIECE])
def test_rows_on_one_line_get_lines_of_their_own(
    path: Path, home_dir: str, world: Path, ending: bytes, torn: bytes
) -> None:
    """Also behind a piece that a killed client left; bytes, line ends and byte order mark stay."""
    zero, one, two, three, *rest = [data[:-1] for data in sound_lines(world)]
    behind = [three] if torn == PIECE else [b"", three]
    mixed = MARK + zero + b"  " + one + two + torn + behind[0]

    _mend(path, home_dir, [ending.join([mixed, *behind[1:], *rest, b""])])

    wanted = [MARK + zero, one, two, *([torn] if torn else []), three, *rest, b""]
    assert path.read_bytes() == ending.join(wanted)


def test_of_what_would_not_be_sound_there_is_no_copy(
    path: Path, home_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mend that does not mend is found before."""
    monkeypatch.setattr(repair, "row_bytes", lambda value: line(value | {"parentUuid": "no"})[:-1])
    damaged = BREAKS["orphan_result"](sound_lines(world))

    with pytest.raises(CopyError, match="not sound"):
        _mend(path, home_dir, damaged)
    assert path.read_bytes() == b"".join(damaged)
    assert os.listdir(path.parent) == [path.name]


# What a crash, a copy or a careless tool may do to the lines of a session.
DAMAGE = st.lists(
    st.tuples(
        st.sampled_from(
            ["drop", "copy", "merge", "tear", "swap", "junk", "unlink", "self", "root"]
        ),
        st.integers(0, 40),
        st.integers(0, 40),
    ),
    max_size=6,
)
LINES = st.lists(
    st.tuples(
        st.one_of(ROWS.map(lambda one: json.dumps(one).encode()), st.binary(max_size=20)),
        st.sampled_from([b"\n", b"\n", b"\r\n", b"", b" "]),
    ),
    max_size=14,
)
ROW_A = b'{"type":"user","uuid":"a","parentUuid":"a","message":null}'


def _damaged(lines: list[bytes], damage: list[tuple[str, int, int]]) -> list[bytes]:
    for how, first, second in damage:
        if not lines:
            break
        at, other = first % len(lines), second % len(lines)
        if how == "drop":
            del lines[at]
        elif how == "copy":
            lines.insert(other, lines[at])
        elif how == "merge":
            lines[at] = lines[at].rstrip(b"\n")
        elif how == "tear":
            lines[at] = lines[at][: second * 20]
        elif how == "swap":
            lines[at], lines[other] = lines[other], lines[at]
        elif how == "junk":
            lines.insert(at, b"\x00\xff{" * (second % 3) + b"\n")
        elif lines[at].startswith(b'{"') and lines[at].endswith(b"}\n"):
            name = row(lines[at]).get("uuid")
            links = {"unlink": "gone", "self": name, "root": None}
            lines[at] = changed(lines[at], parentUuid=links[how])
    return lines


@settings(max_examples=100)
@given(st.one_of(DAMAGE, LINES))
@example([("copy", 0, 14), ("copy", 15, 0), ("drop", 31, 0)])
@example([("drop", 21, 0), ("drop", 0, 0), ("tear", 32, 0), ("drop", 33, 0)])
@example([(ROW_A, b""), (b"\xef\xbb\xbf", b""), (ROW_A, b"\n")])
def test_any_damage_is_mended_for_good(damage: list[Any]) -> None:
    """Repair after repair changes nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path, home_dir = Path(folder) / "s.jsonl", f"{folder}/home"
        if damage and isinstance(damage[0][0], bytes):
            lines = [data + end for data, end in damage]
        else:
            session = worked(SessionBuilder(f"{folder}/sound.jsonl"))
            session.compact(150_000)
            session.tool_result(session.tool_call(30_000), "LATE")
            session.reply(31_000, text_block("LAST"))
            lines = _damaged(lines_of(session), damage)
        _require_mended_for_good(path, home_dir, lines)


def _require_mended_for_good(path: Path, home_dir: str, lines: list[bytes]) -> None:
    _mend(path, home_dir, lines)
    after = path.read_bytes()

    assert findings(after).mendable_faults == []
    assert _mend(path, home_dir).after is None
    assert path.read_bytes() == after


def lose_parent(lines: list[bytes], text: str) -> list[bytes]:
    """The first row with a text names a parent that is nowhere."""
    at = index_of(lines, text)
    lines[at] = changed(lines[at], parentUuid=NOWHERE)
    return lines


def _changed_sound(text: str) -> Case:
    return lambda _, sound: lose_parent(sound, text)


def _result_first(session: SessionBuilder, _: list[bytes]) -> list[bytes]:
    session.prompt()
    session.tool_result(session.tool_call(1_000), "OUT")
    session.reply(2_000, text_block("END"))
    lines = lines_of(session)
    lines[1], lines[2] = lines[2], lines[1]
    return lose_parent(lines, "END")


def _turn_taken_back(session: SessionBuilder, _: list[bytes]) -> list[bytes]:
    session.prompt("start")
    fork = session.parent
    session.prompt("a wrong turn")
    session.parent = fork
    session.prompt("KEPT")
    session.row("progress", data={"type": "hook_progress"})
    session.prompt("go on")
    return lose_parent(lines_of(session), "go on")


def _other_thread(session: SessionBuilder, _: list[bytes]) -> list[bytes]:
    session.prompt("main")
    session.prompt("AGENT-TASK", isSidechain=True, agentId="a1")
    session.reply(1_000, text_block("main reply"))
    session.prompt("agent goes on", isSidechain=True, agentId="a1")
    return lose_parent(lines_of(session), "agent goes on")


@pytest.mark.row("S3-44")
@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        pytest.param(_changed_sound("second prompt"), "FIRST-END", id="row before"),
        pytest.param(_changed_sound('"tool_use_id":"toolu_two"'), '"id":"toolu_two"', id="call"),
        pytest.param(_changed_sound('"id":"toolu_three"'), '"id":"toolu_two"', id="part before"),
        pytest.param(lambda _, sound: sound[3:], None, id="nothing"),
        pytest.param(_result_first, "OUT", id="result before its call"),
        pytest.param(_turn_taken_back, "KEPT", id="turn that was kept, not a report"),
        pytest.param(_other_thread, "AGENT-TASK", id="own thread"),
    ],
)
def test_a_row_that_lost_its_parent_follows(case: Case, wanted: str | None, world: Path) -> None:
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
    assert found.notes == {
        faults.CUT_CALL: 1,
        faults.OPEN_CALL: 1,
    }


def test_what_is_odd_but_harmless_is_noted(world: Path) -> None:
    """Results before their call, second results, rows twice, junk."""
    session = worked(SessionBuilder(str(world / "s.jsonl")))
    session.tool_result("toolu_one", "AGAIN")
    lines = lines_of(session)
    lines[1], lines[2] = lines[2], lines[1]
    lines += [lines[3], b"\x00" * 80 + b"\n", b"garbage \xff\n", b'{"type":"user","mess']
    found = findings(lines)

    assert found.faults == []
    assert found.notes == {
        faults.CHILD_FIRST: 1,
        faults.REPEATED: 1,
        faults.UNREADABLE: 3,
    }


def test_rows_that_share_an_id_and_differ_are_left_alone(world: Path) -> None:
    """Either may be the right one, and nothing else about them is mended either."""
    lines = lose_parent(sound_lines(world), "second prompt")
    lines.insert(7, changed(lines[4], version="9"))
    found = findings(lines)

    wanted = [faults.DANGLING, faults.DIFFERING, faults.DANGLING]
    assert [fault.kind for fault in found.faults_left_alone] == wanted
    assert "also in line 5" in found.faults_left_alone[1].detail
    assert found.mendable_faults == []


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


@pytest.mark.parametrize("keeps", [False, True])
def test_faults_before_the_last_compaction_are_in_no_request(world: Path, keeps: bool) -> None:
    """They are mended all the same; what a compaction kept counts."""
    session = worked(SessionBuilder(str(world / "s.jsonl")))
    kept = [row(lines_of(session)[4])["uuid"]] if keeps else []
    session.parent = None
    told = {"trigger": "auto", "preTokens": 1, "preservedMessages": {"uuids": kept}}
    session.row("system", subtype="compact_boundary", compactMetadata=told)
    (fault,) = findings(BREAKS["dangling_parent"](lines_of(session))).mendable_faults

    assert fault.in_context is keeps


def test_nothing_is_missing_that_may_be_on_a_line_too_long_to_parse(world: Path) -> None:
    """Neither parents nor calls; what shares a line is still told."""
    lines = BREAKS["merged_lines"](sound_lines(world))
    value = row(lines[1])
    value["message"]["content"][0]["input"]["command"] = "x" * (9 << 20)
    lines[1] = line(value)
    found = findings(lines)

    assert [fault.kind for fault in found.faults] == [faults.MERGED]
    assert found.notes[faults.LONG] == 1


TRIED = faults._TRIED_STARTS


@pytest.mark.parametrize(
    ("length", "is_known"), [(0, False), (_LONGEST_ID, True), (_LONGEST_ID + 1, False)]
)
def test_an_id_of_any_length_but_an_absurd_one_is_known(length: int, is_known: bool) -> None:
    """Ids are foreign: those of a row that hangs on nothing known are found by it."""
    lost = line({"type": "user", "uuid": "u" * length, "parentUuid": "gone"})

    assert kinds([lost]) == ([faults.DANGLING] if is_known else [])


@pytest.mark.parametrize(("pieces", "found"), [(TRIED - 3, 1), (TRIED - 2, 1), (TRIED - 1, 0)])
def test_behind_a_torn_row_a_few_beginnings_are_tried(pieces: int, found: int) -> None:
    """The first one that is a row; a line of beginnings only is none of them."""
    torn = b'{"type":"a' + b'{"type":"b' * (pieces + 1)
    whole = line({"type": "user", "uuid": "u1", "parentUuid": None})

    assert findings([torn + whole]).rows == found


@pytest.mark.parametrize(
    ("records", "broken", "detail"),
    [
        (2, b"", "2 rows"),
        (1, b'{"type":"us', "1 row and a broken piece"),
        (2, b"junk", "2 rows and a broken piece"),
    ],
)
def test_what_shares_a_line_is_counted(records: int, broken: bytes, detail: str) -> None:
    """Rows, and what is left of one."""
    rows = [line({"type": "user", "uuid": f"u{n}"}).strip() for n in range(records)]
    (fault,) = findings(b"".join(rows) + broken + b"\n").faults

    assert (fault.kind, fault.detail) == (faults.MERGED, detail)


@pytest.mark.parametrize("is_exact", [True, False])
def test_a_compaction_that_a_resume_undoes_gets_its_anchors(world: Path, is_exact: bool) -> None:
    """Unless its own line cannot be changed without losing bytes."""
    session = worked(SessionBuilder(str(world / "s.jsonl")))
    compact_inside(session, is_rebuilt=False)
    lines = lines_of(session)
    at = index_of(lines, "compact_boundary")
    if not is_exact:
        lines[at] = lines[at].replace(b'"type":"system"', b'"type":"system","odd":"\xff"')
    (fault,) = [one for one in findings(lines).faults if one.kind == faults.UNDONE]

    assert fault.place.line == at + 1
    kept = tuple(row(one)["uuid"] for one in lines[at + 1 :])
    assert fault.mend == (faults.Mend(faults.ANCHOR, calls=kept) if is_exact else None)
