"""Runs the `brimline` command, inside the test's process or as one of its own; golden pages."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from brimline.cli.main import main

GOLDEN = Path(__file__).parent / "golden"
# A test run in the background hands on that Ctrl-C is not heard.
_HEARING = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
PROGRAM = [sys.executable, "-c", f"{_HEARING}from brimline.cli.main import main; main()"]


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What a program gets."""
        assert self.code == 0, self.err
        return json.loads(self.out)


Run: TypeAlias = Callable[..., Outcome]
Refused: TypeAlias = Callable[..., str]
Golden: TypeAlias = Callable[[str, str], None]


class Terminal(io.StringIO):
    """A person at a terminal, and what they type."""

    def isatty(self) -> bool:
        """They can be asked."""
        return True


@pytest.fixture
def brimline(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, as the shell would call it; `typed` is what a person answers."""

    def run(*arguments: str, typed: str | None = None) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["brimline", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO() if typed is None else Terminal(typed))
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def refused(brimline: Run) -> Refused:
    """A command that must fail; the one sentence in which it says why."""

    def run(*arguments: str, code: int = 1) -> str:
        done = brimline(*arguments)
        assert (done.code, done.out) == (code, "")
        assert done.err.startswith("brimline: ")
        assert done.err.count("\n") == 1
        return done.err

    return run


@pytest.fixture
def golden(world: Path) -> Golden:
    """Compare a page with the file of that name; `UPDATE_GOLDEN=1` writes it anew."""

    def compare(name: str, text: str) -> None:
        told = text.replace(str(world.resolve()), "WORLD").replace(str(world), "WORLD")
        if os.environ.get("UPDATE_GOLDEN"):
            GOLDEN.mkdir(exist_ok=True)
            (GOLDEN / name).write_text(told, encoding="utf-8")
        assert told == (GOLDEN / name).read_text(encoding="utf-8")

    return compare


def process(*arguments: str, **settings: Any) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own, for its exact bytes."""
    given: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 60}
    done: subprocess.CompletedProcess[bytes]
    done = subprocess.run([*PROGRAM, *arguments], check=False, **(given | settings))
    return done
