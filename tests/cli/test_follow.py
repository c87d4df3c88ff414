"""`brimline status --follow`: a line for every change, until it is interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Timer
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from brimline.cli import follow as following

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from brimline.testing import SessionBuilder

    from .conftest import Outcome

_MAIN = "from brimline.cli.main import main; main()"
# Far beyond what a change takes: it only keeps a hanging command from hanging us.
_PATIENCE_S = 120


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the command as a shell would; it is ended with the test."""
    started: list[tuple[subprocess.Popen[str], Timer]] = []

    def run(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", _MAIN, "status", "--follow", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        )
        watchdog = Timer(_PATIENCE_S, process.kill)
        watchdog.start()
        started.append((process, watchdog))
        return process

    yield run
    for process, watchdog in started:
        watchdog.cancel()
        process.kill()
        process.communicate()


def test_a_new_row_is_a_new_line(
    session: SessionBuilder, start: Callable[..., subprocess.Popen[str]]
) -> None:
    """The reading now, the reading after the next reply, and a clean end on Ctrl-C."""
    session.reply(50_000)
    process = start("--transcript", session.path)

    first = _line(process)
    session.reply(110_000)
    second = _line(process)
    process.send_signal(signal.SIGINT)
    rest, complaints = process.communicate()

    assert first == "50,000 of 200,000 (25%), L0 Calm"
    assert second.startswith("110,000 of 200,000 (55%), L")
    assert "requests left" in second
    assert (process.returncode, rest, complaints) == (0, "", "")


def test_a_program_gets_a_document_per_line(
    session: SessionBuilder, start: Callable[..., subprocess.Popen[str]]
) -> None:
    """With the same keys as the status itself."""
    session.reply(50_000)
    process = start("--transcript", session.path, "--json")

    first = json.loads(_line(process))
    session.reply(60_000)
    second = json.loads(_line(process))
    process.send_signal(signal.SIGINT)

    assert process.wait() == 0
    assert (first["occupancy_tokens"], second["occupancy_tokens"]) == (50_000, 60_000)
    assert set(first) == set(second)


def test_what_changes_no_figure_prints_nothing(
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Rows of bookkeeping come and go; a compaction is news again."""
    session.reply(50_000)
    steps: list[Callable[[], object]] = [
        lambda: session.row("progress", data={}),
        lambda: None,
        lambda: session.reply(60_000),
        lambda: session.compact(60_000),
    ]

    def step(_: float) -> None:
        if not steps:
            raise KeyboardInterrupt
        steps.pop(0)()

    monkeypatch.setattr(following, "time", SimpleNamespace(sleep=step))
    following.follow(session.path, home_dir, session.cwd, as_json=False)

    printed = capsys.readouterr().out.splitlines()
    assert [line.split(" ")[0] for line in printed] == ["50,000", "60,000", "unknown:"]


def test_a_session_that_is_deleted_ends_it(
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """There is nothing left to follow, and nothing went wrong."""
    session.reply(50_000)
    step = SimpleNamespace(sleep=lambda _: Path(session.path).unlink())
    monkeypatch.setattr(following, "time", step)

    following.follow(session.path, home_dir, session.cwd, as_json=False)

    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_what_is_no_session_is_told_in_one_sentence(
    name: str, world: Path, brimline: Callable[..., Outcome]
) -> None:
    """A mistyped name does not look like an end without news."""
    outcome = brimline("status", "--follow", "--transcript", str(world / name))

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(f"brimline: cannot read {world / name}: ")
    assert outcome.err.count("\n") == 1


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")
