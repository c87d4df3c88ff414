"""Subagents: what each was for, and what it took."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.figures import bill, reader, spending, subagents
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from tests.cli.conftest import Run

ID = "1f0c2d3e-aaaa-4bbb-8ccc-000000000002"


@pytest.fixture
def made(world: Path) -> SessionBuilder:
    """A session that sent two subagents out, of which the client kept files."""
    folder = world / "home" / ".claude" / "projects" / "-home-dev-other"
    session = SessionBuilder(str(folder / f"{ID}.jsonl"), ID, "/home/dev/other")
    for name, later_s in (("late", 60), ("early", 0)):
        inner = folder / ID / "subagents" / f"agent-{name}.jsonl"
        worker = SessionBuilder(str(inner), ID, "/home/dev/other")
        worker.now += later_s
        worker.reply(30_000, message_id=f"{name}1")
        worker.reply(31_000, message_id=f"{name}2")
        call = session.tool_call(50_000, "Agent", description=f"Find the {name} one")
        session.tool_result(call, "Found.", toolUseResult={"agentId": name})
    return session


def test_subagents_are_told_in_their_order_with_what_each_took(
    made: SessionBuilder, home_dir: str, brimline: Run
) -> None:
    """A window, tokens and a cost of its own, which is part of what the session cost."""
    inner = Path(made.path).parent / ID / "subagents"
    for name, age_s in (("early", 70), ("late", 50)):
        os.utime(inner / f"agent-{name}.jsonl", (time.time() - age_s,) * 2)
    spendings = spending.read_spendings(home_dir, reader.all_transcripts())

    found = subagents.document(spendings, made.path)

    assert [(one["agent"], one["about"]) for one in found] == [
        ("early", "Find the early one"),
        ("late", "Find the late one"),
    ]
    assert [(one["requests"], one["peak_tokens"]) for one in found] == [(2, 31_000)] * 2
    assert [one["is_running"] for one in found] == [False, True]
    (whole,) = bill.bill_rows_by_group(spendings, ())
    assert sum(one["dollars"] for one in found) == pytest.approx(whole["subagent_dollars"])
    assert brimline("history", "--session", ID, "--json").document["subagents"] == found
    shown = brimline("history", "--session", ID).out
    assert "31,000 (16%)" in shown
    assert shown.count("one, running") == 1
    assert subagents.running_text(found).startswith("Find the late one: 31,000 of 200,000 tokens,")


def test_subagents_of_older_clients_stand_in_the_sessions_own_file(
    made: SessionBuilder, home_dir: str
) -> None:
    """In rows on its progress; of several rows of one reply the last counts."""
    inner = SessionBuilder(f"{home_dir}/inner.jsonl").reply(20_000)[0]
    for _ in range(2):
        made.row("progress", data={"type": "agent_progress", "agentId": "old", "message": inner})
    spendings = spending.read_spendings(home_dir, reader.all_transcripts())

    (old,) = [one for one in subagents.document(spendings, made.path) if one["agent"] == "old"]

    assert (old["requests"], old["peak_tokens"], old["about"]) == (1, 20_000, "")
