"""Files that are wholly ours: nobody else's is touched, and nothing of ours is left."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from brimline.errors import InstallError
from brimline.fast import io
from brimline.install.ownfiles import OwnFiles


@pytest.fixture
def folder(world: Path) -> Path:
    """A folder that is not there yet, two levels down."""
    return world / "theirs" / "commands" / "brim"


@pytest.fixture
def own(home_dir: str) -> OwnFiles:
    """A set of files that keeps edits."""
    return OwnFiles(home_dir, "some")


def wanted(folder: Path, **contents: str) -> dict[str, bytes]:
    """Files by name."""
    return {f"{folder}/{name}.md": text.encode() for name, text in contents.items()}


def names(folder: Path) -> list[str]:
    """What lies in a folder."""
    return sorted(os.listdir(folder))


def test_files_come_and_go_with_the_folders_made_for_them(
    own: OwnFiles, folder: Path, world: Path
) -> None:
    """Private to the user, and the folder that was there before stays."""
    (world / "theirs").mkdir()

    plan = own.write(wanted(folder, a="one", b="two"))

    assert [(Path(path).name, before) for path, before, _ in plan.changes] == [
        ("a.md", None),
        ("b.md", None),
    ]
    assert names(folder) == ["a.md", "b.md"]
    assert (folder / "a.md").stat().st_mode & 0o777 == 0o600
    assert own.is_recorded
    own.remove()
    assert os.listdir(world / "theirs") == []
    assert not own.is_recorded


def test_a_second_time_nothing_changes(own: OwnFiles, folder: Path, home_dir: str) -> None:
    """Neither the files nor the record."""
    own.write(wanted(folder, a="one"))
    record = Path(home_dir, "install", "some.json")
    before = (record.stat().st_mtime_ns, (folder / "a.md").stat().st_mtime_ns)

    assert own.write(wanted(folder, a="one")).changes == []
    assert (record.stat().st_mtime_ns, (folder / "a.md").stat().st_mtime_ns) == before


def test_a_new_version_renews_adds_and_retires(own: OwnFiles, folder: Path) -> None:
    """What is no longer wanted goes."""
    own.write(wanted(folder, a="one", b="two"))

    own.write(wanted(folder, b="two!", c="three"))

    assert names(folder) == ["b.md", "c.md"]
    assert (folder / "b.md").read_text() == "two!"
    own.remove()
    assert not folder.exists()


def test_a_file_of_somebody_else_is_never_touched(own: OwnFiles, folder: Path) -> None:
    """Neither by writing nor by removing; its folder stays with it."""
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("theirs")

    plan = own.write(wanted(folder, a="one", b="two"))

    assert plan.foreign == [f"{folder}/a.md"]
    assert (folder / "a.md").read_text() == "theirs"
    own.remove()
    assert names(folder) == ["a.md"]


def test_an_edited_file_is_somebodys_from_then_on(own: OwnFiles, folder: Path) -> None:
    """An upgrade leaves it, and so does removing, which says so."""
    own.write(wanted(folder, a="one"))
    (folder / "a.md").write_text("one, but mine")

    assert own.write(wanted(folder, a="two")).foreign == [f"{folder}/a.md"]
    assert (folder / "a.md").read_text() == "one, but mine"


def test_removing_names_what_was_edited(own: OwnFiles, folder: Path) -> None:
    """It stays where it is."""
    own.write(wanted(folder, a="one", b="two"))
    (folder / "a.md").write_text("mine")

    assert own.remove().foreign == [f"{folder}/a.md"]
    assert names(folder) == ["a.md"]


def test_where_edits_do_not_count_ours_are_renewed(home_dir: str, folder: Path) -> None:
    """In a folder of our own; a file that was never ours is left alone there, too."""
    own = OwnFiles(home_dir, "some", keeps_edits=False)
    own.write(wanted(folder, a="one"))
    (folder / "a.md").write_text("edited")
    (folder / "b.md").write_text("theirs")

    assert own.write(wanted(folder, a="two", b="two")).foreign == [f"{folder}/b.md"]
    assert (folder / "a.md").read_text() == "two"
    (folder / "a.md").write_text("edited again")
    own.remove()
    assert names(folder) == ["b.md"]


@pytest.mark.parametrize("kind", ["link", "dangling", "folder"])
def test_what_is_no_plain_file_is_somebodys(
    kind: str, own: OwnFiles, folder: Path, world: Path
) -> None:
    """A link is not followed, not replaced and not removed."""
    folder.mkdir(parents=True)
    target = world / "target.md"
    if kind == "folder":
        (folder / "a.md").mkdir()
    else:
        (folder / "a.md").symlink_to(target)
    if kind == "link":
        target.write_text("theirs")

    assert own.write(wanted(folder, a="one")).foreign == [f"{folder}/a.md"]
    own.remove()
    assert names(folder) == ["a.md"]
    assert not target.exists() or target.read_text() == "theirs"


def test_a_linked_folder_is_written_through_and_stays(
    own: OwnFiles, folder: Path, world: Path
) -> None:
    """Somebody keeps their commands elsewhere: the link is theirs."""
    elsewhere = world / "dotfiles"
    elsewhere.mkdir()
    folder.parent.parent.mkdir()
    folder.parent.symlink_to(elsewhere)

    own.write(wanted(folder, a="one"))

    assert names(elsewhere / "brim") == ["a.md"]
    own.remove()
    assert folder.parent.is_symlink()
    assert os.listdir(elsewhere) == []


def test_without_the_record_files_like_ours_are_ours(
    own: OwnFiles, folder: Path, home_dir: str
) -> None:
    """Content that we would write now cannot be anybody else's."""
    files = wanted(folder, a="one", b="two")
    own.write(files)
    Path(home_dir, "install", "some.json").unlink()
    (folder / "b.md").write_text("mine")

    assert own.remove().changes == []
    plan = own.remove(files)

    assert [path for path, _, _ in plan.changes] == [f"{folder}/a.md"]
    assert names(folder) == ["b.md"]


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b'{"v": 9}', b'{"v": 1, "files": [], "folders": []}', b"\xff", b'"text"'],
)
def test_a_damaged_record_knows_nothing(
    raw: bytes, own: OwnFiles, folder: Path, home_dir: str
) -> None:
    """Then every file that differs is somebody's; nothing fails."""
    own.write(wanted(folder, a="one"))
    Path(home_dir, "install", "some.json").write_bytes(raw)

    assert own.plan(wanted(folder, a="one")).changes == []
    assert own.plan(wanted(folder, a="two")).foreign == [f"{folder}/a.md"]
    assert own.plan_removal().changes == []


def test_a_folder_that_cannot_be_made_is_one_sentence(own: OwnFiles, folder: Path) -> None:
    """A file is in its place: nothing is written, and the sentence names the file."""
    folder.parent.parent.mkdir(parents=True)
    folder.parent.write_text("in the way")

    with pytest.raises(InstallError, match=r"^cannot write .*/brim/a\.md: \S.*$"):
        own.write(wanted(folder, a="one"))


def test_a_full_disk_leaves_only_files_that_are_known(
    own: OwnFiles, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in the middle, the next run goes on and removing finds everything."""
    real = io.replace_file

    def fails_at_b(path: str, data: bytes) -> None:
        if path.endswith("b.md"):
            raise OSError(28, "No space left on device")
        real(path, data)

    monkeypatch.setattr(io, "replace_file", fails_at_b)
    with pytest.raises(InstallError, match=r"cannot write .*b\.md: No space left on device"):
        own.write(wanted(folder, a="one", b="two", c="three"))
    assert names(folder) == ["a.md"]
    monkeypatch.setattr(io, "replace_file", real)

    assert [path[-4:] for path, _, _ in own.plan_removal().changes] == ["a.md"]
    own.write(wanted(folder, a="one", b="two", c="three"))
    own.remove()
    assert not folder.exists()


def test_the_record_is_there_before_the_files(
    own: OwnFiles, folder: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the two, a later run still knows what is ours."""
    own.write(wanted(folder, a="one"))
    real = io.replace_file

    def killed_at_a(path: str, data: bytes) -> None:
        real(path, data)
        if path.endswith("a.md"):
            raise KeyboardInterrupt

    monkeypatch.setattr(io, "replace_file", killed_at_a)
    with pytest.raises(KeyboardInterrupt):
        own.write(wanted(folder, a="two"))
    monkeypatch.setattr(io, "replace_file", real)

    known = json.loads(Path(home_dir, "install", "some.json").read_bytes())
    assert len(known["files"][f"{folder}/a.md"]) == 2
    own.write(wanted(folder, a="three"))
    assert (folder / "a.md").read_text() == "three"
