"""Preset haios-80: one line with the prompt once 80 % of the window is in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.testing import event

from .dialogue import SILENT, after_tool, at_prompt, at_stop, audit, before_load, send, use

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

LINE = "CONTEXT: ~{}% used. Consider /brim:checkpoint before context exhaustion."


@pytest.fixture(autouse=True)
def preset(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the preset in force, in a window of 200,000."""
    use(monkeypatch, guard__preset="haios-80", context_window=200_000)


@pytest.mark.row("S1-01", "S1-03", "S1-22")
@pytest.mark.parametrize(
    ("tokens", "percent"),
    [(160_000, 80), (170_000, 85), (179_200, 90), (188_999, 94), (189_001, 95), (200_000, 100)],
)
def test_a_prompt_from_80_percent_on_brings_the_line(
    tokens: int, percent: int, session: SessionBuilder, home_dir: str
) -> None:
    """The exact line, its percentage rounded; the model reads it before the prompt."""
    session.reply(tokens)

    answer = at_prompt(session, home_dir)

    assert answer.note == LINE.format(percent)
    assert (answer.refusal, answer.person) == ("", "")


@pytest.mark.row("S1-04")
@pytest.mark.parametrize(("tokens", "warns"), [(159_800, False), (159_999, False), (160_000, True)])
def test_the_threshold_is_inclusive(
    tokens: int, warns: bool, session: SessionBuilder, home_dir: str
) -> None:
    """79.9 % is silent, 80 % warns."""
    session.reply(tokens)

    assert bool(at_prompt(session, home_dir).note) is warns


@pytest.mark.row("S1-04")
@pytest.mark.parametrize(("threshold", "tokens"), [(50, 100_000), (92.5, 185_000), (75, 150_000)])
def test_the_threshold_is_a_setting(
    threshold: float,
    tokens: int,
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Set otherwise, it moves; the words stay."""
    use(monkeypatch, guard__tiers=threshold)
    session.reply(tokens - 1)
    assert at_prompt(session, home_dir) == SILENT
    session.reply(tokens)

    assert at_prompt(session, home_dir).note == LINE.format(f"{tokens / 2_000:.0f}")


@pytest.mark.row("S1-05", "S1-22")
@pytest.mark.parametrize("tokens", [1, 1_024, 100_000, 150_000])
def test_nothing_is_added_below_the_threshold(
    tokens: int, session: SessionBuilder, home_dir: str
) -> None:
    """From a few tokens to 75 % the prompt stands alone."""
    session.reply(tokens)

    assert at_prompt(session, home_dir) == SILENT


@pytest.mark.row("S1-01")
def test_the_line_comes_with_every_prompt(session: SessionBuilder, home_dir: str) -> None:
    """It is not given once, as the source gave it each time; the audit trail has it once."""
    session.reply(170_000)

    assert [at_prompt(session, home_dir).note for _ in range(3)] == [LINE.format(85)] * 3
    assert [line["level"] for line in audit(home_dir)] == [1]


@pytest.mark.row("S1-01", "S1-15")
def test_only_prompts_are_answered_and_nothing_is_refused(
    session: SessionBuilder, home_dir: str
) -> None:
    """After a tool, at the end of a turn and before a load there is not a word."""
    session.reply(199_000)

    assert after_tool(session, home_dir) == SILENT
    assert at_stop(session, home_dir) == SILENT
    assert [before_load(session, home_dir, tool) for tool in ("Agent", "Skill")] == [SILENT] * 2
    assert at_prompt(session, home_dir).refusal == ""


@pytest.mark.row("S1-09")
def test_the_percentage_ends_at_100(session: SessionBuilder, home_dir: str) -> None:
    """More than the window holds is shown as full."""
    session.reply(900_000)

    assert at_prompt(session, home_dir).note == LINE.format(100)


@pytest.mark.row("S1-09")
def test_the_size_of_the_file_does_not_move_the_figure(
    session: SessionBuilder, home_dir: str
) -> None:
    """Three megabytes of rows that the model never sees leave 50 % what it is."""
    session.reply(100_000)
    session.row("progress", data={"text": "x" * 3_000_000})
    assert at_prompt(session, home_dir) == SILENT
    session.reply(170_000)

    assert at_prompt(session, home_dir).note == LINE.format(85)


def test_75_percent_is_told_where_the_threshold_is_lower(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """150,000 of 200,000 tokens are 75 %."""
    use(monkeypatch, guard__tiers=70)
    session.reply(150_000)

    assert at_prompt(session, home_dir).note == LINE.format(75)


@pytest.mark.row("S1-06", "S1-07", "S1-08")
@pytest.mark.parametrize("content", [None, b"", b"\n", b'{"type":"user","message":{}}\n'])
def test_a_session_that_cannot_be_measured_is_not_warned_of(
    content: bytes | None, session: SessionBuilder, home_dir: str
) -> None:
    """Missing, empty or without usage: nothing, and above all not 0 %."""
    if content is not None:
        session.raw(content)

    assert at_prompt(session, home_dir) == SILENT


@pytest.mark.row("S1-06")
@pytest.mark.parametrize("path", [None, "", 7, []])
def test_a_prompt_without_a_transcript_path_is_not_warned_of(
    path: object, session: SessionBuilder, home_dir: str
) -> None:
    """The field may be missing, empty or of the wrong kind."""
    session.reply(170_000)
    payload = event("UserPromptSubmit", session, prompt="go on", transcript_path=path)
    if path is None:
        del payload["transcript_path"]

    assert send(home_dir, payload) == SILENT


def test_a_request_of_no_tokens_is_no_measurement(session: SessionBuilder, home_dir: str) -> None:
    """A row whose usage is all zero says nothing; the one before it still does."""
    session.reply(0, output_tokens=0)
    assert at_prompt(session, home_dir) == SILENT
    session.reply(170_000)
    session.reply(0, output_tokens=0)

    assert at_prompt(session, home_dir).note == LINE.format(85)
