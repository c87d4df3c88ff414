"""Runs the `brimline` command inside the test's process."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from brimline.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def brimline(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """The command, as the shell would call it."""

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["brimline", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)

    return run
