"""The bars that a person watches: each command says how much there is, and ends at that."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from brimline import output
from brimline.fast import paths
from brimline.testing import SessionBuilder, text_block

if TYPE_CHECKING:
    from .conftest import Run

LONG_AGO = 1_700_000_000
TEXT = "one line of what the tool printed\n" * 300


class Watched(output.Progress):
    """A bar that remembers what it was told."""

    made: list[Watched]

    def __init__(self, label: str, total: int) -> None:
        super().__init__(label, total)
        self.label, self.total, self.done = label, total, 0
        self.made.append(self)

    def advance(self, amount: int) -> None:
        """That much more is done."""
        self.done += amount
        super().advance(amount)


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[Watched]:
    """The bars that commands made, in order."""
    Watched.made = []
    monkeypatch.setattr(output, "Progress", Watched)
    return Watched.made


def told(bars: list[Watched]) -> list[tuple[str, int, int]]:
    """Of each bar its words, how much there is, and how much was done in the end."""
    return [(bar.label, bar.total, bar.done) for bar in bars]


@pytest.fixture
def recorded(project_dir: str) -> str:
    """A session of the project with old large results, at rest."""
    path = f"{paths.project_transcripts_dir(project_dir)}/abc.jsonl"
    session = SessionBuilder(path, session_id="abc", cwd=project_dir)
    session.prompt("please build")
    for number in range(3):
        call_id = session.tool_call(40_000, command=f"make part{number}")
        session.tool_result(call_id, f"{number} {TEXT}")
    for number in range(20):
        call_id = session.tool_call(60_000, command=f"make {number}")
        session.tool_result(call_id, "ok")
    session.reply(61_000, text_block("Done."))
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


@pytest.mark.parametrize(
    "words",
    [
        "session inspect",
        "session purge --dry-run",
        "session repair --dry-run",
        "status",
        "status --composition",
        "history",
        "cost",
    ],
)
def test_reading_a_session_is_told_byte_by_byte(
    words: str, recorded: str, bars: list[Watched], brimline: Run
) -> None:
    """From none to all of them."""
    assert brimline(*words.split()).code == 0

    size = os.path.getsize(recorded)
    assert told(bars) == [("Reading", size, size)]


def test_a_purge_is_told_to_its_end(recorded: str, bars: list[Watched], brimline: Run) -> None:
    """Reading first, then writing."""
    size = os.path.getsize(recorded)
    assert brimline("session", "purge", "--yes").code == 0

    assert told(bars) == [("Reading", size, size), ("Copying", size, size)]


def test_mending_reads_a_session_twice(
    session: SessionBuilder, bars: list[Watched], brimline: Run
) -> None:
    """To write it, and to see that it is sound."""
    session.prompt("first")
    session.reply(20_000, text_block("FIRST-END"))
    session.parent = "gone"
    session.prompt("second")
    os.utime(session.path, (LONG_AGO, LONG_AGO))
    size = os.path.getsize(session.path)

    assert brimline("session", "repair", session.path, "--yes").code == 0

    assert told(bars) == [("Reading", size, size), ("Mending", 2 * size, 2 * size)]


def test_memory_tells_how_much_of_the_sessions_it_has_read(
    recorded: str, bars: list[Watched], brimline: Run
) -> None:
    """What it has read is not read again, unless that is wanted."""
    size = os.path.getsize(recorded)
    for option, read in (([], size), ([], 0), (["--rebuild"], size)):
        assert brimline("memory", "index", *option).code == 0
        assert told(bars) == [("Reading sessions", read, read)]
        bars.clear()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_prune_counts_what_it_reads_for_a_terminal_alone(
    is_terminal: bool,
    recorded: str,
    bars: list[Watched],
    brimline: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody else sees the bar, and counting takes time."""
    brimline("session", "purge", "--yes")
    bars.clear()
    real = os.isatty

    def isatty(descriptor: int, *_: Any) -> bool:
        return is_terminal if descriptor == 2 else real(descriptor)

    monkeypatch.setattr(os, "isatty", isatty)
    assert brimline("store", "prune", "--max-age-days", "0", "--dry-run").code == 0

    (bar,) = bars
    assert bar.label == "Reading transcripts"
    assert (bar.total > 0) is is_terminal
    assert bar.done >= os.path.getsize(recorded)
    assert bar.total in (0, bar.done)
