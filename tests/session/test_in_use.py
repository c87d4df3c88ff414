"""A session is in use while its client runs, or while it is being written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from brimline.fast import paths
from brimline.session import in_use
from brimline.session.disk import InUseError

from . import machines
from .machines import LONG_AGO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(world: Path) -> Path:
    """A session of the client that nobody has written for long."""
    path = machines.make_session(world / f"{paths.client_config_dir()}/projects/-p/s1.jsonl")
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A client that runs until the end of the test."""
    code = "import sys; sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as running:
        yield running
        running.kill()


@pytest.mark.parametrize(("age_s", "is_idle"), [(1e8, True), (5, False), (-7_200, True)])
def test_what_was_just_written_is_in_use(
    path: Path, home_dir: str, age_s: float, is_idle: bool
) -> None:
    """Whoever wrote it may write again; a time far in the future says nothing."""
    os.utime(path, (time.time() - age_s, time.time() - age_s))

    assert (in_use.why(str(path), home_dir) is None) == is_idle
    if not is_idle:
        with pytest.raises(InUseError, match=r"written \d+ s ago.*nothing was changed"):
            in_use.require_idle(str(path), home_dir)


@pytest.mark.parametrize("told_by", ["hook", "client"])
def test_a_client_keeps_its_session_in_use_while_it_runs(
    path: Path, home_dir: str, process: subprocess.Popen[bytes], told_by: str
) -> None:
    """However long it has been quiet, subagents' sessions too; once it ended, it is idle."""
    agent = machines.make_session(path.parent / "s1" / "subagents" / "agent-a.jsonl")
    os.utime(agent, (LONG_AGO, LONG_AGO))
    if told_by == "hook":
        in_use.note_client(home_dir, "s1", process.pid)
    else:
        _register(path, process.pid, "s1")

    for session in (path, agent):
        assert f"process {process.pid}" in str(in_use.why(str(session), home_dir))
    process.kill()
    process.wait()
    assert in_use.why(str(path), home_dir) is None


def test_a_client_that_left_or_ended_is_forgotten_at_once(
    path: Path, home_dir: str, process: subprocess.Popen[bytes]
) -> None:
    """As the hook does it after `/clear`, where the client itself says so, and when it ends.

    The client writes its last rows while it ends; nobody has to wait for that to grow old.
    """
    in_use.note_client(home_dir, "s1", process.pid)
    in_use.forget_client(home_dir, "s1")
    in_use.forget_client(home_dir, "s1")
    assert in_use.why(str(path), home_dir) is None

    in_use.note_client(home_dir, "s1", process.pid)
    entry = _register(path, process.pid, "s2")
    assert in_use.why(str(path), home_dir) is None

    entry.unlink()
    process.kill()
    process.wait()
    os.utime(path)
    assert in_use.why(str(path), home_dir) is None


def test_a_process_that_began_after_the_note_is_another_one(
    path: Path,
    home_dir: str,
    world: Path,
    process: subprocess.Popen[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Numbers are used again; where `ps` cannot tell, better refused once too often."""
    in_use.note_client(home_dir, "s1", process.pid)
    note = {"v": 1, "pid": process.pid, "at": time.time() - 3_600}
    (world / "brimline/sessions/s1/client").write_text(json.dumps(note))

    assert in_use.why(str(path), home_dir) is None
    monkeypatch.setenv("PATH", "/nowhere")
    assert f"process {process.pid}" in str(in_use.why(str(path), home_dir))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"v":1,"pid":"7","at":1}', '{"v":2,"pid":1,"at":1}', '{"v":1,"pid":0,"at":1}'],
)
def test_a_senseless_note_is_ignored(text: str, path: Path, home_dir: str, world: Path) -> None:
    """Neither an error nor a client."""
    in_use.note_client(home_dir, "s1", 1)
    (world / "brimline/sessions/s1/client").write_text(text)
    _register(path, 1, "s1").write_text(text)

    assert in_use.why(str(path), home_dir) is None


def _register(path: Path, pid: int, session_id: str) -> Path:
    """What a client keeps of itself, in the fields that are read."""
    folder = path.parent.parent.parent / "sessions"
    folder.mkdir(exist_ok=True)
    entry = {"pid": pid, "sessionId": session_id, "startedAt": int(time.time() * 1_000)}
    file = folder / f"{pid}.json"
    file.write_text(json.dumps(entry))
    return file
