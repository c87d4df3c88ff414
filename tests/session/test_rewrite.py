"""A verified copy takes the session's name; what others append meanwhile goes along, in order."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, BinaryIO

import pytest

from brimline.session import disk, recovery, rewrite
from brimline.session.disk import BusyError, InUseError, RewriteError

from . import machines
from .machines import line, shorten

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(world: Path) -> Path:
    """A session of forty rows, in a folder whose name asks for care."""
    return machines.make_session(world / "a project of Zoë [1]" / "s.jsonl")


def test_the_copy_takes_the_place_and_the_backup_holds_what_was(path: Path, home_dir: str) -> None:
    """The name leads to the new content, the backup to the old, byte for byte."""
    before = path.read_bytes()

    done = machines.run(path, home_dir)

    assert machines.numbers(path) == list(range(40))
    assert path.read_bytes().count(b'"new"') == 14
    assert done.backup is not None
    with open(done.backup, "rb") as backup:
        assert backup.read() == before
    assert (done.before.length, done.after.length) == (len(before), path.stat().st_size)
    assert machines.ours(path) == []


@pytest.mark.row("S3-49")
def test_backups_are_private_named_by_the_second_and_never_written_over(
    path: Path, home_dir: str
) -> None:
    """Three rewrites within a second leave three backups in the documented form."""
    made = {machines.run(path, home_dir).backup for _ in range(1)}
    for text in (b'"one"', b'"two"'):
        made.add(_replacing(path, home_dir, b'"old"' if text == b'"one"' else b'"one"', text))

    assert len(made) == 3
    for backup in made:
        assert backup is not None
        assert backup.removeprefix(f"{path}.backup.").replace("_", "").isdigit()
        assert stat.S_IMODE(os.stat(backup).st_mode) == 0o600


def test_a_rewrite_that_changes_nothing_swaps_nothing(path: Path, home_dir: str) -> None:
    """The same bytes: no backup, the same file, the same time."""
    before = path.stat()

    done = machines.run(path, home_dir, _identity)

    assert (done.swapped, done.backup) == (False, None)
    assert path.stat().st_ino == before.st_ino
    assert os.listdir(path.parent) == ["s.jsonl"]


def test_mode_and_time_of_a_session_survive(path: Path, home_dir: str) -> None:
    """`--continue` picks the session written last: a rewrite does not make it that one."""
    path.chmod(0o640)
    os.utime(path, (1_700_000_000, 1_700_000_000))

    machines.run(path, home_dir)

    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.stat().st_mtime == 1_700_000_000


def test_a_copy_that_is_not_sound_is_never_swapped_in(path: Path, home_dir: str) -> None:
    """When the verification objects, the folder is as it was."""
    before = path.stat()

    def object_to(new_path: str) -> None:
        assert os.path.getsize(new_path) == before.st_size
        raise RewriteError("a pair is broken")

    with pytest.raises(RewriteError, match="a pair is broken"):
        machines.run(path, home_dir, shorten, verify=object_to)

    assert path.stat().st_ino == before.st_ino
    assert os.listdir(path.parent) == ["s.jsonl"]


def test_a_program_that_holds_the_old_file_is_heard_later(path: Path, home_dir: str) -> None:
    """What it writes after the rewrite is over stays linked, and the next run adds it."""
    with path.open("ab", buffering=0) as held:
        done = machines.run(path, home_dir)
        held.write(line(40))
        held.write(line(41))

        assert not done.is_over
        assert machines.everywhere(path) == set(range(42))
        assert [one.lines for one in recovery.recover(str(path))] == [2]
        assert machines.numbers(path) == list(range(42))
        held.write(line(42))

    recovery.recover(str(path.parent))
    assert machines.numbers(path) == list(range(43))
    assert machines.ours(path) == []


def test_rows_of_a_later_file_never_overtake_those_of_an_older_one(
    path: Path, home_dir: str
) -> None:
    """A row that reaches the old file late is put before those that went to the new one."""
    with path.open("ab", buffering=0) as held:
        machines.run(path, home_dir)
        with path.open("ab") as reopened:
            reopened.write(line(41))
        held.write(line(40))

    recovery.recover(str(path))

    assert machines.numbers(path) == list(range(42))


def test_a_last_row_that_is_torn_for_good_is_part_of_the_snapshot(
    path: Path, home_dir: str
) -> None:
    """Nothing was written for a while: the rest of that row will not come."""
    with path.open("ab") as file:
        file.write(line(40)[:-1])
    os.utime(path, (1_700_000_000, 1_700_000_000))
    size = path.stat().st_size

    done = machines.run(path, home_dir, quiet_s=1.0)

    assert done.before.length == size
    assert path.read_bytes().endswith(line(40)[:-1])


def test_a_link_stays_a_link(path: Path, home_dir: str) -> None:
    """The session it leads to is rewritten, and the backup lies beside that."""
    link = path.with_name("link.jsonl")
    link.symlink_to(path)

    done = machines.run(link, home_dir)

    assert link.is_symlink()
    assert done.path == str(path)
    assert str(done.backup).startswith(f"{path}.backup.")
    assert link.read_bytes() == path.read_bytes()


def test_a_session_with_a_second_name_is_refused(path: Path, home_dir: str) -> None:
    """The other name would go on with the old content; the reason is given."""
    os.link(path, path.with_name("second.jsonl"))

    with pytest.raises(RewriteError, match="1 more name"):
        machines.run(path, home_dir)

    assert sorted(os.listdir(path.parent)) == ["s.jsonl", "second.jsonl"]


@pytest.mark.parametrize("kind", ["folder", "pipe", "nothing", "dangling link"])
def test_what_is_no_session_file_is_refused(kind: str, world: Path, home_dir: str) -> None:
    """In a sentence, without waiting for anybody, and without a trace."""
    (world / "folder").mkdir()
    path = world / "folder" / "thing.jsonl"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "dangling link":
        path.symlink_to(world / "nowhere")

    with pytest.raises(RewriteError, match=r"cannot be read|no plain file"):
        machines.run(path, home_dir)

    assert set(os.listdir(path.parent)) <= {"thing.jsonl"}


def test_a_second_command_on_the_same_session_is_told_to_wait(path: Path, home_dir: str) -> None:
    """It names the process that is at work, and touches nothing."""
    complaints = []

    def make_new(old: BinaryIO, length: int, new: BinaryIO) -> None:
        with pytest.raises(BusyError, match=f"process {os.getpid()}") as caught:
            machines.run(path, home_dir)
        complaints.append(caught.value)
        assert recovery.recover(str(path)) == []
        shorten(old, length, new)

    machines.run(path, home_dir, make_new, quiet_s=0)

    assert len(complaints) == 1
    assert machines.numbers(path) == list(range(40))


def test_the_lock_of_a_process_that_died_is_free(path: Path, home_dir: str) -> None:
    """It holds nothing up, and is cleared away."""
    code = "import os; from brimline.session import disk\n"
    code += f"with disk.locked({str(path)!r}): os._exit(9)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    assert machines.ours(path) == ["s.jsonl.brimline-lock"]

    machines.run(path, home_dir)

    assert machines.ours(path) == []


def test_a_session_in_use_is_refused_with_the_reason(path: Path, home_dir: str) -> None:
    """It was written a moment ago; nothing is left behind."""
    order = rewrite.Order(str(path), home_dir, shorten, machines.accept)
    with pytest.raises(InUseError, match=r"written \d+ s ago.*end it first; nothing was changed"):
        rewrite.rewrite(order)

    assert os.listdir(path.parent) == ["s.jsonl"]
    assert machines.run(path, home_dir).swapped


def test_a_session_whose_former_file_is_held_open_is_in_use(path: Path, home_dir: str) -> None:
    """Whoever holds it writes there, and its lines have to come before the next rewrite."""
    with path.open("ab", buffering=0) as held:
        machines.run(path, home_dir)
        with pytest.raises(InUseError, match="still has the file open"):
            _replacing(path, home_dir, b'"old"', b'"more"')
        held.write(line(40))

    recovery.recover(str(path))
    _replacing(path, home_dir, b'"old"', b'"more"')
    assert machines.numbers_of_any(path) == list(range(41))
    assert machines.ours(path) == []


@pytest.mark.parametrize("change", ["removed", "replaced", "cut", "edited"])
def test_a_session_that_others_change_meanwhile_is_left_to_them(
    change: str, path: Path, home_dir: str
) -> None:
    """Nothing is swapped over their work."""

    def make_new(old: BinaryIO, length: int, new: BinaryIO) -> None:
        shorten(old, length, new)
        if change in ("removed", "replaced"):
            path.unlink()
        if change == "replaced":
            path.write_bytes(b"theirs\n")
        elif change == "cut":
            os.truncate(path, 100)
        elif change == "edited":
            with path.open("r+b") as file:
                file.write(b"[")

    with pytest.raises(RewriteError, match=r"nothing was (swapped|changed)"):
        machines.run(path, home_dir, make_new, quiet_s=0)

    left = {"removed": [], "replaced": ["s.jsonl"]}.get(change, ["s.jsonl"])
    assert os.listdir(path.parent) == left
    if change == "replaced":
        assert path.read_bytes() == b"theirs\n"


def test_a_row_that_the_client_takes_back_in_the_last_moment_stops_the_swap(
    path: Path, home_dir: str
) -> None:
    """Clients cut their last row off again and write on; offsets would then lie within a row."""

    def verify(_new: str) -> None:
        with path.open("ab") as file:
            file.write(line(40))

    def take_back(_number: int, name: str) -> None:
        if name == "link":
            os.truncate(path, path.stat().st_size - 30)
            with path.open("ab") as file:
                file.write(b"x" * 40 + b"\n")

    with pytest.MonkeyPatch.context() as patch:
        machines.install(patch, machines.Machine(take_back))
        with pytest.raises(RewriteError, match="changed by another program"):
            machines.run(path, home_dir, shorten, verify=verify, quiet_s=0)

    assert machines.ours(path) == []


def test_a_disk_without_room_is_refused_before_it_is_full(
    path: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client needs what is left of it for its own rows."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 20))

    with pytest.raises(RewriteError, match="only 1 MB are free"):
        machines.run(path, home_dir)

    assert os.listdir(path.parent) == ["s.jsonl"]


def test_without_hard_links_the_old_file_is_followed_by_the_command_alone(
    path: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no name that a later command could find, so it is followed to its end."""
    machine = machines.Machine()
    monkeypatch.setattr(machine, "link", _unsupported, raising=False)
    machines.install(monkeypatch, machine)

    with path.open("ab", buffering=0) as held:

        def write_late(_number: int, name: str) -> None:
            if name == "replace" and b'"new"' in path.read_bytes() + _beside(path):
                held.write(line(40))
                machine.before = lambda *_: None

        machine.before = write_late
        machines.run(path, home_dir)
    assert machines.numbers(path) == list(range(41))
    assert machines.ours(path) == []


def _unsupported(*_: object) -> None:
    raise OSError(95, "Operation not supported")


def test_a_system_that_cannot_tell_keeps_the_old_file_for_a_day(
    path: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS: nobody knows whether a program holds it, so it stays for a while."""
    monkeypatch.setattr(disk, "nobody_writes", lambda _: None)
    machines.run(path, home_dir)
    (kept,) = path.parent.glob("*-old-*")

    recovery.recover(str(path))
    assert kept.exists()
    assert machines.restore(path, home_dir)
    monkeypatch.setattr(recovery, "_FORGOTTEN_S", 0)
    recovery.recover(str(path))

    assert machines.ours(path) == []
    assert machines.numbers(path) == list(range(40))


def test_a_flood_is_given_up_on(path: Path, home_dir: str) -> None:
    """A program that writes between any two steps cannot be followed, and is told so."""
    has_begun: list[str] = []

    def flood(_number: int, name: str) -> None:
        if name in ("unlink", "stat") and not has_begun:
            return
        has_begun.append(name)
        with path.open("ab") as file:
            file.write(b"{}\n")

    with pytest.MonkeyPatch.context() as patch:
        machines.install(patch, machines.Machine(flood))
        with pytest.raises(RewriteError, match="faster than it can be followed"):
            machines.run(path, home_dir)

    assert machines.numbers(path) == list(range(40))
    assert machines.ours(path) == []


def _beside(path: Path) -> bytes:
    new = path.with_name(path.name + ".brimline-new")
    return new.read_bytes() if new.exists() else b""


def _identity(old: BinaryIO, _length: int, new: BinaryIO) -> None:
    new.write(old.read())


def _replacing(path: Path, home_dir: str, before: bytes, after: bytes) -> str | None:
    def make_new(old: BinaryIO, length: int, new: BinaryIO) -> None:
        new.write(old.read(length).replace(before, after))

    return machines.run(path, home_dir, make_new).backup
