"""Small file operations: whole or not at all, private from the start, honest about full disks."""

from __future__ import annotations

import os
import posix
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from brimline.fast import io
from brimline.fast.io import _MOST_DIGITS


def test_a_file_is_replaced_whole(world: Path) -> None:
    """And nothing is left behind, also where it fails; of those who create one exactly one does."""
    path = world / "folder" / "file"

    assert io.create_exclusively(str(path), b"old") is True
    assert io.create_exclusively(str(path), b"other") is False
    assert path.read_bytes() == b"old"
    io.replace_file(str(path), b"new")
    (path.parent / "taken").mkdir()
    with pytest.raises(IsADirectoryError):
        io.replace_file(str(path.parent / "taken"), b"new")

    assert path.read_bytes() == b"new"
    assert sorted(os.listdir(path.parent)) == ["file", "taken"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_full_disk_raises_and_leaves_old_content(world: Path) -> None:
    """Where nothing more can be written, each operation raises OSError and nothing half stays."""
    (world / "kept").write_bytes(b"kept")
    code = (
        "import sys\n"
        "from brimline.fast import io\n"
        "folder = sys.argv[1]\n"
        "for act in (\n"
        "    lambda: io.replace_file(folder + '/kept', b'new'),\n"
        "    lambda: io.append_line(folder + '/kept', 'more'),\n"
        "    lambda: io.create_exclusively(folder + '/claim', b'1'),\n"
        "):\n"
        "    try: act()\n"
        "    except OSError: io.system.write(1, b'refused ')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(world)],
        env={"HOME": str(world), "BRIMLINE_HOME": str(world / "b")},
        capture_output=True,
        check=False,
        timeout=60,
        preexec_fn=_forbid_growth,
    )

    assert done.stdout == b"refused refused refused ", done.stderr
    assert (world / "kept").read_bytes() == b"kept"
    assert sorted(os.listdir(world)) == ["home", "kept", "project"]


def test_a_folder_that_cannot_be_made_raises_an_os_error(world: Path) -> None:
    """Below a file, below a link into nowhere, without any parent: one error, no endless search."""
    (world / "file").write_text("")
    (world / "link").symlink_to(world / "nowhere")

    for path in (f"{world}/file/a/b", f"{world}/link/a/b", ""):
        with pytest.raises(OSError):  # noqa: PT011 - the kind differs by path
            io.make_folder_and_parents(path)


def test_what_is_not_there_is_empty_and_names_of_any_bytes_survive(world: Path) -> None:
    """A missing folder has no names, a missing file is gone; names need be no UTF-8."""
    (world / "file").write_text("")
    assert io.list_names(str(world / "missing")) == []
    assert io.list_names(str(world / "file" / "below")) == []
    io.remove(str(world / "missing"))
    if sys.platform != "darwin":  # which takes UTF-8 names only
        Path(os.fsdecode(os.fsencode(world) + b"/raw-\xff")).write_text("x")

        (name,) = [name for name in io.list_names(str(world)) if name.startswith("raw")]
        assert io.read_file(f"{world}/{name}") == b"x"


def _forbid_growth() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def test_lines_come_from_the_last_to_the_first_with_their_places(world: Path) -> None:
    """However long they are, with an end or without; an empty file has none."""
    path = world / "lines"
    long = b"x" * 300_000
    wholes = []
    for data in (b"", b"one", b"one\n", b"\none", b"one\n\ntwo", long + b"\n" + long + b"\nend"):
        path.write_bytes(data)
        lines = list(io.lines_backward_with_offsets(str(path)))
        wholes.append(b"\n".join(line for _, line in reversed(lines)) == data)
        assert all(data[at : at + len(line)] == line for at, line in lines)

    assert all(wholes)
    path.write_bytes(b"")
    assert list(io.lines_backward_with_offsets(str(path))) == []
    path.write_bytes(b"one\ntwo")
    assert list(io.lines_backward_with_offsets(str(path))) == [(4, b"two"), (0, b"one")]
    path.write_bytes(b"\none")
    assert list(io.lines_backward_with_offsets(str(path))) == [(1, b"one"), (0, b"")]
    with pytest.raises(OSError, match="not a regular file"):
        list(io.lines_backward_with_offsets(str(world)))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5),
        ("0", None),
        ("007", 7),
        ("9" * _MOST_DIGITS, int("9" * _MOST_DIGITS)),
        ("9" * (_MOST_DIGITS + 1), None),
        ("-5", None),
        ("5.0", None),
        ("٥", None),
        ("", None),
    ],
)
def test_a_number_is_plain_digits(text: str, number: int | None) -> None:
    """Twelve at most; 0 says nothing."""
    assert io.parse_positive_number(text) == number


@pytest.mark.parametrize(("size", "rotated"), [(10, False), (11, True)])
def test_a_log_is_put_aside_beyond_its_limit(world: Path, size: int, rotated: bool) -> None:
    """The one before it is dropped, and one that is missing is fine."""
    path = world / "log"
    io.rotate_if_too_large(str(path), 10)
    (world / "log.old").write_bytes(b"older")
    path.write_bytes(b"x" * size)

    io.rotate_if_too_large(str(path), 10)

    assert path.exists() is not rotated
    assert ((world / "log.old").read_bytes() == b"older") is not rotated


@pytest.mark.parametrize("limit", [0, 1, 3, 4, None])
def test_a_file_is_read_up_to_a_limit(world: Path, limit: int | None) -> None:
    """Or whole."""
    (world / "a").write_bytes(b"abc")

    assert io.read_file(str(world / "a"), limit) == b"abc"[:limit]


def test_a_file_is_created_once_and_for_the_user_alone(world: Path) -> None:
    """With the folders above it."""
    path = world / "x" / "y" / "z"
    assert io.create_exclusively(str(path), b"1") is True
    assert io.create_exclusively(str(path), b"2") is False
    assert path.read_bytes() == b"1"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.parent.parent.stat().st_mode & 0o777 == 0o700
    io.replace_file(str(path), b"3", 0o644)
    assert path.stat().st_mode & 0o777 == 0o644
    io.make_folder_and_parents(str(path.parent))


def test_variables_are_found_without_the_library_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook has none of it; whatever bytes they hold can be written back."""
    for name, value in ((b"BRIMLIN_A", b"x\xff"), (b"BRIMLIN_B", b"")):
        monkeypatch.setitem(posix.environ, name, value)
    with monkeypatch.context() as bare:
        bare.delitem(sys.modules, "os")
        found = [io.env(f"BRIMLIN_{letter}") for letter in "ABC"]
        names = io.env_names_with_prefix("BRIMLIN_", ("BRIMLIN_B",))

    assert found == ["x\udcff", "", None]
    assert names == ["BRIMLIN_A"]


@pytest.mark.parametrize("mode", [0o600, 0o601, 0o755, 0o777])
def test_a_file_may_be_a_program(world: Path, mode: int) -> None:
    """Its lines are read all the same."""
    path = world / "log"
    path.write_bytes(b"a\nb\n")
    path.chmod(mode)

    assert list(io.lines_backward_with_offsets(str(path))) == [(4, b""), (2, b"b"), (0, b"a")]


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 327_680, 327_681, 1_400_000])
def test_a_line_of_any_length_comes_whole(world: Path, size: int) -> None:
    """Also where it just fills what is read at once; the first line has its place at 0."""
    path = world / "log"
    path.write_bytes(b"first\n" + b"x" * size)

    (last_at, last), (first_at, first) = io.lines_backward_with_offsets(str(path))

    assert (last_at, last == b"x" * size) == (6, True)
    assert (first_at, first) == (0, b"first")


def test_nothing_is_left_open(world: Path) -> None:
    """Whatever was done to a file, and where it failed."""
    path = str(world / "file")
    before = sorted(os.listdir("/dev/fd"))

    io.append_line(path, "line")
    io.read_file(path)
    io.read_file(path, 2)
    list(io.lines_backward_with_offsets(path))
    next(io.lines_backward_with_offsets(path))
    io.replace_file(path, b"other")
    io.create_exclusively(path, b"")
    io.create_exclusively(f"{path}-2", b"")
    for fails in (io.read_file, lambda place: list(io.lines_backward_with_offsets(place))):
        with pytest.raises(OSError, match=r"."):
            fails(str(world))
    with pytest.raises(OSError, match=r"."):
        io.replace_file(str(world), b"x")

    assert sorted(os.listdir("/dev/fd")) == before
    assert not list(world.glob("*.tmp"))
    assert not list(world.parent.glob("*.tmp"))


@pytest.mark.parametrize("before", [0, 1, io._BLOCK_BYTES - 2, io._BLOCK_BYTES + 1])
def test_bytes_are_looked_for_in_the_whole_file(tmp_path: Path, before: int) -> None:
    """Also where two blocks meet; none are found in one that is empty or gone."""
    path, empty = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"-" * before + b"mark" + b"-" * 9)
    empty.touch()

    found = [io.does_file_contain(str(path), mark) for mark in (b"mark", b"k---", b"marks")]

    assert found == [True, True, False]
    assert not io.does_file_contain(str(empty), b"x")
    assert not io.does_file_contain(f"{empty}.gone", b"x")
