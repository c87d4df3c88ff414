"""Small file operations: whole or not at all, private from the start, honest about full disks."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from brimline.fast import io


def test_a_line_is_appended_and_folders_are_made(world: Path) -> None:
    """Missing folders come into being private, and so does the file."""
    path = world / "a" / "b" / "log.jsonl"

    io.append_line(str(path), "one")
    io.append_line(str(path), "zwei ü")

    assert path.read_text(encoding="utf-8") == "one\nzwei ü\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700


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
            io.make_folders(path)


def test_more_than_one_block_is_read_to_the_end(world: Path) -> None:
    """Large files come in several reads."""
    data = os.urandom(3 << 20)
    (world / "file").write_bytes(data)

    assert io.read_file(str(world / "file")) == data
    assert io.read_file(str(world / "file"), 2 << 20) == data[: 2 << 20]
    assert io.read_file(str(world / "file"), 10) == data[:10]


def test_what_is_not_there_is_empty_and_names_of_any_bytes_survive(world: Path) -> None:
    """A missing folder has no names, a missing file is gone; names need be no UTF-8."""
    (world / "file").write_text("")
    assert io.names_in(str(world / "missing")) == []
    assert io.names_in(str(world / "file" / "below")) == []
    io.remove(str(world / "missing"))
    if sys.platform != "darwin":  # which takes UTF-8 names only
        Path(os.fsdecode(os.fsencode(world) + b"/raw-\xff")).write_text("x")

        (name,) = [name for name in io.names_in(str(world)) if name.startswith("raw")]
        assert io.read_file(f"{world}/{name}") == b"x"


def _forbid_growth() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def test_lines_come_from_the_last_to_the_first_with_their_places(world: Path) -> None:
    """However long they are, with an end or without; an empty file has none."""
    path = world / "lines"
    long = b"x" * 300_000
    wholes = []
    for data in (b"", b"one", b"one\n", b"one\n\ntwo", long + b"\n" + long + b"\nend"):
        path.write_bytes(data)
        lines = list(io.lines_backward(str(path)))
        wholes.append(b"\n".join(line for _, line in reversed(lines)) == data)
        assert all(data[at : at + len(line)] == line for at, line in lines)

    assert all(wholes)
    path.write_bytes(b"")
    assert list(io.lines_backward(str(path))) == []
    path.write_bytes(b"one\ntwo")
    assert list(io.lines_backward(str(path))) == [(4, b"two"), (0, b"one")]
    with pytest.raises(OSError, match="not a regular file"):
        list(io.lines_backward(str(world)))
