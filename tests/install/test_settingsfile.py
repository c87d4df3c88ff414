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
    settingsfile.replace_settings(settingsfile.read(str(path)), new, backups)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder."""
    path = tmp_path / "folder"
    path.mkdir()
    return path


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


@pytest.mark.parametrize("linked", [None, "file", "dangling"])
def test_mode_owner_and_links_stay(linked: str | None, folder: Path) -> None:
    """Whoever installs; the file behind a link is written, and nothing else is left there."""
    path = target = folder / "settings.json"
    if linked:
        target = folder / "dotfiles" / "settings.json"
        target.parent.mkdir()
        path.symlink_to(target)
    if linked != "dangling":
        target.write_text("{}")
        target.chmod(0o640)
        if os.geteuid() == 0:
            os.chown(target, 1234, 1235)

    replace(path, b"[]")

    found = target.stat()
    assert target.read_bytes() == b"[]"
    assert stat.S_IMODE(found.st_mode) == (0o600 if linked == "dangling" else 0o640)
    if linked != "dangling" and os.geteuid() == 0:
        assert (found.st_uid, found.st_gid) == (1234, 1235)
    assert path.is_symlink() is bool(linked)
    assert os.listdir(target.parent) == ["settings.json"]


def test_a_change_in_between_is_not_overwritten(folder: Path, tmp_path: Path) -> None:
    """Changed, created or deleted by somebody else: their version stays."""
    path = folder / "settings.json"
    absent = settingsfile.read(str(path))
    path.write_text("theirs")
    before = settingsfile.read(str(path))
    with pytest.raises(settingsfile.ChangedMeanwhileError):
        settingsfile.replace_settings(absent, b"ours", str(tmp_path))
    path.write_text("theirs again")
    with pytest.raises(settingsfile.ChangedMeanwhileError):
        settingsfile.replace_settings(before, b"ours", str(tmp_path))
    with pytest.raises(settingsfile.ChangedMeanwhileError):
        settingsfile.replace_settings(before, None, str(tmp_path))

    assert path.read_text() == "theirs again"
    assert os.listdir(folder) == ["settings.json"]


def test_every_backup_has_its_own_name(folder: Path) -> None:
    """Several in one second are all kept, named with the time and private."""
    path = folder / "settings.json"
    made = []
    for text in ("a", "b", "c"):
        path.write_text(text)
        made.append(
            settingsfile.back_up_settings(settingsfile.read(str(path)), str(folder / "backups"))
        )

    assert [Path(backup or "").read_text() for backup in made] == ["a", "b", "c"]
    assert all(re.search(r"/settings\.json\.\d{8}_\d{6}(\.\d+)?$", backup or "") for backup in made)
    assert {stat.S_IMODE(os.stat(backup or "").st_mode) for backup in made} == {0o600}


TRIES = settingsfile._TRIES


@pytest.mark.parametrize(("fails", "tries"), [(0, 1), (1, 2), (TRIES - 1, TRIES)])
def test_settings_that_another_program_changes_are_tried_some_times(fails: int, tries: int) -> None:
    """Then they are its."""
    tried: list[int] = []

    def attempt() -> str:
        tried.append(len(tried))
        if len(tried) <= fails:
            raise settingsfile.ChangedMeanwhileError
        return "done"

    assert settingsfile.retry_if_changed(attempt) == "done"
    assert len(tried) == tries
    tried.clear()
    fails = 99
    with pytest.raises(settingsfile.ChangedMeanwhileError):
        settingsfile.retry_if_changed(attempt)
    assert len(tried) == TRIES


def test_backups_of_one_second_are_numbered_from_one_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the time."""
    monkeypatch.setattr("time.strftime", lambda _form: "20260921_141300")
    file = settingsfile.SettingsFile("/x/settings.json", "/x/settings.json", b"{}")
    folder = tmp_path / "backups"

    names = [os.path.basename(settingsfile.back_up_settings(file, str(folder))) for _ in range(3)]

    first = "settings.json.20260921_141300"
    assert names == [first, f"{first}.1", f"{first}.2"]
    assert settingsfile.back_up_settings(file._replace(raw=None), str(folder)) == ""
    assert sorted(os.listdir(folder)) == names
