"""What is kept of sessions: those that are known, and how they are forgotten."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from brimline.errors import StateError
from brimline.fast import io, paths
from brimline.state import forgotten, session, traces
from brimline.state.forgotten import Asked
from brimline.state.session import SessionState


def test_a_session_is_as_old_as_the_newest_file_in_its_folder(home_dir: str) -> None:
    """One without files has no age."""
    SessionState(home_dir, "s1").spool_event("Stop", {"cwd": "/p"})
    folder = Path(paths.session_dir(home_dir, "s1"))
    (folder / "telemetry.json").write_text("{}", encoding="utf-8")
    os.utime(folder / "spool.jsonl", (2_000, 2_000))
    os.utime(folder / "telemetry.json", (1_000, 1_000))
    io.make_folder_and_parents(paths.session_dir(home_dir, "s2"))

    known = sorted(traces.sessions(home_dir))

    assert ("s1", "", 2_000.0) in known
    assert ("s2", "", 0.0) in known


def test_a_session_is_forgotten_with_its_folder_and_its_lines(home_dir: str) -> None:
    """A dry run counts the same files, and leaves them."""
    for name in ("s1", "s2"):
        state = SessionState(home_dir, name)
        state.spool_event("Stop", {"n": 1})
        state.save_mod_notice("text")
        with open(f"{home_dir}/errors.jsonl", "a", encoding="utf-8") as file:
            file.write(f'{{"v":1,"what":"of {name}","session":"{name}","path":"{name}.txt"}}\n')
    count = len(io.list_names(paths.session_dir(home_dir, "s1")))
    assert count > 0

    for dry_run in (True, False):
        assert traces.forget(home_dir, Asked(("s1",)), dry_run=dry_run) == {"files": count}
        assert os.path.isdir(paths.session_dir(home_dir, "s1")) is dry_run
        log = Path(f"{home_dir}/errors.jsonl").read_text(encoding="utf-8")
        assert ("s1" in log) is dry_run
    assert traces.forget(home_dir, Asked(("s1",)), dry_run=False) == {"files": 0}
    assert os.path.isdir(paths.session_dir(home_dir, "s2"))
    assert log.strip() == '{"v":1,"what":"of s2","session":"s2","path":"s2.txt"}'


def test_a_link_in_the_place_of_a_folder_is_not_followed(home_dir: str, tmp_path: Path) -> None:
    """What it leads to is somebody else's; a dry run only counts."""
    target = tmp_path / "theirs"
    target.mkdir()
    (target / "a").write_text("", encoding="utf-8")
    link = tmp_path / "link"
    link.symlink_to(target)

    assert forgotten.delete_folder(str(link), dry_run=True) == 1
    with pytest.raises(StateError, match="is a link"):
        forgotten.delete_folder(str(link), dry_run=False)
    assert forgotten.delete_folder(str(target), dry_run=False) == 1
    assert not target.exists()


def test_a_forgotten_session_is_silent_until_written_again(home_dir: str, tmp_path: Path) -> None:
    """Another one is not."""
    forgotten.note_forgotten(home_dir, 100.0004, {"session": "s1"})
    forgotten.note_forgotten(home_dir, 200.0, {"project": "/p"})
    gone = forgotten.forgotten_line_by_session(home_dir)
    assert {name: line["at"] for name, line in gone.items()} == {"s1": 100.0}
    for name, moment, silent in (("s1", 100, True), ("s1", 101, False), ("s2", 1, False)):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("", encoding="utf-8")
        os.utime(path, (moment, moment))
        assert forgotten.is_forgotten_file(gone, str(path)) is silent


def test_every_file_of_a_session_that_is_named_in_the_state_is_known_as_ours() -> None:
    """A name that no pattern knows would stay behind when the data folder is deleted."""
    told = [name for name in vars(session) if name.isupper() or name[:1] == "_"]
    names = [getattr(session, name) for name in told if isinstance(getattr(session, name), str)]
    files = [name for name in names if re.fullmatch(r"mod-\w+|off|\w+\.jsonl?", name)]
    assert len(files) > 6

    for name in files:
        assert re.fullmatch(traces.FILES["sessions/*"], name), name
