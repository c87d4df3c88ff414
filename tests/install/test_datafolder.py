"""What is ours in the data folder, and only that."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

from brimline import config
from brimline.carry import checkpoint, ledger, links, notes
from brimline.fast import io, paths
from brimline.install import datafolder, record, settingsfile
from brimline.state import logs
from brimline.state.session import SessionState, Snapshot


def fill(home_dir: str, project_dir: str) -> None:
    """Write one of everything."""
    state = SessionState(home_dir, "session-1")
    state.add_line("Stop", {})
    state.save_snapshot(Snapshot(at=1.0))
    state.claim_level(1, 0)
    state.remember_window(1_000_000)
    logs.record_failure(home_dir, "Stop", ValueError("x"))
    config.change(paths.user_config(home_dir), "guard.preset", "off", project=False)
    config.compile_policy(home_dir, project_dir)
    record.save(home_dir, record.Record("/a"))
    record.keep_original(home_dir, "/a", b"x")
    file = settingsfile.SettingsFile("/x/settings.local.json", "/x", b"{}")
    settingsfile.back_up(file, f"{home_dir}/backups")
    settingsfile.back_up(file, f"{home_dir}/backups")
    Path(home_dir, f"config.toml.{os.getpid()}.123.tmp").write_text("cut short")
    _carry(home_dir, project_dir)


def _carry(home_dir: str, project_dir: str) -> None:
    record = ledger.Ledger("session-1")
    record.tasks = {"1": ["pending", "a task"]}
    ledger.save(home_dir, record)
    notes.add(home_dir, "session-1", ledger.KEEP, "a note")
    checkpoint.save(
        home_dir, record, trigger="auto", project_dir=project_dir, transcript=None, figures={}
    )
    links.note_client(home_dir, "4711", "session-1")
    links.note_unfinished(home_dir, project_dir, record)
    for name in ("carried-4711", "carry-refused", "carry-incomplete", "carry-remainder"):
        Path(home_dir, "sessions", "session-1", name).write_bytes(b"")
    for name in ("card.md", "audit-1.json"):
        Path(home_dir, "carry", "session-1", name).write_bytes(b"")


def test_everything_we_write_is_known_as_ours(home_dir: str, project_dir: str) -> None:
    """Deleting leaves nothing, not even the folder."""
    fill(home_dir, project_dir)

    assert datafolder.delete(home_dir) == []
    assert not os.path.exists(home_dir)


def test_every_place_that_paths_names_is_known(home_dir: str, project_dir: str) -> None:
    """A place that a new capability writes to must be known here too."""
    named = {"project_dir": project_dir, "session_id": "one", "home_dir": home_dir}
    for name, function in inspect.getmembers(paths, inspect.isfunction):
        parameters = inspect.signature(function).parameters
        if "home_dir" in parameters and not name.startswith("_"):
            place = function(**{key: named[key] for key in parameters})
            if name.endswith("_dir"):
                io.make_folders(place)
                assert place in datafolder.folders(home_dir), name
            else:
                io.replace_file(place, b"")
                assert place in datafolder.files(home_dir), name


def test_a_folder_of_the_users_loses_only_what_is_ours(home_dir: str, project_dir: str) -> None:
    """Named as the data folder by mistake, a home keeps its own backups, sessions and settings."""
    theirs = ["backups/photo.jpg", "sessions/tmux/state", "sessions/note", "policy/mine.json",
              "install/app/run", "notes.txt", "errors.jsonl.gz"]  # fmt: skip
    for name in theirs:
        path = Path(home_dir, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("theirs")
    fill(home_dir, project_dir)

    left = datafolder.delete(home_dir)

    kept = [str(path.relative_to(home_dir)) for path in Path(home_dir).rglob("*") if path.is_file()]
    assert sorted(kept) == sorted(theirs)
    assert left == sorted({name.partition("/")[0] for name in theirs})


def test_somebody_elses_configuration_stays(home_dir: str) -> None:
    """A `config.toml` with other settings than ours is not ours."""
    path = Path(home_dir, "config.toml")
    path.parent.mkdir()
    path.write_text("[server]\nport = 80\n")

    assert datafolder.delete(home_dir) == ["config.toml"]


def test_links_are_not_followed(home_dir: str, project_dir: str, tmp_path: Path) -> None:
    """What a link in the data folder leads to is not touched; the folder itself may be a link."""
    real, other = tmp_path / "real", tmp_path / "other"
    other.mkdir()
    fill(str(other), project_dir)
    real.mkdir()
    os.symlink(real, home_dir)
    fill(home_dir, project_dir)
    os.symlink(other / "sessions" / "session-1", real / "sessions" / "linked")
    before = sorted(other.rglob("*"))

    assert datafolder.delete(home_dir) == ["sessions"]
    assert os.path.islink(home_dir)
    assert sorted(other.rglob("*")) == before


def test_without_a_data_folder_there_is_nothing(home_dir: str) -> None:
    """Asking and deleting both work."""
    assert datafolder.files(home_dir) == datafolder.folders(home_dir) == []
    assert datafolder.delete(home_dir) == []
