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

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONG_AGO = 1_700_000_000


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


def test_a_session_that_nobody_wrote_for_long_is_idle(path: Path, home_dir: str) -> None:
    """No client is known, nothing was written."""
    assert in_use.why(str(path), home_dir) is None


def test_a_session_written_a_moment_ago_is_in_use(path: Path, home_dir: str) -> None:
    """Whoever wrote it may write again."""
    os.utime(path)

    assert "written" in str(in_use.why(str(path), home_dir))
    with pytest.raises(InUseError, match="end it first; nothing was changed"):
        in_use.require_idle(str(path), home_dir)


def test_a_clock_that_was_set_back_does_not_make_a_session_live_for_hours(
    path: Path, home_dir: str
) -> None:
    """A time far in the future says nothing about the last minute."""
    os.utime(path, (time.time() + 7_200, time.time() + 7_200))

    assert in_use.why(str(path), home_dir) is None


def test_the_client_that_a_hook_noted_keeps_the_session_in_use_while_it_runs(
    path: Path, home_dir: str, process: subprocess.Popen[bytes]
) -> None:
    """However long it has been quiet; once it ended, the session is idle."""
    in_use.note_client(home_dir, "s1", process.pid)

    assert f"process {process.pid}" in str(in_use.why(str(path), home_dir))
    _end(process)
    assert in_use.why(str(path), home_dir) is None


def test_a_client_that_went_on_to_another_session_is_forgotten(
    path: Path, home_dir: str, process: subprocess.Popen[bytes]
) -> None:
    """As the hook does it after `/clear`."""
    in_use.note_client(home_dir, "s1", process.pid)
    in_use.forget_client(home_dir, "s1")
    in_use.forget_client(home_dir, "s1")

    assert in_use.why(str(path), home_dir) is None


def test_a_process_that_began_after_the_note_is_another_one(
    path: Path, home_dir: str, process: subprocess.Popen[bytes]
) -> None:
    """Numbers of processes are used again."""
    in_use.note_client(home_dir, "s1", process.pid)
    note = path.parent.parent.parent.parent.parent / "brimline/sessions/s1/client"
    note.write_text(json.dumps({"v": 1, "pid": process.pid, "at": time.time() - 3_600}))

    assert in_use.why(str(path), home_dir) is None


def test_the_clients_own_register_tells_without_any_hook(
    path: Path, home_dir: str, process: subprocess.Popen[bytes]
) -> None:
    """It lies in the configuration folder that the session lies in."""
    _register(path, process.pid, "s1")

    assert f"process {process.pid}" in str(in_use.why(str(path), home_dir))
    _end(process)
    assert in_use.why(str(path), home_dir) is None


def test_a_client_that_registers_another_session_has_left_this_one(
    path: Path, home_dir: str, process: subprocess.Popen[bytes]
) -> None:
    """Even where our note is older than its move."""
    in_use.note_client(home_dir, "s1", process.pid)
    _register(path, process.pid, "s2")

    assert in_use.why(str(path), home_dir) is None


def test_a_session_whose_client_just_ended_is_idle_at_once(
    path: Path, home_dir: str, process: subprocess.Popen[bytes]
) -> None:
    """The client writes its last rows while it ends; nobody has to wait for that to grow old."""
    in_use.note_client(home_dir, "s1", process.pid)
    _register(path, process.pid, "s1").unlink()
    _end(process)
    os.utime(path)

    assert in_use.why(str(path), home_dir) is None


def test_a_subagents_session_is_in_use_with_that_of_its_parent(
    path: Path, home_dir: str, process: subprocess.Popen[bytes]
) -> None:
    """They are written by the same client."""
    agent = machines.make_session(path.parent / "s1" / "subagents" / "agent-a.jsonl")
    os.utime(agent, (LONG_AGO, LONG_AGO))
    in_use.note_client(home_dir, "s1", process.pid)

    assert f"process {process.pid}" in str(in_use.why(str(agent), home_dir))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"v":1,"pid":"7","at":1}', '{"v":2,"pid":1,"at":1}', '{"v":1,"pid":0,"at":1}'],
)
def test_a_note_that_makes_no_sense_is_ignored(
    text: str, path: Path, home_dir: str, world: Path
) -> None:
    """Neither an error nor a client."""
    in_use.note_client(home_dir, "s1", 1)
    (world / "brimline/sessions/s1/client").write_text(text)
    registered = _register(path, 1, "s1")
    registered.write_text(text)

    assert in_use.why(str(path), home_dir) is None


def test_where_ps_cannot_tell_a_running_process_counts(
    path: Path, home_dir: str, process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Better refused once too often than swapped under a client."""
    in_use.note_client(home_dir, "s1", process.pid)
    monkeypatch.setenv("PATH", "/nowhere")

    assert f"process {process.pid}" in str(in_use.why(str(path), home_dir))


def _register(path: Path, pid: int, session_id: str) -> Path:
    """What a client keeps of itself, in the fields that are read."""
    folder = path.parent.parent.parent / "sessions"
    folder.mkdir(exist_ok=True)
    entry = {"pid": pid, "sessionId": session_id, "startedAt": int(time.time() * 1_000)}
    file = folder / f"{pid}.json"
    file.write_text(json.dumps(entry))
    return file


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
