"""Eight sessions write, two drains read, spools rotate, and one drain is killed again and again."""

from __future__ import annotations

import contextlib
import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.state import database, series

if TYPE_CHECKING:
    from collections.abc import Iterator

WRITERS = 8
ROUNDS = 12
LINES_PER_ROUND = 100
ROTATE_AT_BYTES = 4_000

# In each round: lines to the writer's own session and to one that all share, and a torn line.
WRITER = f"""
import os, sys
from brimline.state.session import SessionState
home, name = sys.argv[1], sys.argv[2]
own, shared = SessionState(home, "own-" + name), SessionState(home, "shared")
written = 0
print("ready", flush=True)
while sys.stdin.readline():
    for step in range({LINES_PER_ROUND}):
        state = own if step % 2 else shared
        state.add_line("E", {{"tool": name, "spoke": written}})
        written += 1
        if step == 50:
            spool = os.open(state.folder + "/spool.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.write(spool, b'{{"v":1,"at":1790000000.5,"event":"torn","too')
            os.close(spool)
    print(written, flush=True)
"""
DRAIN = f"""
import select, sys
from brimline.state import series
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    done = series.drain(sys.argv[1], rotate_at_bytes={ROTATE_AT_BYTES})
    assert done.finished and not done.unreadable, done
"""


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that do not outlive the test."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.row("S2-48")
def test_no_event_is_lost_or_doubled_while_drains_are_killed_and_spools_rotate(
    home_dir: str, processes: list[subprocess.Popen[bytes]]
) -> None:
    """Every line of 8 writers is in the series exactly once, torn lines of others around it."""
    chance = random.Random(20260108)
    writers = [_start(processes, WRITER, home_dir, str(n)) for n in range(WRITERS)]
    steady = _start(processes, DRAIN, home_dir)
    for process in [*writers, steady]:
        _expect(process, b"ready\n")

    killed = 0
    for round_number in range(1, ROUNDS + 1):
        victim = _start(processes, DRAIN, home_dir)
        _expect(victim, b"ready\n")
        for writer in writers:
            _tell(writer, b"go\n")
        with contextlib.suppress(subprocess.TimeoutExpired):
            victim.wait(timeout=chance.uniform(0, 0.1))
        victim.send_signal(signal.SIGKILL)
        killed += victim.wait() == -signal.SIGKILL
        for writer in writers:
            _expect(writer, b"%d\n" % (round_number * LINES_PER_ROUND))

    errors = steady.communicate(b"stop\n")[1]
    assert steady.returncode == 0, errors.decode()
    series.drain(home_dir, rotate_at_bytes=ROTATE_AT_BYTES)

    expected = {
        (session, str(n), number): 1
        for n in range(WRITERS)
        for number in range(ROUNDS * LINES_PER_ROUND)
        for session in ["shared" if number % LINES_PER_ROUND % 2 == 0 else f"own-{n}"]
    }
    assert killed == ROUNDS
    assert _recorded(home_dir) == expected
    assert len(list(Path(home_dir).glob("sessions/*/spool.*.jsonl"))) > WRITERS
    assert database.set_aside(home_dir) == []


def _recorded(home_dir: str) -> dict[tuple[str, str, int], int]:
    with contextlib.closing(sqlite3.connect(database.path(home_dir))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return dict(Counter(connection.execute("SELECT session, tool, spoke FROM event")))


def _start(
    processes: list[subprocess.Popen[bytes]], code: str, *arguments: str
) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    processes.append(process)
    return process


def _tell(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin
    process.stdin.write(line)
    process.stdin.flush()


def _expect(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdout
    assert process.stdout.readline() == line
