"""A session is in use while its client runs, or while it is being written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from brimline import programs
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
def test_what_was_just_written_is_in_use(path: Path, age_s: float, is_idle: bool) -> None:
    """Where no client says that it runs; a time far in the future says nothing."""
    os.utime(path, (time.time() - age_s, time.time() - age_s))

    assert (in_use.why_in_use(str(path)) is None) == is_idle
    if not is_idle:
        with pytest.raises(InUseError, match=r"written \d+ s ago.*nothing was changed"):
            in_use.require_idle(str(path))


def test_a_time_that_is_just_to_come_counts_as_now(path: Path) -> None:
    """Clocks of two machines differ by a little."""
    os.utime(path, (time.time() + 15, time.time() + 15))

    assert in_use.why_in_use(str(path)) == "it was written 0 s ago"


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("/p/s1.jsonl", ["s1"]),
        ("/p/s1/subagents/agent-a.jsonl", ["agent-a", "s1"]),
        ("/p/s1/others/agent-a.jsonl", ["agent-a"]),
    ],
)
def test_a_file_belongs_to_its_session_and_a_subagents_to_that_of_its_folder(
    name: str, ids: list[str]
) -> None:
    """By their names alone."""
    assert in_use._session_ids_from_path(name) == ids


def test_a_client_keeps_its_session_in_use_while_it_runs(
    path: Path, process: subprocess.Popen[bytes]
) -> None:
    """However long it has been quiet, subagents' sessions too; once it was killed, it is idle."""
    agent = machines.make_session(path.parent / "s1" / "subagents" / "agent-a.jsonl")
    os.utime(agent, (LONG_AGO, LONG_AGO))
    _register(path, process.pid, "s1")

    for session in (path, agent):
        assert f"process {process.pid}" in str(in_use.why_in_use(str(session)))
    process.kill()
    process.wait()
    assert in_use.why_in_use(str(path)) is None
    os.utime(path)
    assert "written" in str(in_use.why_in_use(str(path)))


def test_a_client_that_left_or_ended_is_forgotten_at_once(
    path: Path, process: subprocess.Popen[bytes]
) -> None:
    """It says so after `/clear`, and when it ends.

    The client writes its last rows while it ends; nobody has to wait for that to grow old.
    """
    os.utime(path)
    _register(path, process.pid, "s1")
    assert in_use.why_in_use(str(path)) is not None

    entry = _register(path, process.pid, "s2")
    assert in_use.why_in_use(str(path)) is None
    entry.unlink()
    assert in_use.why_in_use(str(path)) is None


def test_a_process_that_began_after_its_client_is_another_one(
    path: Path, process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers are used again; where `ps` cannot tell, better refused once too often."""
    _register(path, process.pid, "s1", ago_s=3_600)

    assert in_use.why_in_use(str(path)) is None
    monkeypatch.setattr(programs, "PLACES", ("/nowhere",))
    assert f"process {process.pid}" in str(in_use.why_in_use(str(path)))


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "{}", '{"pid":0,"sessionId":"s1","startedAt":1}'),
        *('{"pid":[],"sessionId":"s1","startedAt":1}', '{"pid":1,"sessionId":"s1"}'),
    ],
)
def test_a_senseless_entry_is_ignored(text: str, path: Path) -> None:
    """Neither an error nor a client."""
    _register(path, 1, "s1").write_text(text)

    assert in_use.why_in_use(str(path)) is None


def _register(path: Path, pid: int, session_id: str, ago_s: float = 0) -> Path:
    """What a client keeps of itself, in the fields that are read."""
    folder = path.parent.parent.parent / "sessions"
    folder.mkdir(exist_ok=True)
    started_at = int((time.time() - ago_s) * 1_000)
    entry = {"pid": pid, "sessionId": session_id, "startedAt": started_at}
    file = folder / f"{pid}.json"
    file.write_text(json.dumps(entry))
    return file


@pytest.mark.parametrize(
    ("begun_at", "is_running"), [(1_000.0, True), (1_002.0, True), (1_002.1, False), (None, True)]
)
def test_a_process_may_have_begun_two_seconds_after_its_client_said_so(
    process: subprocess.Popen[bytes],
    begun_at: float | None,
    is_running: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The system counts whole seconds; what it cannot tell counts as running."""
    monkeypatch.setattr(in_use, "_process_begun_at", lambda _: begun_at)

    assert in_use._is_running(in_use.Client(process.pid, "s1", 1_000.0)) is is_running
