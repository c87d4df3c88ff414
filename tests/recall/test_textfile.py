"""Files that others change too: read whole, changed from what they hold, never through a link."""

from __future__ import annotations

import errno
import os
import re
from typing import TYPE_CHECKING

import pytest

from brimline.errors import StateError
from brimline.fast import paths
from brimline.recall import textfile

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = textfile.LARGEST_BYTES


@pytest.fixture
def path(world: Path) -> Path:
    """A file that is not there yet, in a folder that is."""
    return world / "project" / "MEMORY.md"


@pytest.mark.parametrize("size", [0, 1, LARGEST])
def test_a_file_is_read_whole(path: Path, size: int) -> None:
    """Up to a megabyte; of one that is not there nothing."""
    assert textfile.read_whole_file(str(path)) == b""
    path.write_bytes(b"x" * size)

    assert len(textfile.read_whole_file(str(path))) == size
    assert textfile.read_beginning_of_file(str(path), 1) == b"x" * min(size, 1)


def test_a_larger_file_is_refused_and_so_is_a_larger_change(path: Path) -> None:
    """It is said how large one may be, and that nothing was changed."""
    told = re.escape(f"{path} is larger than {LARGEST:,} bytes: nothing was changed")
    path.write_bytes(b"x" * (LARGEST + 1))
    with pytest.raises(StateError, match=told):
        textfile.read_whole_file(str(path))
    path.write_bytes(b"x\n")
    with pytest.raises(StateError, match=told):
        textfile.change_lines(str(path), lambda _: ["x" * LARGEST])
    assert path.read_bytes() == b"x\n"

    textfile.change_lines(str(path), lambda _: ["x" * (LARGEST - 1)])

    assert path.stat().st_size == LARGEST


def test_what_cannot_be_read_is_told_in_a_sentence(path: Path) -> None:
    """A link, a folder, a place below a file."""
    path.symlink_to("x")
    with pytest.raises(StateError, match="is a link: nothing is read or written through it"):
        textfile.read_whole_file(str(path))
    path.unlink()
    path.mkdir()
    with pytest.raises(StateError, match=f"{re.escape(str(path))} is not a file"):
        textfile.read_whole_file(str(path))
    path.rmdir()
    path.write_bytes(b"")
    with pytest.raises(StateError, match=r"/MEMORY\.md/x cannot be read: Not a directory"):
        textfile.read_whole_file(f"{path}/x")


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (b"", []),
        (b"\n\n", []),
        (b"a", ["a"]),
        (b"a\n\nb\n\n", ["a", "", "b"]),
        (b"\r\na\r\n", ["", "a"]),
        (b"a\rb\n", ["a\rb"]),
        (b"\xff", ["\udcff"]),
    ],
)
def test_lines_have_no_ends(raw: bytes, lines: list[str]) -> None:
    """Blank ones at the end are none."""
    assert textfile.decode_lines(raw) == lines


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"a\nnew\n"),
        (b"a\n", b"a\nnew\n"),
        (b"a\r\nb\n", b"a\r\nnew\r\n"),
        (b"a\nb\r\n", b"a\nnew\n"),
    ],
)
def test_a_change_keeps_line_ends_and_mode(path: Path, before: bytes, after: bytes) -> None:
    """As the first line has them; nothing is left beside the file."""
    if before:
        path.write_bytes(before)
        path.chmod(0o640)

    textfile.change_lines(str(path), lambda _: ["a", "new"])

    assert path.read_bytes() == after
    assert path.stat().st_mode & 0o777 == (0o640 if before else 0o600)
    assert os.listdir(path.parent) == ["MEMORY.md"]
    lock = f"{paths.path_fingerprint(str(path.parent))}.lock"
    assert os.listdir(f"{paths.data_dir()}/memory") == [lock]


def test_bytes_that_are_no_text_stay_and_what_is_the_same_is_not_written(path: Path) -> None:
    """The file stays the one that it is."""
    path.write_bytes(b"\xff\xfe\n")
    node = path.stat().st_ino
    textfile.change_lines(str(path), lambda lines: lines)
    assert path.stat().st_ino == node

    textfile.change_lines(str(path), lambda lines: [*lines, "é"])

    assert path.read_bytes() == b"\xff\xfe\n\xc3\xa9\n"
    assert path.stat().st_ino != node


def test_what_was_changed_meanwhile_is_left_as_it_is(path: Path) -> None:
    """And what cannot be replaced leaves nothing beside it."""
    path.write_bytes(b"theirs")

    assert textfile.try_replace_if_unchanged(str(path), b"seen", "ours") is False
    assert path.read_bytes() == b"theirs"
    assert textfile.try_replace_if_unchanged(str(path), b"theirs", "ours") is True
    assert path.read_bytes() == b"ours"
    assert os.listdir(path.parent) == ["MEMORY.md"]


def test_a_linked_folder_is_refused_unless_it_is_the_clients_own(world: Path) -> None:
    """There it is the user who put it."""
    (world / "real").mkdir()
    linked = world / "project" / "linked"
    linked.symlink_to(world / "real")
    own = world / "home" / ".claude" / "projects"
    own.mkdir(parents=True)
    (own / "linked").symlink_to(world / "real")

    told = "is a link: let `autoMemoryDirectory` name where it leads"
    with pytest.raises(StateError, match=told):
        textfile.refuse_linked_folder(str(linked))
    textfile.refuse_linked_folder(str(own / "linked"))
    textfile.refuse_linked_folder(str(world / "real"))


def test_a_change_that_fails_leaves_no_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what was there as it was."""
    path.write_bytes(b"before")

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        textfile.try_replace_if_unchanged(str(path), b"before", "after")

    assert [(one.name, one.read_bytes()) for one in path.parent.iterdir() if one.is_file()] == [
        (path.name, b"before")
    ]
