"""The settings file on disk: nothing of anybody's is lost, whatever goes wrong."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from brimline.errors import InstallError
from brimline.install import settingsfile


def replace(path: Path, new: bytes) -> None:
    """Swap in new content, with a backup elsewhere."""
    backups = str(path.parents[1] / "backups")
    settingsfile.replace(settingsfile.read(str(path)), new, backups)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder."""
    path = tmp_path / "folder"
    path.mkdir()
    return path


def test_a_file_that_is_not_there_reads_as_none(folder: Path) -> None:
    """Missing file, missing folder, or a file where the folder should be: all are no settings."""
    (folder / "file").write_text("x")

    for path in ("none.json", "no/folder/none.json", "file/none.json"):
        assert settingsfile.read(str(folder / path)).raw is None


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_what_is_no_regular_file_is_refused(kind: str, folder: Path) -> None:
    """A pipe would block us and a device would be replaced by a file."""
    path = folder / "settings.json"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/null")

    with pytest.raises(InstallError, match="regular file"):
        settingsfile.read(str(path))


def test_mode_and_bytes_are_what_they_shall_be(folder: Path) -> None:
    """The new content has the mode of the old; nothing else is left in the folder."""
    path = folder / "settings.json"
    path.write_text("{}")
    path.chmod(0o640)

    replace(path, b"[]")

    assert path.read_bytes() == b"[]"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(folder) == ["settings.json"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_stays(folder: Path) -> None:
    """Installing through sudo must not take the settings away from their owner."""
    path = folder / "settings.json"
    path.write_text("{}")
    os.chown(path, 1234, 1235)

    replace(path, b"[]")

    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 1235)


@pytest.mark.parametrize("dangling", [False, True])
def test_a_symlink_stays_a_symlink(dangling: bool, folder: Path) -> None:
    """Dotfile managers link the settings; the file behind the link is written."""
    target = folder / "dotfiles" / "settings.json"
    target.parent.mkdir()
    if not dangling:
        target.write_text("{}")
    link = folder / "settings.json"
    link.symlink_to(target)

    replace(link, b"[]")

    assert link.is_symlink()
    assert target.read_bytes() == b"[]"


def test_a_change_in_between_is_not_overwritten(folder: Path, tmp_path: Path) -> None:
    """Changed, created or deleted by somebody else: their version stays."""
    path = folder / "settings.json"
    absent = settingsfile.read(str(path))
    path.write_text("theirs")
    before = settingsfile.read(str(path))
    with pytest.raises(settingsfile.ChangedMeanwhileError):
        settingsfile.replace(absent, b"ours", str(tmp_path))
    path.write_text("theirs again")
    with pytest.raises(settingsfile.ChangedMeanwhileError):
        settingsfile.replace(before, b"ours", str(tmp_path))
    with pytest.raises(settingsfile.ChangedMeanwhileError):
        settingsfile.replace(before, None, str(tmp_path), folder=True)

    assert path.read_text() == "theirs again"
    assert os.listdir(folder) == ["settings.json"]


def test_what_a_killed_run_left_is_cleared_and_a_running_one_is_not(folder: Path) -> None:
    """A leftover is told by its age."""
    dead, alive, theirs = (
        folder / f"settings.json.{n}" for n in ("brimline-1.tmp", "brimline-2.tmp", "x")
    )
    for leftover in (dead, alive, theirs):
        leftover.write_text("half")
    os.utime(dead, (1, 1))
    os.utime(theirs, (1, 1))

    replace(folder / "settings.json", b"{}")

    assert sorted(os.listdir(folder)) == sorted(["settings.json", alive.name, theirs.name])


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), OSError("odd")])
def test_a_hard_linked_file_is_written_in_place_or_told(
    error: OSError, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shorter or longer, all its names have the new bytes."""
    path, other = folder / "settings.json", folder.parent / "other.json"
    path.write_text("something longer")
    os.link(path, other)
    for new in (b"[]", b"[1, 2, 3, 4, 5, 6, 7, 8]"):
        replace(path, new)
        assert other.read_bytes() == new

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InstallError, match=f"cannot write {path}: "):
        replace(path, b"{}")


def test_every_backup_has_its_own_name(folder: Path) -> None:
    """Several in one second are all kept, named with the time and private."""
    path = folder / "settings.json"
    made = []
    for text in ("a", "b", "c"):
        path.write_text(text)
        made.append(settingsfile.back_up(settingsfile.read(str(path)), str(folder / "backups")))

    assert [Path(backup or "").read_text() for backup in made] == ["a", "b", "c"]
    assert all(re.search(r"/settings\.json\.\d{8}_\d{6}(\.\d+)?$", backup or "") for backup in made)
    assert {stat.S_IMODE(os.stat(backup or "").st_mode) for backup in made} == {0o600}


def test_a_backup_that_cannot_be_written_is_told(folder: Path) -> None:
    """Without it nothing must be changed."""
    path = folder / "settings.json"
    path.write_text("{}")

    with pytest.raises(InstallError, match="backup"):
        settingsfile.back_up(settingsfile.read(str(path)), str(path))
