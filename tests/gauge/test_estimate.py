"""Estimates: only where asked for, only without usage rows, always marked, never a refusal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.guard.dialogue import SILENT, after_tool, at_prompt, audit, before_load, kept, use

from brimline.cli import status_commands
from brimline.hooks import statusline
from brimline.testing import statusline_event

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

HAIOS = "CONTEXT: ~{}% used. Consider /brim:checkpoint before context exhaustion."


@pytest.fixture(autouse=True)
def estimating(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for estimates, in a window of 200,000."""
    use(monkeypatch, measure__estimate="size", context_window=200_000)


@pytest.mark.row("S1-02")
@pytest.mark.parametrize(
    ("size", "percent"), [(400_000, 50), (640_000, 80), (716_800, 90), (50 << 20, 100)]
)
def test_a_session_without_usage_is_estimated_from_its_size(
    size: int, percent: int, session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token for every four bytes, and never more than the window holds."""
    use(monkeypatch, guard__preset="haios-80", guard__tiers=50)
    _fill(session, size)

    assert at_prompt(session, home_dir).note == HAIOS.format(percent)


@pytest.mark.row("S1-02")
def test_nothing_is_estimated_unless_asked_for(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default a session without usage is unknown, whatever its size."""
    monkeypatch.delenv("BRIMLINE_MEASURE_ESTIMATE")
    _fill(session, 800_000)

    assert after_tool(session, home_dir) == SILENT
    assert at_prompt(session, home_dir) == SILENT
    assert before_load(session, home_dir) == SILENT
    assert not kept(session, home_dir, "telemetry.json").exists()


@pytest.mark.row("S1-02", "S3-36", "S3-37", "S3-39")
def test_usage_is_never_replaced_by_an_estimate(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the server counted stands, beside megabytes and whatever a source multiplied with."""
    for name, value in (("CHARS_PER_TOKEN", "1"), ("OVERHEAD_TOKENS", "190000")):
        monkeypatch.setenv("CONTEXT_" + name, value)
    use(monkeypatch, guard__preset="ccm-70-80-90")
    _fill(session, 2_000_000)
    session.reply(142_000)
    session.row("attachment", attachment={"type": "image", "data": "A" * 1_000_000})

    assert after_tool(session, home_dir).note.startswith(
        "📊 NOTE: Context at 71% (~142000 tokens, measured)."
    )


@pytest.mark.row("S1-02")
def test_after_a_compaction_nothing_is_estimated(session: SessionBuilder, home_dir: str) -> None:
    """The file still holds what the context no longer does."""
    _fill(session, 2_000_000)
    session.compact(167_000)

    assert after_tool(session, home_dir) == SILENT


@pytest.mark.parametrize("content", [None, b""])
def test_no_file_is_no_estimate(
    content: bytes | None, session: SessionBuilder, home_dir: str
) -> None:
    """Unknown, not 0 %."""
    if content is not None:
        session.raw(content)

    assert after_tool(session, home_dir) == SILENT
    assert not kept(session, home_dir, "telemetry.json").exists()


@pytest.mark.row("S1-02")
def test_an_estimate_is_marked_wherever_it_is_shown(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the tiers' notes, before a load, on the status line, in telemetry and `status`."""
    monkeypatch.setenv("NO_COLOR", "1")
    _fill(session, 600_000)

    tier = after_tool(session, home_dir).note
    load = before_load(session, home_dir).note
    line = statusline.respond(
        json.dumps(statusline_event(session, 200_000, None)).encode(), home_dir
    ).decode()

    assert "Estimated: ~150,000 of 200,000 tokens in use (75%; from the size of the" in tier
    assert "Estimated: ~150,000 of 200,000 tokens in use" in load
    assert line.startswith("ctx ~75% of 200k")
    told = json.loads(kept(session, home_dir, "telemetry.json").read_bytes())
    assert (told["measured_by"], told["occupancy_tokens"]) == ("estimate", 150_000)
    shown = status_commands.render(status_commands.read_status(session.path, home_dir, session.cwd))
    assert "in use        ~150,000 of 200,000 tokens (75%; by: estimate" in shown


@pytest.mark.row("S1-02", "S3-36")
@pytest.mark.parametrize(
    ("preset", "text"),
    [
        ("ccm-70-80-90", "Context at 75% (~150000 tokens, estimated)."),
        ("adr11", "Context at ~150000 of 200000 tokens"),
    ],
)
def test_the_other_voices_mark_it_too(
    preset: str,
    text: str,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each in its own words."""
    use(monkeypatch, guard__preset=preset)
    _fill(session, 600_000)

    heard = after_tool(session, home_dir).note + before_load(session, home_dir).note

    assert text in heard


@pytest.mark.row("S1-02")
@pytest.mark.parametrize("tool", ["Agent", "Task", "Skill"])
@pytest.mark.parametrize("preset", ["default", "adr11", "guard-30-15-7-3"])
def test_an_estimate_never_refuses(
    preset: str,
    tool: str,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With everything set to refuse and the file as large as it likes."""
    use(monkeypatch, guard__preset=preset, guard__ceiling="strict", guard__block_delegation=True)
    use(monkeypatch, guard__block_dispatch_at_critical=True)
    monkeypatch.setenv("DEV_TEAM_CONTEXT_STRICT", "on")
    _fill(session, 5_000_000)

    answer = before_load(session, home_dir, tool)

    assert answer.refusal == ""
    assert "[not blocked: fill only estimated]" in answer.note
    assert audit(home_dir) == []


def test_an_estimate_does_not_prove_a_window(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large file is no sign of a large window."""
    monkeypatch.delenv("BRIMLINE_CONTEXT_WINDOW")
    _fill(session, 5_000_000)
    after_tool(session, home_dir)

    told = json.loads(kept(session, home_dir, "telemetry.json").read_bytes())

    assert (told["occupancy_tokens"], told["window_tokens"]) == (200_000, 200_000)
    assert told["window_source"] == "default"


def _fill(session: SessionBuilder, size: int) -> None:
    """Make the file this large with a row that has no usage."""
    row = '{"type":"progress","data":"%s"}\n'
    session.raw(row % ("x" * (size - len(row) + 2)))
