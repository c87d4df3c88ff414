"""The checkpoint: written by the hook itself before the window runs out."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.guard.dialogue import after_tool, at_prompt, kept, use

from brimline.carry import checkpoint
from brimline.state import failures
from brimline.state.session import SessionState

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

ADVISORY, ALERT, CRITICAL = 140_000, 155_000, 164_000


@pytest.fixture(autouse=True)
def no_velocity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tiers follow from the fill alone."""
    use(monkeypatch, guard__velocity_points=0)


@pytest.mark.row("S1-18")
def test_the_middle_tier_asks_to_save_and_writes_nothing(
    session: SessionBuilder, home_dir: str
) -> None:
    """There is still time for the model to do it, in its own words."""
    session.reply(ADVISORY)

    note = after_tool(session, home_dir).note

    assert "L2 Advisory" in note
    assert "write down the state of the work (plan, decisions, open items) in a file" in note
    assert not kept(session, home_dir, "checkpoint.json").exists()


@pytest.mark.row("S1-18")
@pytest.mark.parametrize("speak", ["tool", "prompt"])
@pytest.mark.parametrize(("tokens", "level"), [(ALERT, 3), (CRITICAL, 4)])
def test_the_upper_tiers_write_a_checkpoint_themselves(
    tokens: int, level: int, speak: str, session: SessionBuilder, home_dir: str
) -> None:
    """The reading and the user's words are on disk, whatever the model does with the note."""
    session.prompt("Port the parser")
    session.reply(tokens)

    note = (after_tool if speak == "tool" else at_prompt)(session, home_dir).note

    assert f"tier L{level}" in note
    assert "Save" in note
    written = _checkpoint(session, home_dir)
    assert written["v"] == checkpoint.FORMAT
    assert written["session"] == session.session_id
    assert written["transcript"] == session.path
    assert written["last_prompts"] == ["Port the parser"]
    assert written["reading"]["occupancy"] == tokens
    assert written["reading"]["tier"] == level


@pytest.mark.row("S1-18")
def test_less_than_ten_percent_remaining_is_always_checkpointed(
    session: SessionBuilder, home_dir: str
) -> None:
    """The figure that the source learned the hard way: 9 % left is too late to ask."""
    session.reply(182_000)

    after_tool(session, home_dir)

    assert _checkpoint(session, home_dir)["reading"]["occupancy"] == 182_000


@pytest.mark.row("S1-18")
def test_the_third_tier_writes_once_and_the_last_one_every_time(
    session: SessionBuilder, home_dir: str
) -> None:
    """The nearer the end, the fresher the checkpoint."""
    session.reply(ALERT)
    after_tool(session, home_dir)
    session.reply(ALERT + 100)
    after_tool(session, home_dir)
    assert _checkpoint(session, home_dir)["reading"]["occupancy"] == ALERT

    for tokens in (CRITICAL, CRITICAL + 100):
        session.prompt(f"at {tokens}")
        session.reply(tokens)
        after_tool(session, home_dir)

        assert _checkpoint(session, home_dir)["reading"]["occupancy"] == tokens
        assert _checkpoint(session, home_dir)["last_prompts"][-1] == f"at {tokens}"


def test_a_checkpoint_holds_the_last_five_prompts(session: SessionBuilder, home_dir: str) -> None:
    """The oldest of them first, as they were typed."""
    for number in range(8):
        session.prompt(f"Step {number}: größer „als“ 5")
        session.reply(100_000)
    state = SessionState(home_dir, session.session_id)

    path = checkpoint.write(state, session.path, {})

    written = json.loads(Path(path).read_bytes())["last_prompts"]
    assert written == [f"Step {number}: größer „als“ 5" for number in range(3, 8)]


def test_half_an_emoji_does_not_cost_the_checkpoint(session: SessionBuilder, home_dir: str) -> None:
    """The client cuts texts between the halves of a character, and writes them escaped."""
    session.raw('{"type":"user","message":{"content":"cut here \\ud83e"}}\n')
    session.reply(CRITICAL)

    assert "tier L4" in after_tool(session, home_dir).note
    assert _checkpoint(session, home_dir)["last_prompts"] == ["cut here ?"]


@pytest.mark.parametrize("transcript", [None, "", "/nowhere/session.jsonl"])
def test_a_checkpoint_without_a_transcript_has_no_prompts(
    transcript: str | None, home_dir: str
) -> None:
    """The reading alone is worth keeping."""
    path = checkpoint.write(SessionState(home_dir, "abc"), transcript, {"occupancy": 5})

    written = json.loads(Path(path).read_bytes())
    assert written["last_prompts"] == []
    assert written["reading"] == {"occupancy": 5}


def test_a_checkpoint_is_private_and_leaves_nothing_behind(
    session: SessionBuilder, home_dir: str
) -> None:
    """It holds what the user typed; it is replaced whole."""
    session.reply(CRITICAL)
    for _ in range(3):
        after_tool(session, home_dir)

    path = kept(session, home_dir, "checkpoint.json")

    assert path.stat().st_mode & 0o777 == 0o600
    assert [name for name in os.listdir(path.parent) if name.endswith(".tmp")] == []


@pytest.mark.parametrize(
    ("tiers", "written"),
    [
        ([30], [True]),
        ([30, 5], [True, True]),
        ([30, 15, 5], [False, True, True]),
        ([30, 25, 20, 15, 10, 5], [False, False, False, False, True, True]),
    ],
)
def test_the_last_two_tiers_of_any_ladder_write_one(
    tiers: list[int],
    written: list[bool],
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many tiers the user has."""
    use(monkeypatch, guard__tiers=tiers)
    found = []
    for points in tiers:
        session.reply(167_000 - points * 2_000)
        after_tool(session, home_dir)
        path = kept(session, home_dir, "checkpoint.json")
        found.append(path.exists())
        path.unlink(missing_ok=True)

    assert found == written


@pytest.mark.parametrize("preset", ["adr11", "off"])
def test_presets_without_tiers_write_none(
    preset: str, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing is announced nothing is saved."""
    use(monkeypatch, guard__preset=preset)
    session.reply(195_000)
    after_tool(session, home_dir)
    at_prompt(session, home_dir)

    assert not kept(session, home_dir, "checkpoint.json").exists()


def test_a_checkpoint_that_cannot_be_written_silences_nobody(
    session: SessionBuilder, home_dir: str
) -> None:
    """The tier is announced all the same, and the failure is on record."""
    kept(session, home_dir, "checkpoint.json").mkdir(parents=True)
    session.reply(CRITICAL)

    assert "tier L4" in after_tool(session, home_dir).note
    assert [line["event"] for line in failures.recent(home_dir, 0)] == ["checkpoint"]


def _checkpoint(session: SessionBuilder, home_dir: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kept(session, home_dir, "checkpoint.json").read_bytes())
    return found
