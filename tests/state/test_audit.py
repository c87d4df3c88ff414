"""The audit trail: a line for every tier entered and every refusal, and for nothing else."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING

import pytest
from tests.guard import dialogue
from tests.guard.dialogue import after_tool, at_prompt, before_load, use

from brimline.state import logs

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

READING = {"occupancy", "tail", "window", "window_source", "compaction", "tier", "offset", "model"}


@pytest.mark.row("S4-42")
def test_every_escalation_leaves_one_line(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Repeated calls in a tier add none, not even in the last one, which goes on speaking."""
    use(monkeypatch, guard__velocity_points=0)
    for tokens in (60_000, 110_000, 140_000, 155_000, 163_000):
        session.reply(tokens)
        for _ in range(3):
            after_tool(session, home_dir)
            at_prompt(session, home_dir)

    lines = dialogue.audit(home_dir)

    assert [(line["level"], line["name"]) for line in lines] == [
        (1, "Warning"),
        (2, "Advisory"),
        (3, "Yellow Alert"),
        (4, "Critical"),
    ]
    assert [line["reading"]["occupancy"] for line in lines] == [110_000, 140_000, 155_000, 163_000]


@pytest.mark.row("S4-42")
def test_a_line_says_what_happened_to_whom_and_on_which_figures(
    session: SessionBuilder, home_dir: str
) -> None:
    """The fields of an escalation, under names that other programs rely on."""
    session.reply(140_000)
    after_tool(session, home_dir)

    (line,) = dialogue.audit(home_dir)

    assert set(line) == {"v", "event", "at", "session", "kind", "level", "name", "reading"}
    assert (line["v"], line["event"]) == (audit.FORMAT, "CONTEXT_PRESSURE")
    assert (line["kind"], line["session"]) == ("escalation", session.session_id)
    assert isinstance(line["at"], float)
    assert set(line["reading"]) == READING
    assert line["reading"]["tier"] == 2
    assert line["reading"]["window_source"] == "model"


@pytest.mark.row("S4-42")
@pytest.mark.parametrize(
    ("settings", "tool", "subject", "reason"),
    [
        (
            {"guard__ceiling": "strict", "context_window": 200_000},
            "Skill",
            "invoking skill 'planner'",
            "context ceiling",
        ),
        ({"guard__preset": "guard-30-15-7-3"}, "Agent", "loading agent 'planner'", "critical tier"),
    ],
)
def test_every_refusal_leaves_one_line(
    settings: dict[str, object],
    tool: str,
    subject: str,
    reason: str,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was refused and why, each time."""
    use(monkeypatch, **settings)
    session.reply(165_000)
    for _ in range(2):
        assert before_load(session, home_dir, tool).refusal

    first, second = dialogue.audit(home_dir)

    for line in (first, second):
        assert set(line) == {"v", "event", "at", "session", "kind", "subject", "reason", "reading"}
        assert (line["event"], line["kind"]) == ("CONTEXT_PRESSURE", "block")
        assert (line["subject"], line["reason"]) == (subject, reason)
        assert line["reading"]["occupancy"] == 165_000


@pytest.mark.row("S4-42")
def test_advice_leaves_no_line(session: SessionBuilder, home_dir: str) -> None:
    """Only what was refused is on record, not what was let through."""
    session.reply(100_000)
    assert before_load(session, home_dir).note

    assert dialogue.audit(home_dir) == []


@pytest.mark.row("S4-42")
def test_a_tier_that_parallel_hooks_enter_is_one_line(
    session: SessionBuilder, home_dir: str
) -> None:
    """Whoever gets to announce it also records it."""
    session.reply(140_000)
    gate = Barrier(12)

    def run(_: int) -> str:
        gate.wait()
        return after_tool(session, home_dir).note

    with ThreadPoolExecutor(12) as pool:
        notes = list(pool.map(run, range(12)))

    assert len([note for note in notes if note]) == 1
    assert [line["level"] for line in dialogue.audit(home_dir)] == [2]


def test_sessions_share_one_trail(session: SessionBuilder, home_dir: str) -> None:
    """Lines are told apart by the session they are about."""
    session.reply(140_000)
    for name in ("one", "two"):
        session.session_id = name
        after_tool(session, home_dir)

    assert [line["session"] for line in dialogue.audit(home_dir)] == ["one", "two"]


def test_lines_of_many_writers_stay_whole(home_dir: str) -> None:
    """Each is appended in one write, and none is ever rewritten."""

    def run(number: int) -> None:
        for _ in range(20):
            logs.record_pressure(home_dir, f"s{number}", {"x": "y" * 500}, {"subject": "a\nb"})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))

    raw = Path(home_dir, "audit.jsonl").read_bytes().splitlines()
    assert len([json.loads(line) for line in raw]) == 160


def test_the_trail_is_private(session: SessionBuilder, home_dir: str) -> None:
    """It tells what somebody works on."""
    session.reply(140_000)
    after_tool(session, home_dir)

    assert Path(home_dir, "audit.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.row("S4-42")
def test_a_trail_that_cannot_be_written_silences_nobody(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiers are announced and loads refused all the same; the failures are on record."""
    use(monkeypatch, guard__ceiling="strict", context_window=200_000)
    Path(home_dir, "audit.jsonl").mkdir(parents=True)
    session.reply(140_000)

    assert "tier L2" in after_tool(session, home_dir).note
    assert before_load(session, home_dir).refusal
    assert [line["event"] for line in logs.recent_failures(home_dir, 0)] == ["audit", "audit"]


def test_a_trail_that_grew_too_long_is_put_away(home_dir: str) -> None:
    """The one before stays beside the new one."""
    trail = Path(home_dir, "audit.jsonl")
    trail.parent.mkdir()
    trail.write_bytes(b"x" * ((8 << 20) + 1))

    logs.record_pressure(home_dir, "abc", {}, {"kind": "block"})

    assert len(trail.read_bytes().splitlines()) == 1
    assert Path(home_dir, "audit.jsonl.old").stat().st_size == (8 << 20) + 1
