"""Repair: one mend per fault, nothing lost, nothing left on the second run, undone on demand."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimline.session import faults, repair, restore
from brimline.session.disk import RewriteError
from brimline.session.repair import MISSING_RESULT
from brimline.store import contents, put
from brimline.store import stub as stubs
from brimline.testing import SessionBuilder, text_block

from .broken import (
    BREAKS,
    ROWS,
    changed,
    findings,
    index_of,
    line,
    lines_of,
    row,
    sound_lines,
    worked,
)

if TYPE_CHECKING:
    from brimline.session.repair import Report

CORPUS = os.environ.get("BRIMLINE_CORPUS")
LONG_AGO = 1_700_000_000


@pytest.fixture
def path(world: Path) -> Path:
    """Where the session goes; its folder's name asks for care."""
    folder = world / "a project of Zoë [1]"
    folder.mkdir()
    return folder / "s.jsonl"


def _mend(path: Path, home_dir: str, data: bytes | list[bytes] | None = None) -> Report:
    """Repair a session that nobody has written to for a long time."""
    if data is not None:
        path.write_bytes(data if isinstance(data, bytes) else b"".join(data))
    os.utime(path, (LONG_AGO, LONG_AGO))
    return repair.repair(str(path), home_dir=home_dir, quiet_s=0)


def _restored(path: Path, home_dir: str) -> bytes:
    os.utime(path, (LONG_AGO, LONG_AGO))
    plan = restore.plan(str(path), home_dir)
    if plan.undone:
        restore.restore(plan, quiet_s=0)
    return path.read_bytes()


def _rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(data) for data in path.read_bytes().splitlines() if data.strip()]


@pytest.mark.row("S3-44", "S3-45", "S3-49", "S3-50", "S3-51")
@pytest.mark.parametrize("kind", BREAKS)
def test_what_is_broken_is_mended_once_and_for_all(
    kind: str, path: Path, home_dir: str, world: Path
) -> None:
    """No fault is left, a second run finds nothing to do, and a restore brings the damage back."""
    broken = b"".join(BREAKS[kind](sound_lines(world)))
    report = _mend(path, home_dir, broken)

    assert kind in [fault.kind for fault in report.mended]
    assert report.after is not None
    assert report.after.faults == []
    assert report.backup is not None
    assert Path(report.backup).read_bytes() == broken
    after = path.read_bytes()
    again = _mend(path, home_dir)
    assert (again.mended, again.after, again.backup) == ([], None, None)
    assert path.read_bytes() == after
    path.write_bytes(after + b'{"type":"later"}\n')
    assert _restored(path, home_dir) == broken + b'{"type":"later"}\n'


def test_a_sound_session_is_left_byte_for_byte_as_it_is(
    path: Path, home_dir: str, world: Path
) -> None:
    """No backup, no file of ours, no other time of change."""
    report = _mend(path, home_dir, sound_lines(world))

    assert report.after is None
    assert path.read_bytes() == b"".join(sound_lines(world / "again"))
    assert os.listdir(path.parent) == [path.name]
    assert path.stat().st_mtime == LONG_AGO
    assert not os.path.exists(home_dir)


@pytest.mark.row("S3-48")
def test_a_dry_run_says_the_same_and_touches_nothing(
    path: Path, home_dir: str, world: Path
) -> None:
    """Neither the session nor the store."""
    broken = b"".join(BREAKS["orphan_result"](sound_lines(world)))
    path.write_bytes(broken)
    report = repair.repair(str(path), home_dir=home_dir, dry_run=True)

    assert [fault.kind for fault in report.mended] == [faults.DANGLING, faults.ORPHAN]
    assert path.read_bytes() == broken
    assert os.listdir(path.parent) == [path.name]
    assert not os.path.exists(home_dir)


def test_an_orphan_goes_into_the_store_and_a_short_text_takes_its_place(
    path: Path, home_dir: str, world: Path
) -> None:
    """The row stays in its chain; the content can be had by its key."""
    _mend(path, home_dir, BREAKS["orphan_result"](sound_lines(world)))

    (block,) = _rows(path)[1]["message"]["content"]  # type: ignore[index]
    found = stubs.parse(block["text"])
    assert block["type"] == "text"
    assert found is not None
    assert contents.get(home_dir, found.key) == b"ONE"


def test_only_the_orphan_of_a_row_with_other_results_goes(
    path: Path, home_dir: str, world: Path
) -> None:
    """The other result stays what it is."""
    lines = sound_lines(world)
    at = index_of(lines, '"tool_use_id":"toolu_one"')
    value = row(lines[at])
    other = {"type": "tool_result", "tool_use_id": "toolu_gone", "content": [{"type": "text"}]}
    value["message"]["content"].append(other)
    lines[at] = line(value)
    _mend(path, home_dir, lines)

    first, second = _rows(path)[at]["message"]["content"]  # type: ignore[index]
    assert first == row(lines[at])["message"]["content"][0]
    assert second["type"] == "text"


def test_a_missing_result_is_said_to_be_missing(path: Path, home_dir: str, world: Path) -> None:
    """The added row answers the call as a failure, in the shape the client gives such rows."""
    _mend(path, home_dir, BREAKS["unanswered_call"](sound_lines(world)))
    rows = _rows(path)
    called, added, following = rows[1:4]

    (block,) = added["message"]["content"]  # type: ignore[index]
    assert block == {
        "tool_use_id": "toolu_one",
        "type": "tool_result",
        "content": MISSING_RESULT,
        "is_error": True,
    }
    assert added["parentUuid"] == added["sourceToolAssistantUUID"] == called["uuid"]
    assert following["parentUuid"] == added["uuid"]
    assert added["sessionId"] == called["sessionId"]


def test_an_answer_comes_after_the_whole_reply(path: Path, home_dir: str, world: Path) -> None:
    """It does not stand between the rows of two calls made at once."""
    lines = sound_lines(world)
    del lines[index_of(lines, '"tool_use_id":"toolu_three"')]
    _mend(path, home_dir, lines)

    names = [data.count(b"toolu_") and data for data in path.read_bytes().splitlines()]
    asked = [bool(data) and b'"tool_use",' in data for data in names if data]
    assert asked == [True, False, True, True, False, False]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("piece", [b"", b'{"type":"us'])
def test_rows_on_one_line_get_lines_of_their_own(
    path: Path, home_dir: str, world: Path, ending: bytes, piece: bytes
) -> None:
    """Their bytes, a broken piece behind them, the line ends and a mark of byte order stay."""
    lines = [data[:-1] for data in sound_lines(world)]
    first = b"\xef\xbb\xbf" + lines[0] + b"  " + lines[1] + lines[2]
    _mend(path, home_dir, ending.join([first + piece, *lines[3:], b""]))

    wanted = [b"\xef\xbb\xbf" + lines[0], *lines[1:3], *([piece] if piece else []), *lines[3:]]
    assert path.read_bytes() == ending.join([*wanted, b""])


def test_a_copy_that_is_not_sound_is_not_swapped_in(
    path: Path, home_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mend that does not mend is found before the swap."""
    monkeypatch.setattr(repair, "encoded", lambda value: line(value | {"parentUuid": "no"})[:-1])
    broken = b"".join(BREAKS["dangling_parent"](sound_lines(world)))

    with pytest.raises(RewriteError, match="not sound"):
        _mend(path, home_dir, broken)
    assert path.read_bytes() == broken
    assert os.listdir(path.parent) == [path.name]


def test_what_could_be_mended_in_two_ways_stays_as_it_is(
    path: Path, home_dir: str, world: Path
) -> None:
    """The report says so; what has one mend is mended beside it."""
    lines = BREAKS["dangling_parent"](sound_lines(world))
    at = index_of(lines, "FIRST-END")
    lines.insert(at + 1, lines[at].replace(b"FIRST-END", b"OTHER-END"))
    report = _mend(path, home_dir, lines)

    assert [fault.kind for fault in report.left_alone] == [faults.DIFFERING]
    assert report.after is not None
    assert [fault.kind for fault in report.after.faults] == [faults.DIFFERING]
    assert b"OTHER-END" in path.read_bytes()


def test_a_full_disk_leaves_the_session_as_it_was(
    path: Path, home_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be stored is not taken out."""

    def refuse(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device", home_dir)

    monkeypatch.setattr(put, "put", refuse)
    broken = b"".join(BREAKS["orphan_result"](sound_lines(world)))

    with pytest.raises(RewriteError, match="No space left"):
        _mend(path, home_dir, broken)
    assert path.read_bytes() == broken
    assert os.listdir(path.parent) == [path.name]


# What a crash, a copy or a careless tool may do to the lines of a session.
_damage = st.lists(
    st.tuples(
        st.sampled_from(
            ["drop", "copy", "merge", "tear", "swap", "unlink", "self", "junk", "root"]
        ),
        st.integers(0, 40),
        st.integers(0, 40),
    ),
    max_size=6,
)


def _damaged(lines: list[bytes], damage: list[tuple[str, int, int]]) -> bytes:
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
        else:
            lines[at] = _relinked(lines[at], how)
    return b"".join(lines)


def _relinked(data: bytes, how: str) -> bytes:
    try:
        name = row(data)["uuid"]
    except (ValueError, KeyError, TypeError):
        return data
    return changed(data, parentUuid={"unlink": "gone", "self": name, "root": None}[how])


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(_damage)
def test_any_damage_is_mended_for_good_and_can_be_undone(
    damage: list[tuple[str, int, int]],
) -> None:
    """Repair after repair changes nothing, and restore brings the damage back."""
    root = Path(tempfile.mkdtemp())
    try:
        path, home_dir = root / "s.jsonl", str(root / "home")
        session = worked(SessionBuilder(str(root / "sound.jsonl")))
        session.compact(150_000)
        session.tool_result(session.tool_call(30_000), "LATE")
        session.reply(31_000, text_block("LAST"))
        broken = _damaged(lines_of(session), damage)
        _require_mended_for_good(path, home_dir, broken)
    finally:
        shutil.rmtree(root)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.one_of(ROWS, ROWS, st.binary(max_size=20)), max_size=14),
    st.lists(st.sampled_from([b"\n", b"\n", b"\r\n", b"", b" "]), min_size=14, max_size=14),
)
def test_any_rows_are_mended_for_good_and_can_be_undone(rows: list[Any], ends: list[bytes]) -> None:
    """Ids that repeat and point at each other, on lines of any kind."""
    data = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in rows]
    root = Path(tempfile.mkdtemp())
    try:
        whole = b"".join(row + end for row, end in zip(data, ends, strict=False))
        _require_mended_for_good(root / "s.jsonl", str(root / "home"), whole)
    finally:
        shutil.rmtree(root)


def _require_mended_for_good(path: Path, home_dir: str, broken: bytes) -> None:
    _mend(path, home_dir, broken)
    after = path.read_bytes()

    assert _mend(path, home_dir).after is None
    assert path.read_bytes() == after
    assert _restored(path, home_dir) == broken


@pytest.mark.skipif(CORPUS is None, reason="BRIMLINE_CORPUS is not set")
@pytest.mark.parametrize(
    "name", sorted(os.listdir(CORPUS)) if CORPUS and os.path.isdir(CORPUS) else []
)
def test_recorded_sessions_are_mended_and_come_back(name: str, path: Path, home_dir: str) -> None:
    """Sound afterwards but for what cannot be decided; the original byte for byte on restore."""
    if not name.endswith(".jsonl"):
        return
    recorded = (Path(str(CORPUS)) / name).read_bytes()
    _mend(path, home_dir, recorded)

    assert findings(path.read_bytes()).mendable == []
    assert _restored(path, home_dir) == recorded
