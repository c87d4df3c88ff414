"""A verified copy takes the session's name; what others append goes along, in order."""

from __future__ import annotations

import gc
import os
import shutil
import stat
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, BinaryIO

import pytest

from brimline.session import disk, in_use, recovery
from brimline.session.disk import BusyError, InUseError, RewriteError
from brimline.session.rewrite import (
    Order,
    Rewritten,
    _failed_after_swap_error,
    _snapshot_length,
    rewrite,
)

from . import machines
from .machines import line, shorten

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(world: Path) -> Path:
    """A session of forty rows, in a folder whose name asks for care."""
    return machines.make_session(world / "a project of Zoë [1]" / "s.jsonl")


def _replacing(path: Path, home_dir: str, before: bytes, after: bytes) -> str | None:
    def make_new(old: BinaryIO, length: int, new: BinaryIO) -> None:
        new.write(old.read(length).replace(before, after))

    return machines.run(path, home_dir, make_new).backup


@pytest.mark.row("S3-49")
def test_the_copy_takes_the_place_and_the_backup_holds_what_was(path: Path, home_dir: str) -> None:
    """Mode, owner and time survive; backups are private and never written over within a second."""
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
    owner = path.stat().st_uid, path.stat().st_gid
    before = path.read_bytes()

    done = machines.run(path, home_dir)

    assert machines.numbers(path) == list(range(40))
    assert path.read_bytes().count(b'"new"') == 14
    assert (done.before.length, done.after.length) == (len(before), path.stat().st_size)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.stat().st_mtime == machines.LONG_AGO
    assert (path.stat().st_uid, path.stat().st_gid) == owner
    assert machines.ours(path) == []
    again = _replacing(path, home_dir, b'"old"', b'"one"')
    assert done.backup is not None
    with open(done.backup, "rb") as backup:
        assert backup.read() == before
    for made in (done.backup, str(again)):
        assert made.removeprefix(f"{path}.backup.").replace("_", "").isdigit()
        assert stat.S_IMODE(os.stat(made).st_mode) == 0o600


def test_whatever_takes_a_name_is_on_the_disk_before(
    path: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Backup, way back and journal, in this order, come before the swap; the folder comes last."""
    machine = machines.Machine()
    machines.install(monkeypatch, machine)

    machines.run(path, home_dir)

    small_file = ["open", "write", "fsync", "replace"]
    assert [name for name in machine.names if name != "unlink"] == [
        *("open", "open", "write", "write"),  # the backup and the copy
        *("fsync", "replace", "fsync"),  # the backup gets its name
        *small_file,  # the way back
        *("fsync", *small_file, "link", "write", "replace"),  # the copy, the journal, the swap
        *("fsync", *small_file, "fsync"),  # what came meanwhile
    ]


def test_what_came_late_is_merged_before_the_next_rewrite(path: Path, home_dir: str) -> None:
    """Nobody has to run another command in between."""
    with path.open("ab", buffering=0) as held:
        machines.run(path, home_dir)
        held.write(line(40))
    for name in machines.ours(path):
        os.utime(path.parent / name, (machines.LONG_AGO, machines.LONG_AGO))

    _replacing(path, home_dir, b'"old"', b'"new"')

    assert machines.numbers(path) == list(range(41))
    assert b'"old"' not in path.read_bytes()
    assert machines.ours(path) == []


def test_a_rewrite_that_changes_nothing_swaps_nothing(path: Path, home_dir: str) -> None:
    """The same bytes: no backup, the same file; an empty one stays empty."""
    before = path.stat()
    empty = machines.make_session(path.with_name("t.jsonl"), lines=0)

    def identity(old: BinaryIO, _length: int, new: BinaryIO) -> None:
        new.write(old.read())

    for one in (path, empty):
        done = machines.run(one, home_dir, identity)
        assert (done.swapped, done.backup) == (False, None)
    assert path.stat().st_ino == before.st_ino
    assert sorted(os.listdir(path.parent)) == ["s.jsonl", "t.jsonl"]


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (RewriteError("a pair is broken"), "a pair is broken"),
        (OSError(28, "No space left on device"), "No space left.* nothing was changed"),
        (KeyboardInterrupt(), "^$"),
    ],
)
@pytest.mark.parametrize("step", ["make_new", "verify"])
def test_a_copy_that_is_not_sound_is_never_swapped_in(
    path: Path, home_dir: str, failure: BaseException, told: str, step: str
) -> None:
    """Whatever goes wrong before the swap, the folder is as it was."""
    before = path.stat()

    def fail(*_: object) -> None:
        raise failure

    with pytest.raises((RewriteError, KeyboardInterrupt), match=told):
        machines.run(path, home_dir, **{step: fail})

    assert path.stat().st_ino == before.st_ino
    assert os.listdir(path.parent) == ["s.jsonl"]


def test_who_holds_the_old_file_is_heard_later_and_in_order(path: Path, home_dir: str) -> None:
    """Its rows come before those that went to the new file, and never in halves."""
    with path.open("ab", buffering=0) as held:
        done = machines.run(path, home_dir)
        with path.open("ab") as reopened:
            reopened.write(line(42))
        held.write(line(40) + line(41)[:7])

        assert not done.is_over
        assert machines.everywhere(path) == {*range(41), 42}
        held.write(line(41)[7:])
        assert [one.lines for one in recovery.finish_rewrites_at_path(str(path))] == [2]
        assert machines.numbers(path) == list(range(43))
        # By then the new file is an old one too, and what comes to the first still comes first.
        held.write(line(43))

    recovery.finish_rewrites_at_path(str(path.parent))
    assert machines.numbers(path) == [*range(42), 43, 42]
    assert machines.ours(path) == []


@pytest.mark.parametrize("kind", ["folder", "pipe", "nothing", "dangling link", "hard link"])
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
    elif kind == "hard link":
        os.link(machines.make_session(world / "second.jsonl"), path)

    with pytest.raises(RewriteError, match=r"cannot be read|no plain file|1 more name"):
        machines.run(path, home_dir)

    assert set(os.listdir(path.parent)) <= {"thing.jsonl"}


def test_a_second_command_on_the_same_session_is_told_to_wait(path: Path, home_dir: str) -> None:
    """It names the process that is at work; the lock of one that died is free."""
    code = "import os; from brimline.session import disk\n"
    code += f"with disk.hold_session_lock({str(path)!r}): os._exit(9)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    assert machines.ours(path) == ["s.jsonl.brimline-lock"]

    def make_new(old: BinaryIO, length: int, new: BinaryIO) -> None:
        with pytest.raises(BusyError, match=f"process {os.getpid()}"):
            machines.run(path, home_dir)
        assert recovery.finish_rewrites_at_path(str(path)) == []
        shorten(old, length, new)

    machines.run(path, home_dir, make_new)

    assert machines.numbers(path) == list(range(40))
    assert machines.ours(path) == []


def test_a_session_in_use_is_refused_with_the_reason(path: Path, home_dir: str) -> None:
    """Somebody holds the file that it was."""
    with path.open("ab", buffering=0) as held:
        machines.run(path, home_dir)
        with pytest.raises(InUseError, match="still has the file open"):
            _replacing(path, home_dir, b'"old"', b'"new"')
        held.write(line(40))
    recovery.finish_rewrites_at_path(str(path))
    _replacing(path, home_dir, b'"old"', b'"new"')
    assert machines.numbers(path) == list(range(41))


@pytest.mark.parametrize("change", ["removed", "replaced", "cut", "edited"])
def test_what_others_change_meanwhile_is_left_to_them(
    change: str, path: Path, home_dir: str
) -> None:
    """Nothing is swapped over their work, wherever in the session it is."""
    machines.make_session(path, lines=400)

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
        machines.run(path, home_dir, make_new)

    assert os.listdir(path.parent) == ([] if change == "removed" else ["s.jsonl"])
    if change == "replaced":
        assert path.read_bytes() == b"theirs\n"


def test_a_row_taken_back_in_the_last_moment_stops_the_swap(path: Path, home_dir: str) -> None:
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
            machines.run(path, home_dir, shorten, verify=verify)

    assert machines.ours(path) == []


@pytest.mark.parametrize("missing", [0, 1])
def test_a_disk_without_room_is_refused_before_it_is_full(
    path: Path, home_dir: str, missing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client needs what is left of it for its own rows: 16 MB beside two copies."""
    needed = 2 * path.stat().st_size + (16 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=needed - missing))

    if not missing:
        assert machines.run(path, home_dir).swapped
        return
    with pytest.raises(RewriteError) as raised:
        machines.run(path, home_dir)

    room = "takes 16 MB beside it, and only 16 MB are free"
    told = f"rewriting {path} {room}: make room first; nothing was changed"
    assert str(raised.value) == told
    assert os.listdir(path.parent) == ["s.jsonl"]


@pytest.mark.parametrize("mb", [1, 3])
def test_how_much_room_there_is_and_is_needed_is_told_in_megabytes(
    path: Path, home_dir: str, mb: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a session of ten of them."""
    os.truncate(path, 10 << 20)
    os.utime(path, (0, 0))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=mb << 20))

    with pytest.raises(RewriteError, match=f"takes 36 MB beside it, and only {mb} MB are free"):
        machines.run(path, home_dir)


@pytest.mark.parametrize("others", [1, 2])
def test_other_names_of_a_session_are_counted(path: Path, home_dir: str, others: int) -> None:
    """They would keep the old content."""
    for number in range(others):
        os.link(path, path.with_name(f"link{number}"))

    with pytest.raises(RewriteError, match=rf"has {others} more name\(s\) elsewhere"):
        machines.run(path, home_dir)


@pytest.mark.parametrize(
    ("age_s", "is_whole"), [(0.0, False), (30.0, False), (90.0, True), (-600.0, True)]
)
def test_a_torn_line_belongs_to_a_session_once_it_is_quiet(
    path: Path, age_s: float, is_whole: bool
) -> None:
    """A time that is to come tells nothing about when it was written."""
    whole = path.stat().st_size
    with path.open("ab") as file:
        file.write(b"half a line")
    moment = time.time() - age_s
    os.utime(path, (moment, moment))

    with path.open("rb") as file:
        length = _snapshot_length(file.fileno(), 60.0)

    assert length == (whole + len(b"half a line") if is_whole else whole)


@pytest.mark.parametrize(
    ("error", "told"),
    [(KeyboardInterrupt(), "it was interrupted"), (RewriteError("the disk said no"), "the disk")],
)
@pytest.mark.parametrize("has_note", [True, False])
def test_what_fails_after_the_swap_says_how_to_undo_it(
    error: BaseException, told: str, has_note: bool, home_dir: str
) -> None:
    """By a command where there is a note, else by the backup."""
    order = Order("/a b/s.jsonl", home_dir, shorten, machines.accept)
    if has_note:
        order.write_note = lambda _: "/note"

    text = str(_failed_after_swap_error(order, error))

    assert text.startswith(f"/a b/s.jsonl was rewritten, but then: {told}")
    undo = "undo it with `brimline session restore '/a b/s.jsonl'`"
    assert (undo in text, "its backup is beside it" in text) == (has_note, not has_note)


def test_a_rewrite_is_taken_for_done_unless_told_otherwise(home_dir: str) -> None:
    """Swapped, over, and without late lines; an order begins before its swap."""
    nothing = disk.Fingerprint(0, "")
    done = Rewritten("/s", nothing, nothing)

    assert (done.backup, done.late_lines, done.swapped, done.is_over) == (None, 0, True, True)
    order = Order("/s", home_dir, shorten, machines.accept)
    assert (order.has_swapped, order.quiet_s, order.write_note) == (False, 1.0, None)
    with pytest.raises(AttributeError):
        order.has_swaped = True  # type: ignore[attr-defined]


def test_without_hard_links_the_old_file_is_followed_by_the_command_alone(
    path: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no name that a later command could find, so it is followed to its end."""
    machine = machines.Machine()
    new = path.with_name(path.name + ".brimline-new")

    def unsupported(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(machine, "link", unsupported, raising=False)
    machines.install(monkeypatch, machine)

    with path.open("ab", buffering=0) as held:

        def write_late(_number: int, name: str) -> None:
            if name == "replace" and new.exists() and b'"new"' in new.read_bytes():
                held.write(line(40))
                machine.before = lambda *_: None

        machine.before = write_late
        machines.run(path, home_dir)
    assert machines.numbers(path) == list(range(41))
    assert machines.ours(path) == []


def test_a_system_that_cannot_tell_keeps_the_old_file_for_a_day(
    path: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS: nobody knows whether a program holds it, so it stays for a while.

    What comes to it has its place after the next rewrite too, which half a line holds up.
    """
    monkeypatch.setattr(disk, "has_no_writer", lambda _: None)
    with path.open("ab", buffering=0) as held:
        machines.run(path, home_dir)
        (kept,) = path.parent.glob("*-old-*")
        recovery.finish_rewrites_at_path(str(path))
        assert kept.exists()
        held.write(line(40)[:7])
        with pytest.raises(InUseError, match="still has the file open"):
            machines.run(path, home_dir, quiet_s=60)
        held.write(line(40)[7:])
        recovery.finish_rewrites_at_path(str(path))
        assert machines.restore(path, home_dir)
        _replacing(path, home_dir, line(0), b"longer\n" + line(0))
        held.write(line(41))

    monkeypatch.setattr(recovery, "_FORGOTTEN_S", 0)
    recovery.finish_rewrites_at_path(str(path))

    assert machines.ours(path) == []
    assert path.read_bytes() == b"longer\n" + b"".join([line(number) for number in range(42)])


def test_half_a_line_that_was_just_written_is_left_to_its_writer(
    path: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is rewritten ends with the line before; the half is carried over as it is."""
    monkeypatch.setattr(in_use, "RECENT_S", 0.0)
    lengths = []

    def make_new(old: BinaryIO, length: int, new: BinaryIO) -> None:
        lengths.append(length)
        shorten(old, length, new)

    length = path.stat().st_size
    with path.open("ab") as file:
        file.write(line(40)[:7])
    rewrite(Order(str(path), home_dir, make_new, machines.accept, quiet_s=600))

    assert lengths == [length]
    assert path.read_bytes().endswith(b"\n" + line(40)[:7])
    assert machines.ours(path) == []


def test_every_session_of_a_folder_is_finished_and_swept(path: Path, home_dir: str) -> None:
    """A copy in the making, an unfinished backup, a free lock; a hook leaves large sessions.

    A session is as old as its last line.
    """
    assert (
        recovery.finish_rewrites_at_path(str(path.parent))
        == recovery.finish_rewrites_at_path(str(path.parent / "no"))
        == []
    )
    other = machines.make_session(path.with_name("t.jsonl"))
    with other.open("ab", buffering=0) as held:
        machines.run(other, home_dir)
        held.write(line(40) + line(41))
        moment = os.fstat(held.fileno()).st_mtime
    for kind in ("lock", "new", "backup"):
        with open(disk.path_beside(str(path), kind), "wb") as file:
            file.write(b"half a")

    assert recovery.finish_rewrites_at_path(str(path.parent), most_bytes=100) == []
    done = recovery.finish_rewrites_at_path(str(path.parent), most_bytes=10_000)

    assert [(os.path.basename(one.session), one.lines) for one in done] == [
        ("s.jsonl", 0),
        ("t.jsonl", 2),
    ]
    assert (machines.numbers(path), machines.numbers(other)) == ([*range(40)], [*range(42)])
    assert machines.ours(path) == machines.ours(other) == []
    assert other.stat().st_mtime == moment


@pytest.mark.parametrize("how", ["in place", "by rename"])
def test_a_session_restored_by_hand_keeps_its_content_and_gets_what_it_misses(
    how: str, path: Path, home_dir: str
) -> None:
    """The places we noted mean nothing in it any more: late rows come at its end."""
    with path.open("ab", buffering=0) as held:
        done = machines.run(path, home_dir)
        held.write(line(40))
        recovery.finish_rewrites_at_path(str(path))
        assert done.backup is not None
        if how == "in place":
            shutil.copyfile(done.backup, path)
        else:
            os.replace(done.backup, path)
        with path.open("ab") as reopened:
            reopened.write(line(40))
        held.write(line(41))

    recovery.finish_rewrites_at_path(str(path))
    recovery.finish_rewrites_at_path(str(path))

    assert machines.numbers(path) == list(range(42))
    assert b'"new"' not in path.read_bytes()
    assert machines.ours(path) == []


def test_rows_taken_back_from_the_old_file_do_not_confuse(path: Path, home_dir: str) -> None:
    """It became shorter than what was carried over; only what is new comes along."""
    with path.open("ab", buffering=0) as held:
        machines.run(path, home_dir)
        held.write(line(40) + line(41))
        recovery.finish_rewrites_at_path(str(path))
        os.truncate(held.fileno(), os.fstat(held.fileno()).st_size - len(line(41)))
        recovery.finish_rewrites_at_path(str(path))
        held.write(line(42))

    recovery.finish_rewrites_at_path(str(path))

    assert machines.numbers(path) == [*range(42), 42]


def test_rows_taken_back_after_a_kill_leave_late_lines_at_the_end(
    path: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal knew of more than the session has by then."""

    def append(_new: str) -> None:
        with path.open("ab") as file:
            file.write(line(40))

    def die_after_the_rename(_number: int, _name: str) -> None:
        if b'"new"' in path.read_bytes():
            raise machines.Died

    with path.open("ab", buffering=0) as held, monkeypatch.context() as patch:
        machines.install(patch, machines.Machine(die_after_the_rename))
        with pytest.raises(machines.Died):
            machines.run(path, home_dir, verify=append)
        assert machines.numbers(path) == list(range(41))
        os.truncate(path, path.stat().st_size - len(line(40)))
        held.write(line(41))

    (done,) = recovery.finish_rewrites_at_path(str(path))

    assert done.problem is None
    assert machines.numbers(path) == [*range(40), 41]
    assert machines.ours(path) == []


@pytest.mark.parametrize("note", [b"", b"no number\nno json", b'1\n{"v":99}', b"\xff\n[]"])
def test_a_senseless_journal_is_left_with_its_files(note: bytes, path: Path, home_dir: str) -> None:
    """It may be a newer brimline's: nothing is touched, and the way out is told."""
    with path.open("ab", buffering=0) as held:
        machines.run(path, home_dir)
        held.write(line(40))
    path.with_name("s.jsonl.brimline-swap").write_bytes(note)
    before = path.read_bytes()

    (told,) = recovery.finish_rewrites_at_path(str(path))

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

    recovery.finish_rewrites_at_path(str(path))

    assert machines.numbers(path) == list(range(40))
    assert list(path.parent.glob("s.jsonl.brimline-old-*"))


def test_a_removed_session_stays_removed(path: Path, home_dir: str) -> None:
    """What we kept of it goes a day after its last row, not earlier."""
    with path.open("ab", buffering=0) as held:
        machines.run(path, home_dir)
        held.write(line(40))
    path.unlink()

    recovery.finish_rewrites_at_path(str(path.parent))
    assert [name for name in machines.ours(path) if "old" in name]
    for name in machines.ours(path):
        os.utime(path.with_name(name), (1_700_000_000, 1_700_000_000))
    recovery.finish_rewrites_at_path(str(path.parent))

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
        (told,) = recovery.finish_rewrites_at_path(str(path))

    assert "No space left" in str(told.problem)
    assert machines.everywhere(path) == set(range(41))
    recovery.finish_rewrites_at_path(str(path))
    assert machines.numbers(path) == list(range(41))


def _full_for_writes(_number: int, name: str) -> None:
    if name == "write":
        raise OSError(28, "No space left on device")


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="the system does not list them")
def test_no_file_stays_open(path: Path, home_dir: str) -> None:
    """Whether it works, is refused, or comes late."""
    gc.collect()
    open_before = len(os.listdir("/proc/self/fd"))

    machines.run(path, home_dir)
    with path.open("ab", buffering=0) as held:
        _replacing(path, home_dir, line(0), b"longer\n" + line(0))
        held.write(line(40))
    recovery.finish_rewrites_at_path(str(path))
    assert machines.restore(path, home_dir)
    path.with_name("link").hardlink_to(path)
    with pytest.raises(RewriteError):
        machines.run(path, home_dir)
    with pytest.raises(RewriteError):
        machines.run(path.parent, home_dir)

    assert len(os.listdir("/proc/self/fd")) <= open_before
    assert machines.ours(path) == []
