"""`brimline history`: what a person and a program see of past sessions."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline import clock
from brimline.cli import history_commands
from brimline.fast.io import append_line
from brimline.fast.json import dumps
from brimline.state.session import SessionState
from brimline.testing import SessionBuilder

from .conftest import process

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Outcome

START = 1_790_000_000.0
OVERVIEW = "session_count sessions compaction_count summary_characters damaged_lines notes"
LINE = (
    "session_id project model window_tokens first_at last_at turns requests "
    "peak_occupancy_tokens compactions messages blocks"
)
SESSION = (
    "session_id project model window_tokens first_at last_at requests peak_occupancy_tokens "
    "occupancy_tokens turns messages blocks compactions notes"
)


@pytest.fixture
def recorded_session(home_dir: str, world: Path) -> str:
    """A session of two turns with a message, a block and a compaction; its id."""
    name = "1f0c2d3e-aaaa-4bbb-8ccc-000000000001"
    lines: list[dict[str, Any]] = [
        {"event": "SessionStart", "cwd": "/home/dev/project", "model": "claude-opus-5"},
        {"event": "UserPromptSubmit", "occupancy": 40_000, "offset": 10},
        {"event": "PostToolUse", "occupancy": 120_000, "offset": 20, "tier": 1, "spoke": 1},
        {
            "event": "PreToolUse",
            "occupancy": 120_000,
            "offset": 20,
            "blocked": True,
            "tool": "Skill",
        },
        {"event": "PreCompact", "occupancy": 166_000, "offset": 30, "trigger": "auto", "tail": 50},
        {"event": "SessionStart", "source": "compact"},
        {"event": "PostCompact", "summary_characters": 9_000},
        {"event": "UserPromptSubmit", "occupancy": None, "offset": 0},
        {"event": "PostToolUse", "occupancy": 52_000, "offset": 40},
    ]
    folder = SessionState(home_dir, name).folder
    for number, line in enumerate(lines):
        text = dumps({"v": 1, "at": START + number, "window": 200_000} | line)
        append_line(f"{folder}/spool.jsonl", text)
    return name


def transcript(world: Path, name: str) -> SessionBuilder:
    """A session file in the client's folder."""
    path = world / "home" / ".claude" / "projects" / "-home-dev-other" / f"{name}.jsonl"
    return SessionBuilder(str(path), session_id=name)


def test_an_empty_history_says_so(brimline: Callable[..., Outcome]) -> None:
    """It is no error."""
    done = brimline("history")
    listed = brimline("history", "--compactions")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("No history yet")
    assert listed.out.startswith("No compaction yet.")
    assert json.loads(brimline("history", "--json").out)["sessions"] == []


@pytest.mark.row("S2-21", "S2-50")
def test_the_overview_has_sessions_and_the_spread_of_summary_sizes(
    recorded_session: str, world: Path, brimline: Callable[..., Outcome]
) -> None:
    """One line per session that hooks saw; sizes also from transcripts of before."""
    older = transcript(world, "older")
    older.compact(167_000, summary="x" * 12_000)

    done = brimline("history")

    assert done.code == 0
    assert "Sessions, newest first (1 of 1)" in done.out
    (line,) = [line for line in done.out.splitlines() if "1f0c2d3e" in line]
    assert line.split()[2:] == ["1f0c2d3e", "2", "166,000", "(83%)", "1", "project"]
    told = "over 2 compactions: p50 9,000, p95 12,000, p99 12,000, largest 12,000"
    assert told in " ".join(done.out.split())


@pytest.mark.row("S2-48")
def test_a_session_is_told_turn_by_turn(
    recorded_session: str, brimline: Callable[..., Outcome]
) -> None:
    """Growth, what was said and refused, and the compaction, by the start of its id."""
    done = brimline("history", "--session", "1f0c2d3e")

    words = " ".join(done.out.split())
    assert done.code == 0
    assert f"Session {recorded_session}" in done.out
    assert "project /home/dev/project model claude-opus-5" in words
    assert "fullest 166,000 (83%)" in words
    assert "1 2026-09-21 14:13Z 40,000 +126,000 2 1" in words
    assert "2 2026-09-21 14:13Z unknown +0 1" in words
    assert "L1 announced at 120,000" in words
    assert "Skill refused at 120,000" in words
    assert "auto 166,050 52,000 9,000" in words


@pytest.mark.row("S2-48")
def test_the_keys_of_a_session_are_stable(
    recorded_session: str, brimline: Callable[..., Outcome]
) -> None:
    """Other programs rely on them; unknown is null, not absent."""
    report = json.loads(brimline("history", "--session", recorded_session, "--json").out)

    assert " ".join(report) == SESSION
    assert report["occupancy_tokens"] == [40_000, 120_000, 166_000, 52_000]
    assert report["turns"] == [
        {
            "number": 1,
            "at": clock.format_utc(START + 1),
            "occupancy_tokens": 40_000,
            "growth_tokens": 126_000,
            "requests": 2,
            "compactions": 1,
        },
        {
            "number": 2,
            "at": clock.format_utc(START + 7),
            "occupancy_tokens": None,
            "growth_tokens": 0,
            "requests": 1,
            "compactions": 0,
        },
    ]
    assert [list(one) for one in report["messages"] + report["blocks"]] == [
        ["at", "event", "tier", "tool", "occupancy_tokens"]
    ] * 2
    assert report["compactions"] == [
        {
            "session_id": recorded_session,
            "at": clock.format_utc(START + 6),
            "trigger": "auto",
            "pre_tokens": 166_050,
            "post_tokens": 52_000,
            "summary_characters": 9_000,
            "summary_source": "hook",
            "messages_of_the_user": None,
            "messages_in_summary": None,
            "card_characters": None,
        }
    ]


def test_the_keys_of_the_overview_are_stable(
    recorded_session: str, brimline: Callable[..., Outcome]
) -> None:
    """The list of compactions comes only when it is asked for."""
    plain = json.loads(brimline("history", "--json").out)
    listed = json.loads(brimline("history", "--json", "--compactions").out)

    assert " ".join(plain) == OVERVIEW
    assert " ".join(plain["sessions"][0]) == LINE
    assert plain["summary_characters"] == {
        "count": 1,
        "p50": 9_000,
        "p95": 9_000,
        "p99": 9_000,
        "largest": 9_000,
    }
    assert listed.pop("compactions")[0]["pre_tokens"] == 166_050
    assert listed == plain


@pytest.mark.row("S2-21")
def test_compactions_can_be_listed_alone(
    recorded_session: str, world: Path, brimline: Callable[..., Outcome]
) -> None:
    """Of all sessions with their ids, or of one."""
    older = transcript(world, "older")
    older.now = START - 5_000
    older.compact(155_301, "manual", "x" * 11_645)
    older.reply(44_664)

    every = brimline("history", "--compactions").out.splitlines()
    one = brimline("history", "--compactions", "--session", "1f0c").out

    assert every[2].split()[2:] == ["older", "manual", "155,301", "44,664", "11,645"]
    assert every[3].split()[2:] == ["1f0c2d3e", "auto", "166,050", "52,000", "9,000"]
    assert "Turns" not in one
    assert "166,050" in one


def test_a_session_from_before_the_installation_shows_its_compactions(
    world: Path, brimline: Callable[..., Outcome]
) -> None:
    """Its transcript is enough to know it."""
    older = transcript(world, "older")
    older.reply(150_000)

    calm = brimline("history", "--session", "older")
    older.compact(155_301)
    compacted = brimline("history", "--session", "old")

    assert "No turn was recorded by hooks yet." in calm.out
    assert "No compaction yet." in calm.out
    assert "155,301" in compacted.out
    assert "No session was recorded by hooks yet." in brimline("history").out


@pytest.mark.parametrize("name", ["none", "", "../x", "*", "%"])
def test_an_unknown_session_is_told_in_a_sentence(
    name: str, recorded_session: str, brimline: Callable[..., Outcome]
) -> None:
    """Exit 1, nothing on the standard output."""
    done = brimline("history", "--session", name)

    assert (done.code, done.out) == (1, "")
    assert done.err == f"brimline: no session {name!r} is known: `brimline history` lists them\n"


def test_an_ambiguous_start_of_an_id_is_told_in_a_sentence(
    home_dir: str, brimline: Callable[..., Outcome]
) -> None:
    """With the number of sessions it could mean."""
    for name in ("abc1", "abc2"):
        SessionState(home_dir, name).add_line("SessionStart", {})

    done = brimline("history", "--session", "abc")

    assert done.code == 1
    assert done.err == "brimline: 2 sessions begin with 'abc': write more of the id\n"


def test_damage_is_noted_beside_the_figures(
    recorded_session: str, home_dir: str, brimline: Callable[..., Outcome]
) -> None:
    """An unreadable spool, a torn line, a damaged line of the history: none stops the command."""
    folder = SessionState(home_dir, recorded_session).folder
    append_line(f"{folder}/spool.jsonl", "torn")
    bad = SessionState(home_dir, "bad").folder
    os.makedirs(bad)
    os.symlink("spool.jsonl", f"{bad}/spool.jsonl")
    Path(home_dir, "history.jsonl").write_bytes(b'{"v":1,"session":"1f0c\n\xff\n')

    done = brimline("history")

    assert done.code == 0
    assert "1f0c2d3e" in done.out
    assert "1 damaged pieces of spool files hold no event." in done.out
    assert "could not be read: " in done.err
    assert json.loads(brimline("history", "--json").out)["notes"]


def test_the_line_of_occupancy_is_scaled_to_the_window() -> None:
    """A full block is a full window; long sessions keep their peaks."""
    sparkline = history_commands.sparkline
    assert sparkline([0, 25_000, 100_000, 199_999, 200_000], 200_000) == "▁▂▅██"
    assert sparkline([50, 100], None) == "▅█"
    long = sparkline([10_000] * 500 + [200_000] + [10_000] * 499, 200_000)
    assert len(long) == 60
    assert long.count("█") == 1


def test_a_terminal_without_blocks_gets_plain_characters(
    recorded_session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some terminals and pipes know ASCII only."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")

    done = process("history", "--session", recorded_session)

    assert b"occupancy  .+%-\n" in done.stdout
    assert done.stdout.isascii()


def test_long_tables_end_with_the_latest(
    home_dir: str, world: Path, brimline: Callable[..., Outcome]
) -> None:
    """Their titles say how many there are in all."""
    state = SessionState(home_dir, "abc")
    for number in range(40):
        state.add_line("UserPromptSubmit", {"occupancy": 1_000 + number, "offset": number})
    builder = transcript(world, "abc")
    for _ in range(50):
        builder.now += 10_000
        builder.compact(155_301)

    done = brimline("history", "--session", "abc")

    assert "Turns (last 30 of 40)" in done.out
    assert "Compactions (last 30 of 50)" in done.out
    assert "1,039" in done.out


@pytest.mark.row("S2-50")
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], None),
        ([7], (1, 7, 7, 7, 7)),
        ([1, 2], (2, 1, 2, 2, 2)),
        ([3, 1, 2], (3, 2, 3, 3, 3)),
        (list(range(1, 101)), (100, 50, 95, 99, 100)),
        (list(range(1, 1_001)), (1_000, 500, 950, 990, 1_000)),
    ],
)
def test_percentiles_are_values_that_occurred(values: list[int], expected: Any) -> None:
    """By the nearest rank, so that a p99 of few is simply the largest."""
    found = history_commands.percentiles(values)

    assert (found and tuple(found.values())) == expected


def test_a_compaction_copied_into_a_resumed_session_counts_once(
    world: Path, brimline: Callable[..., Outcome]
) -> None:
    """Clients copy the rows of a session that is resumed or forked into the new file."""
    first, second = transcript(world, "first"), transcript(world, "second")
    first.compact(165_000, summary="x" * 700)
    second.raw(Path(first.path).read_bytes())
    second.counter = first.counter
    second.compact(165_000, summary="x" * 900)

    every = json.loads(brimline("history", "--compactions", "--json").out)
    one = json.loads(brimline("history", "--session", "second", "--json").out)

    assert [found["summary_characters"] for found in every["compactions"]] == [700, 900]
    assert len(one["compactions"]) == 2
