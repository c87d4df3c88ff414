"""The next run finishes what an earlier one could not, whatever others did in between."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from brimline.session import disk, recovery
from brimline.session.disk import RewriteError

from . import machines
from .machines import line

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(world: Path) -> Path:
    """A session of forty rows."""
    return machines.make_session(world / "folder" / "s.jsonl")


def test_every_session_of_a_folder_is_finished_and_what_was_left_is_swept(
    path: Path, home_dir: str
) -> None:
    """A copy in the making, an unfinished backup, a free lock; a hook leaves large sessions."""
    assert recovery.recover(str(path.parent)) == recovery.recover(str(path.parent / "no")) == []
    other = machines.make_session(path.with_name("t.jsonl"))
    with other.open("ab", buffering=0) as held:
        machines.run(other, home_dir)
        held.write(line(40) + line(41))
    for kind in ("lock", "new", "backup"):
        with open(disk.beside(str(path), kind), "wb") as file:
            file.write(b"half a")

    assert recovery.recover(str(path.parent), most_bytes=100) == []
    done = recovery.recover(str(path.parent), most_bytes=10_000)

    assert [(os.path.basename(one.session), one.lines) for one in done] == [
        ("s.jsonl", 0),
        ("t.jsonl", 2),
    ]
    assert (machines.numbers(path), machines.numbers(other)) == ([*range(40)], [*range(42)])
    assert machines.ours(path) == machines.ours(other) == []


@pytest.mark.parametrize("how", ["in place", "by rename"])
def test_a_session_restored_by_hand_keeps_its_content_and_gets_what_it_misses(
    how: str, path: Path, home_dir: str
) -> None:
    """The places we noted mean nothing in it any more: late rows come at its end."""
    with path.open("ab", buffering=0) as held:
        done = machines.run(path, home_dir)
        held.write(line(40))
        recovery.recover(str(path))
        assert done.backup is not None
        if how == "in place":
            shutil.copyfile(done.backup, path)
        else:
            os.replace(done.backup, path)
        with path.open("ab") as reopened:
            reopened.write(line(40))
        held.write(line(41))

    recovery.recover(str(path))
    recovery.recover(str(path))

    assert machines.numbers(path) == list(range(42))
    assert b'"new"' not in path.read_bytes()
    assert machines.ours(path) == []


def test_rows_that_a_client_takes_back_from_the_old_file_do_not_confuse(
    path: Path, home_dir: str
) -> None:
    """It became shorter than what was carried over; only what is new comes along."""
    with path.open("ab", buffering=0) as held:
        machines.run(path, home_dir)
        held.write(line(40) + line(41))
        recovery.recover(str(path))
        os.truncate(held.fileno(), os.fstat(held.fileno()).st_size - len(line(41)))
        recovery.recover(str(path))
        held.write(line(42))

    recovery.recover(str(path))

    assert machines.numbers(path) == [*range(42), 42]


@pytest.mark.parametrize("note", [b"", b"no number\nno json", b'1\n{"v":99}', b"\xff\n[]"])
def test_a_journal_that_makes_no_sense_is_left_with_what_it_tells_of(
    note: bytes, path: Path, home_dir: str
) -> None:
    """It may be a newer brimline's: nothing is touched, and the way out is told."""
    with path.open("ab", buffering=0) as held:
        machines.run(path, home_dir)
        held.write(line(40))
    path.with_name("s.jsonl.brimline-swap").write_bytes(note)
    before = path.read_bytes()

    (told,) = recovery.recover(str(path))

    assert "update brimline" in str(told.problem)
    assert path.read_bytes() == before
    assert machines.everywhere(path) == set(range(41))
    with pytest.raises(RewriteError, match="update brimline"):
        machines.run(path, home_dir)


def test_a_journal_leads_to_no_file_but_ours(path: Path, home_dir: str) -> None:
    """A name with a folder in it is not followed."""
    with path.open("ab", buffering=0) as held:
        machines.run(path, home_dir)
        held.write(line(40))
    journal = path.with_name("s.jsonl.brimline-swap")
    journal.write_bytes(journal.read_bytes().replace(b"s.jsonl.brimline-old", b"../x.brimline-old"))

    recovery.recover(str(path))

    assert machines.numbers(path) == list(range(40))
    assert path.with_name("s.jsonl.brimline-old-1").exists()


def test_a_removed_session_stays_removed(path: Path, home_dir: str) -> None:
    """What we kept of it goes a day after its last row, not earlier."""
    with path.open("ab", buffering=0) as held:
        machines.run(path, home_dir)
        held.write(line(40))
    path.unlink()

    recovery.recover(str(path.parent))
    assert [name for name in machines.ours(path) if "old" in name]
    for name in machines.ours(path):
        os.utime(path.with_name(name), (1_700_000_000, 1_700_000_000))
    recovery.recover(str(path.parent))

    assert machines.ours(path) == []
    assert not path.exists()


def test_a_disk_that_is_full_at_recovery_is_told_and_loses_nothing(
    path: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows stay in the old file; a command goes on, with the reason in hand."""
    with path.open("ab", buffering=0) as held:
        machines.run(path, home_dir)
        held.write(line(40))
    with monkeypatch.context() as patch:
        machines.install(patch, machines.Machine(_full_for_writes))
        (told,) = recovery.recover(str(path))

    assert "No space left" in str(told.problem)
    assert machines.everywhere(path) == set(range(41))
    recovery.recover(str(path))
    assert machines.numbers(path) == list(range(41))


def _full_for_writes(_number: int, name: str) -> None:
    if name == "write":
        raise OSError(28, "No space left on device")
