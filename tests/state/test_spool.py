"""Reading spools: complete lines only, torn ones survived, and rotation that loses nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimline import fastio, fastjson
from brimline.state import spool
from brimline.state.session import SessionState

if TYPE_CHECKING:
    from typing import Any

HOUR = spool.QUIET_S


def line(number: int, **fields: Any) -> bytes:
    """One event as `SessionState.add_line` writes it."""
    return fastjson.dumps({"v": 1, "at": 1.5, "event": f"E{number}"} | fields).encode() + b"\n"


def names(batch: spool.Batch) -> list[str]:
    """The events in a batch."""
    return [found.fields["event"] for found in batch.lines]


def test_what_a_session_spools_is_read_back(home_dir: str) -> None:
    """Name, time and fields of every event, in order."""
    state = SessionState(home_dir, "abc")
    state.add_line("PostToolUse", {"occupancy": 5})
    state.add_line("PreCompact", {"trigger": "auto"})

    found = spool.read_from(f"{state.folder}/spool.jsonl", 0)

    assert names(found) == ["PostToolUse", "PreCompact"]
    assert found.lines[0].fields["occupancy"] == 5
    assert found.damaged == 0


def test_an_unfinished_line_is_left_for_the_next_time(tmp_path: Path) -> None:
    """It may be a write in progress; the offset stays in front of it."""
    path = tmp_path / "spool.jsonl"
    path.write_bytes(line(1) + line(2)[:-1])

    first = spool.read_from(str(path), 0)
    with path.open("ab") as file:
        file.write(b"\n")
    second = spool.read_from(str(path), first.offset)

    assert names(first) == ["E1"]
    assert first.offset == len(line(1))
    assert names(second) == ["E2"]
    assert second.lines[0].offset == first.offset


@pytest.mark.parametrize("cut", range(1, len(line(1, nested={"v": 2}))))
def test_an_event_behind_a_torn_one_is_recovered(cut: int) -> None:
    """Wherever the first was cut off; only the whole first event without its newline counts too."""
    torn = line(1, nested={"v": 2})[:cut]
    whole = len(line(1, nested={"v": 2})) - 1

    found, damaged = spool.parse_line(torn + line(2))

    assert found[-1].fields["event"] == "E2"
    assert found[-1].offset == cut
    assert (len(found), damaged) == ((2, 0) if cut == whole else (1, 1))


@pytest.mark.parametrize(
    ("raw", "events", "damaged"),
    [
        (b"\n", [], 0),
        (b"  \r\n", [], 0),
        (b"garbage\n", [], 1),
        (b'{"v":1}\n', [], 1),
        (b'{"v":1,"event":"E"}\n', [], 1),
        (b'{"v":1,"event":"E","at":"1"}\n', [], 1),
        (b'{"v":1,"event":"E","at":true}\n', [], 1),
        (b'{"v":1,"event":"E","at":NaN}\n', [], 1),
        (b'{"v":1,"event":"E","at":1e400}\n', [], 1),
        (b'{"v":1,"event":7,"at":1}\n', [], 1),
        (b"[1,2]\n", [], 1),
        (b'{"v":' * 2_000 + b"\n", [], 1),
        (b"\0" * 64 + line(1), ["E1"], 1),
        (b"\xff\xfe" + line(1), ["E1"], 1),
        (line(1)[:9] + line(2)[:20] + line(3), ["E3"], 1),
        (line(1)[:9] + line(2)[:-1] + b"x" + line(3), ["E2", "E3"], 2),
        (line(1, note='{"v":1,"at":1,"event":"inside"}'), ["E1"], 0),
        (line(1, inner={"v": 1, "at": 1, "event": "inside"}), ["E1"], 0),
        ('{"v":2,"at":3,"event":"Später","x":"ü"}\n'.encode(), ["Später"], 0),
    ],
)
def test_a_line_gives_every_event_that_is_whole(
    raw: bytes, events: list[str], damaged: int
) -> None:
    """And a count of the stretches that are none."""
    found, unreadable = spool.parse_line(raw)

    assert [one.fields["event"] for one in found] == events
    assert unreadable == damaged


def test_offsets_are_those_of_bytes_also_behind_foreign_ones() -> None:
    """A place in the file is a place in its bytes, not in its characters."""
    before = "ü\udcff".encode("utf-8", "surrogateescape")

    found, _ = spool.parse_line(before + line(1), 100)

    assert found[0].offset == 100 + len(before)


@given(
    pieces=st.lists(
        st.integers(0, 9).map(line)
        | st.binary(max_size=30)
        | st.sampled_from([b"\n", b"\r", b"\r\n", line(1)[:15], b"x" * 300]),
        max_size=30,
    ),
    limit=st.integers(1, 400),
)
@settings(
    max_examples=200,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_the_size_of_a_batch_changes_nothing(
    pieces: list[bytes], limit: int, tmp_path: Path
) -> None:
    """However it is cut into batches, a file gives the same events at the same places."""
    path = tmp_path / "spool.jsonl"
    path.write_bytes(b"".join(pieces))

    offset, found, damaged = 0, [], 0
    while True:
        batch = spool.read_from(str(path), offset, limit)
        if batch.offset == offset:
            break
        found += batch.lines
        damaged += batch.damaged
        offset = batch.offset
    whole = spool.read_from(str(path), 0, 1 << 20)

    assert (found, offset, damaged) == (whole.lines, whole.offset, whole.damaged)
    assert len({one.offset for one in found}) == len(found)
    assert offset == path.read_bytes().rfind(b"\n") + 1


@pytest.mark.parametrize("limit", [1, 10, 1 << 20])
@pytest.mark.parametrize(
    ("tail", "events", "damaged"), [(line(2)[:-1], ["E1", "E2"], 0), (line(2)[:-9], ["E1"], 1)]
)
def test_a_last_line_that_nobody_will_complete_can_be_taken(
    tail: bytes, events: list[str], damaged: int, limit: int, tmp_path: Path
) -> None:
    """Whole but for its newline it is an event; otherwise it is damage, and the file has an end."""
    path = tmp_path / "spool.1.jsonl"
    path.write_bytes(line(1) + tail)

    offset, found, unreadable = 0, [], 0
    with path.open("rb") as file:
        while (batch := spool.read(file, offset, limit, final=True)).offset != offset:
            found += names(batch)
            unreadable += batch.damaged
            offset = batch.offset

    assert (found, unreadable, offset) == (events, damaged, path.stat().st_size)


def test_a_file_is_known_by_its_first_line(tmp_path: Path) -> None:
    """Growing, renaming and copying do not change it; another first line does."""
    path = tmp_path / "spool.jsonl"
    path.write_bytes(line(1)[:-1])
    unfinished = _identity(path)
    path.write_bytes(line(1))
    first = _identity(path)
    path.write_bytes(line(1) + line(2))
    grown = _identity(path)
    (tmp_path / "copy").write_bytes(path.read_bytes())
    path.write_bytes(line(3))

    assert unfinished is None
    assert first == grown == _identity(tmp_path / "copy")
    assert _identity(path) not in {None, first}


def test_files_come_oldest_first_and_nothing_else_does(tmp_path: Path) -> None:
    """By number, not by name; the live one is last."""
    for name in ["spool.jsonl", "spool.9.jsonl", "spool.10.jsonl", "spool.x.jsonl", "window-5"]:
        (tmp_path / name).touch()

    found = [Path(path).name for path in spool.files_in(str(tmp_path))]

    assert found == ["spool.9.jsonl", "spool.10.jsonl", "spool.jsonl"]
    assert spool.files_in(str(tmp_path / "none")) == []


def test_a_spool_is_rotated_only_once_it_is_large(home_dir: str) -> None:
    """Below the limit, or without a spool, nothing is touched."""
    state = SessionState(home_dir, "abc")

    assert spool.rotate(state.folder, 10) is None
    state.add_line("E1", {})
    assert spool.rotate(state.folder) is None
    target = spool.rotate(state.folder, 10)

    assert spool.files_in(state.folder) == [target]
    assert spool.rotate(state.folder, 10) is None
    assert spool.files_in(state.folder) == [target]
    assert Path(target or "").stat().st_mode & 0o777 == 0o600


def test_a_hook_that_opened_the_spool_before_its_rotation_still_writes_to_it(home_dir: str) -> None:
    """Its line is in the renamed file, behind everything read before."""
    state = SessionState(home_dir, "abc")
    state.add_line("E1", {})
    with open(f"{state.folder}/spool.jsonl", "ab") as late:
        target = spool.rotate(state.folder, 1) or ""
        before = spool.read_from(target, 0)
        late.write(line(2))
    state.add_line("E3", {})

    assert names(spool.read_from(target, before.offset)) == ["E2"]
    assert names(spool.read_from(f"{state.folder}/spool.jsonl", 0)) == ["E3"]


def test_two_that_rotate_at_once_keep_both_files(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one rotates in the very moment in which the first has chosen its name."""
    state = SessionState(home_dir, "abc")
    state.add_line("E1", {"filler": "x" * 50})
    rename = os.replace

    def other_first(source: str, target: str) -> None:
        monkeypatch.setattr(os, "replace", rename)
        assert spool.rotate(state.folder, 1)
        state.add_line("E2", {"filler": "x" * 50})
        rename(source, target)

    monkeypatch.setattr(os, "replace", other_first)
    spool.rotate(state.folder, 1)

    found = [spool.read_from(path, 0) for path in spool.files_in(state.folder)]
    assert sorted(names(found[0]) + names(found[1])) == ["E1", "E2"]


def test_a_rotation_that_fails_leaves_the_spool_as_it_is(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some systems do not rename an open file; some disks have no room for another name."""
    state = SessionState(home_dir, "abc")
    state.add_line("E1", {})

    def refuse(*_: object) -> bool:
        raise PermissionError(13, "in use")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        assert spool.rotate(state.folder, 1) is None
    with monkeypatch.context() as patch:
        patch.setattr(fastio, "create_exclusively", refuse)
        assert spool.rotate(state.folder, 1) is None

    assert spool.files_in(state.folder) == [f"{state.folder}/spool.jsonl"]


@pytest.mark.parametrize(
    ("name", "modified", "closed"),
    [
        ("spool.jsonl", 0.0, False),
        ("spool.100000000000.jsonl", 0.0, True),
        ("spool.100000000000.jsonl", 101.0, False),
        ("spool.101000000000.jsonl", 0.0, False),
    ],
)
def test_a_file_is_closed_an_hour_after_its_rotation_and_its_last_line(
    name: str, modified: float, closed: bool
) -> None:
    """Both must be long ago: an idle session's spool is old already when it is rotated."""
    assert spool.is_closed(f"/x/{name}", modified, 100.0 + HOUR) is closed


def _identity(path: Path) -> str | None:
    with path.open("rb") as file:
        return spool.identity(file)
