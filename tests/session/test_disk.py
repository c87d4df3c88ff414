"""The files of a rewrite, each function by itself: names, ranges, drafts, the lock."""

from __future__ import annotations

import errno
import os
import stat
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.session import disk
from brimline.session.disk import BusyError, Draft, Fingerprint, InUseError, RewrittenError

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 1 << 20


@pytest.fixture
def path(world: Path) -> Path:
    """A file that does not exist yet."""
    return world / "s.jsonl"


class Opened:
    """Opens files for reading."""

    def __init__(self) -> None:
        self.descriptors: list[int] = []

    def __call__(self, path: Path, data: bytes) -> int:
        """A descriptor of a file with these bytes."""
        path.write_bytes(data)
        self.descriptors.append(disk.open_nonblocking_to_read(str(path)))
        return self.descriptors[-1]


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Files that are closed after the test."""
    made = Opened()
    yield made
    for descriptor in made.descriptors:
        os.close(descriptor)


@pytest.mark.parametrize(
    ("name", "session", "is_former"),
    [
        *[(f"s.jsonl.brimline-{kind}", "s.jsonl", False) for kind in ("lock", "swap", "swap-new")],
        *[(f"s.jsonl.brimline-{kind}", "s.jsonl", False) for kind in ("new", "backup", "second")],
        ("s.jsonl.brimline-old-17", "s.jsonl", True),
        ("/p/s.jsonl.brimline-old-17", "/p/s.jsonl", False),
        ("a\nb.jsonl.brimline-old-1", "a\nb.jsonl", True),
        ("s.jsonl.brimline-old-", None, False),
        ("s.jsonl.brimline-old-x", None, False),
        ("s.jsonl.brimline-other", None, False),
        ("s.jsonl.brimline-lock.txt", None, False),
        (".brimline-lock", None, False),
        ("s.jsonl", None, False),
    ],
)
def test_a_file_of_ours_is_known_by_its_name(
    name: str, session: str | None, is_former: bool
) -> None:
    """One that was a session is named without its folder."""
    assert disk.session_of_our_file(name) == session
    assert disk.is_former_file_name(name) is is_former
    assert disk.path_beside("s.jsonl", "swap") == "s.jsonl.brimline-swap"


@pytest.mark.parametrize(
    ("data", "start", "end", "wanted"),
    [
        (b"", 0, 0, 0),
        (b"one\ntwo", 0, 7, 4),
        (b"one\ntwo\n", 0, 8, 8),
        (b"one\ntwo", 4, 7, 4),
        (b"one\ntwo", 5, 7, 5),
        (b"one", 0, 3, 0),
        (b"\n", 0, 1, 1),
        (b"\nabc", 0, 4, 1),
        (b"\nabc", 1, 4, 1),
        (b"abc\nde", 1, 3, 1),
        (b"ab\n" + b"x" * 65_535, 0, 65_538, 3),
        (b"ab\n" + b"x" * 65_536, 0, 65_539, 3),
        (b"ab\n" + b"x" * 65_537, 0, 65_540, 3),
        (b"\n" + b"x" * 200_000, 0, 200_001, 1),
        (b"x" * 200_000, 7, 200_000, 7),
    ],
)
def test_the_last_whole_line_of_a_range_is_found(
    path: Path, opened: Opened, data: bytes, start: int, end: int, wanted: int
) -> None:
    """However far back it ends; without one it is the range's own start."""
    assert disk.last_line_end_offset(opened(path, data), start, end) == wanted


@pytest.mark.parametrize(
    ("start", "end", "sizes"),
    [
        (0, 0, []),
        (0, BLOCK, [BLOCK]),
        (0, BLOCK + 1, [BLOCK, 1]),
        (1, BLOCK + 1, [BLOCK]),
        (5, 3, []),
        (BLOCK, 9 * BLOCK, [10]),
    ],
)
def test_a_range_comes_in_blocks_of_a_megabyte_as_far_as_it_goes(
    path: Path, opened: Opened, start: int, end: int, sizes: list[int]
) -> None:
    """A file that is shorter ends it."""
    file = opened(path, b"x" * (BLOCK + 10))

    assert [len(block) for block in disk.read_blocks(file, start, end)] == sizes
    assert disk.file_size(file) == BLOCK + 10


@pytest.mark.parametrize(("offset", "wanted"), [(0, 0), (5, 5), (4_096, 4_096), (4_097, 4_096)])
def test_a_place_is_known_by_4096_bytes_before_it(
    path: Path, opened: Opened, offset: int, wanted: int
) -> None:
    """Or as many as there are."""
    data = os.urandom(5_000)

    assert disk.bytes_before(opened(path, data), offset) == data[offset - wanted : offset]


@pytest.mark.parametrize(("length", "counted"), [(0, 0), (3, 3), (7, 7), (100, 7)])
def test_the_beginning_of_a_file_has_a_fingerprint(
    path: Path, opened: Opened, length: int, counted: int
) -> None:
    """Of as many bytes as there are."""
    data = b"one\ntwo"
    found = disk.fingerprint_of(opened(path, data), length)

    assert found == Fingerprint(counted, sha256(data[:counted]).hexdigest())


def test_a_draft_takes_ranges_hashes_them_and_goes_with_its_name(
    path: Path, opened: Opened, world: Path
) -> None:
    """It tells how many lines came; a file that is shorter than it was is refused."""
    file, name = opened(path, b"one\ntwo\nthree"), world / "draft"
    name.write_text("of an earlier command")
    with Draft(str(name)) as draft:
        assert (draft.fingerprint_so_far, draft.writable()) == (
            Fingerprint(0, sha256().hexdigest()),
            True,
        )
        assert disk.copy_and_count_lines(file, 4, 13, draft) == 1
        assert disk.copy_and_count_lines(file, 3, 3, draft) == 0
        assert draft.write(b"!") == 1
        assert draft.fingerprint_so_far == Fingerprint(10, sha256(b"two\nthree!").hexdigest())
        assert name.read_bytes() == b"two\nthree!"
        assert name.stat().st_mode & 0o777 == 0o600
        with pytest.raises(OSError, match="became shorter while it was copied") as raised:
            disk.copy_and_count_lines(file, 10, 14, draft)
        assert raised.value.errno == errno.EIO
    assert not name.exists()


def test_a_draft_leaves_a_name_that_is_another_files_by_now(world: Path) -> None:
    """As after a swap."""
    name = world / "draft"
    with Draft(str(name)) as draft:
        draft.write(b"x")
        os.replace(name, world / "taken")
        name.write_text("another")

    assert (name.read_text(), (world / "taken").read_text()) == ("another", "x")


def test_a_small_file_is_put_there_in_one_step(path: Path, world: Path) -> None:
    """Over the one before, and nothing is left beside it."""
    path.write_text("before")

    disk.write_file_atomically(str(path), str(world / "unfinished"), b"after")

    assert path.read_bytes() == b"after"
    assert not (world / "unfinished").exists()


def test_a_name_that_stands_for_nothing_has_no_number_and_no_length(path: Path) -> None:
    """To take it away is fine."""
    assert disk.inode_and_size(str(path)) == (None, 0)
    disk.remove(str(path))
    path.write_bytes(b"abc")
    assert disk.inode_and_size(str(path)) == (path.stat().st_ino, 3)
    disk.remove(str(path))
    assert not path.exists()


def test_the_lock_names_its_owner_and_goes_with_it(path: Path) -> None:
    """Who comes meanwhile is told whom to wait for; what a dead one left is taken over."""
    lock = Path(disk.path_beside(str(path), "lock"))
    lock.write_text("12345678901234567890\n")
    with disk.hold_session_lock(str(path)):
        assert lock.read_text() == f"{os.getpid()}\n"
        with pytest.raises(BusyError) as raised:
            disk.hold_session_lock(str(path)).__enter__()
        assert str(raised.value) == (
            f"{path} is being rewritten by another brimline command (process {os.getpid()}): "
            "try again when it is done"
        )
        lock.write_text("nobody")
        with pytest.raises(BusyError, match="another brimline command: try again"):
            disk.hold_session_lock(str(path)).__enter__()

    assert not lock.exists()


def test_the_lock_goes_where_the_work_under_it_fails(path: Path) -> None:
    """The next command finds it free."""
    with pytest.raises(ZeroDivisionError), disk.hold_session_lock(str(path)):
        raise ZeroDivisionError

    assert not Path(disk.path_beside(str(path), "lock")).exists()


def test_each_way_to_fail_has_a_code_of_its_own() -> None:
    """For programs that call us."""
    assert [kind.exit_code for kind in (InUseError, BusyError, RewrittenError)] == [3, 4, 5]


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK])
def test_a_second_name_is_given_where_the_system_can(
    path: Path, world: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that cannot is no trouble; any other refusal is."""
    path.write_text("x")
    disk.hard_link_ignore_unsupported(str(path), str(world / "second"))
    assert (world / "second").samefile(path)
    with pytest.raises(FileExistsError):
        disk.hard_link_ignore_unsupported(str(path), str(world / "second"))

    class Refusing:
        """A file system without second names."""

        @staticmethod
        def link(*_: str) -> None:
            """Refuse."""
            raise OSError(number, "no")

    monkeypatch.setattr(disk, "system", Refusing)
    disk.hard_link_ignore_unsupported(str(path), str(world / "third"))
    assert not (world / "third").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who has a file open")
def test_whether_somebody_writes_is_told_by_the_system(path: Path, opened: Opened) -> None:
    """Where it can tell at all."""
    file = opened(path, b"x")
    free = disk.has_no_writer(file)
    with path.open("ab"):
        assert disk.has_no_writer(file) is (False if free else None)

    assert disk.has_no_writer(file) is free


def test_locks_and_drafts_are_the_users_alone(path: Path) -> None:
    """A session may hold anything."""
    with disk.hold_session_lock(str(path)), disk.Draft(disk.path_beside(str(path), "new")) as draft:
        made = [each for each in path.parent.iterdir() if each.name.startswith(f"{path.name}.")]
        modes = {stat.S_IMODE(each.stat().st_mode) for each in made}
        assert draft.length == 0

    assert (len(made), modes) == (2, {0o600})


def test_a_lock_that_was_left_behind_names_its_new_owner(path: Path) -> None:
    """However long the number of the last one was."""
    lock = Path(disk.path_beside(str(path), "lock"))
    lock.write_text("9" * 30 + "\n")

    with disk.hold_session_lock(str(path)):
        assert lock.read_text() == f"{os.getpid()}\n"
        with pytest.raises(BusyError) as raised, disk.hold_session_lock(str(path)):
            pass

    assert f"another brimline command (process {os.getpid()}): try again" in str(raised.value)
    assert not lock.exists()


def test_it_is_the_folder_of_the_file_that_is_put_on_the_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is gone, or cannot be synced, is no reason to fail."""
    synced: list[int] = []

    class System:
        def fsync(self, descriptor: int) -> None:
            synced.append(os.fstat(descriptor).st_ino)
            raise OSError(errno.EINVAL, "not for folders")

    monkeypatch.setattr(disk, "system", System())

    disk.sync_folder_of(str(path))
    disk.sync_folder_of(str(path.parent / "gone" / "s.jsonl"))

    assert synced == [path.parent.stat().st_ino]
