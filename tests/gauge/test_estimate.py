"""Estimates: only where asked for, only without usage rows, always marked, never a refusal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.guard.dialogue import SILENT, Talk

from brimline.cli import status_commands
from brimline.hooks import statusline
from brimline.testing import statusline_event

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

HAIOS = "CONTEXT: ~{}% used. Consider /brim:checkpoint before context exhaustion."


@pytest.fixture(autouse=True)
def _estimating(talk: Talk) -> None:
    """Ask for estimates, in a window of 200,000."""
    talk.use(measure__estimate="size", context_window=200_000)


@pytest.mark.row("S1-02")
@pytest.mark.parametrize(
    ("size", "percent"), [(400_000, 50), (640_000, 80), (716_800, 90), (50 << 20, 100)]
)
def test_a_session_without_usage_is_estimated(size: int, percent: int, talk: Talk) -> None:
    """A token for every four bytes, never more than the window holds, and only if asked for."""
    talk.use(guard__preset="haios-80", guard__tiers=50)
    _fill(talk.session, size)

    assert talk.at_prompt().note == HAIOS.format(percent)
    talk.patch.delenv("BRIMLINE_MEASURE_ESTIMATE")
    assert talk.at_prompt() == SILENT


@pytest.mark.row("S1-02", "S3-36", "S3-37", "S3-39")
def test_usage_is_never_replaced_by_an_estimate(talk: Talk) -> None:
    """What the server counted stands, beside megabytes and whatever a source multiplied with."""
    for name, value in (("CHARS_PER_TOKEN", "1"), ("OVERHEAD_TOKENS", "190000")):
        talk.patch.setenv("CONTEXT_" + name, value)
    talk.use(guard__preset="ccm-70-80-90")
    _fill(talk.session, 2_000_000)
    talk.session.reply(142_000)
    talk.session.row("attachment", attachment={"type": "image", "data": "A" * 1_000_000})

    assert talk.after_tool().note.startswith("📊 NOTE: Context at 71% (~142000 tokens, measured).")


@pytest.mark.row("S1-02")
def test_what_says_nothing_about_the_context_is_not_estimated(talk: Talk) -> None:
    """No file, an empty one, or one that still holds what was compacted away."""
    assert talk.after_tool() == SILENT
    talk.session.raw(b"")
    assert talk.after_tool() == SILENT
    assert not talk.kept("telemetry.json").exists()
    _fill(talk.session, 2_000_000)
    talk.session.compact(167_000)

    assert talk.after_tool() == SILENT


@pytest.mark.row("S1-02", "S3-36")
def test_an_estimate_is_marked_wherever_it_is_shown(talk: Talk) -> None:
    """In every voice, on the status line, in telemetry and `status`; it proves no window."""
    talk.patch.setenv("NO_COLOR", "1")
    talk.patch.delenv("BRIMLINE_CONTEXT_WINDOW")
    _fill(talk.session, 600_000)

    assert "~150,000 of 200,000 tokens (guessed from the file's size" in talk.after_tool().note
    assert "~150,000 of 200,000 tokens in use" in talk.load().note
    payload = json.dumps(statusline_event(talk.session, 200_000, None)).encode()
    assert b"~75% of 200k window" in statusline.respond(payload, talk.home_dir)
    told = json.loads(talk.kept("telemetry.json").read_bytes())
    assert (told["measured_by"], told["occupancy_tokens"]) == ("estimate", 150_000)
    shown = status_commands.read_status(talk.session.path, talk.home_dir, talk.session.cwd)
    assert "~150,000 of 200,000 tokens (75%; by: estimate" in status_commands.render(shown)
    talk.session.session_id = "ccm"
    talk.use(guard__preset="ccm-70-80-90")
    assert "Context at 75% (~150000 tokens, estimated)." in talk.after_tool().note
    talk.use(guard__preset="adr11")
    assert "Context at ~150000 of 200000 tokens" in talk.load().note
    talk.anew("large")
    _fill(talk.session, 5_000_000)
    talk.after_tool()
    told = json.loads(talk.kept("telemetry.json").read_bytes())
    assert (told["occupancy_tokens"], told["window_source"]) == (200_000, "default")


@pytest.mark.row("S1-02")
@pytest.mark.parametrize("preset", ["default", "adr11", "guard-30-15-7-3"])
def test_an_estimate_never_refuses(preset: str, talk: Talk) -> None:
    """With everything set to refuse and the file as large as it likes."""
    talk.use(guard__preset=preset, guard__ceiling="strict", guard__gate_tools="Agent,Task,Skill")
    talk.patch.setenv("DEV_TEAM_CONTEXT_STRICT", "on")
    _fill(talk.session, 5_000_000)

    for tool in ("Agent", "Task", "Skill"):
        talk.session.session_id = tool
        assert talk.load(None, tool).kind == "not blocked: fill only estimated"
    assert talk.audit() == []


def _fill(session: SessionBuilder, size: int) -> None:
    """Make the file this large with a row that has no usage."""
    row = '{"type":"progress","data":"%s"}\n'
    session.raw(row % ("x" * (size - len(row) + 2)))
