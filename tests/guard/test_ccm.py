"""Preset ccm-70-80-90: notes by share of the window, also to the person when a turn ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from .dialogue import SILENT, Answer, after_tool, at_prompt, at_stop, audit, before_load, use

if TYPE_CHECKING:
    from collections.abc import Callable

    from brimline.testing import SessionBuilder


@pytest.fixture(autouse=True)
def preset(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the preset in force."""
    use(monkeypatch, guard__preset="ccm-70-80-90")


@pytest.mark.row("S3-35")
@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (
            140_000,
            (
                "📊 NOTE: Context at 70% (~140000 tokens, measured). "
                "`brimline session purge` is there if needed."
            ),
        ),
        (
            160_000,
            (
                "⚠️ WARNING: Context at 80% (~160000 tokens, measured). "
                "Consider `brimline session purge` soon."
            ),
        ),
        (
            182_000,
            (
                "⚠️ CRITICAL: Context at 91% (~182000 tokens, measured). "
                "Run `brimline session purge` NOW or compaction is imminent!"
            ),
        ),
    ],
)
def test_each_threshold_has_its_words(
    tokens: int, text: str, session: SessionBuilder, home_dir: str
) -> None:
    """Head and action by threshold, the share and the tokens between them."""
    session.reply(tokens)

    assert after_tool(session, home_dir).note == text


@pytest.mark.row("S3-34")
@pytest.mark.parametrize("speak", [after_tool, at_stop])
def test_a_threshold_speaks_once_per_climb(
    speak: Callable[[SessionBuilder, str], Answer], session: SessionBuilder, home_dir: str
) -> None:
    """71, 72, 81, 91, 60, 71 are told at 71, 81, 91 and 71, whichever event comes by."""
    heard = []
    for percent in (71, 72, 81, 91, 60, 71):
        session.reply(percent * 2_000)
        answer = speak(session, home_dir)
        heard += re.findall(r"at (\d+)%", answer.note + answer.person)

    assert heard == ["71", "81", "91", "71"]
    assert [line["level"] for line in audit(home_dir)] == [1, 2, 3, 1]


@pytest.mark.row("S3-34")
def test_the_thresholds_are_inclusive(session: SessionBuilder, home_dir: str) -> None:
    """One token below 70 % is silent."""
    session.reply(139_999)
    assert after_tool(session, home_dir) == SILENT
    session.reply(140_000)

    assert after_tool(session, home_dir).note


@pytest.mark.row("S3-35", "S3-12")
def test_at_the_end_of_a_turn_the_person_is_told(session: SessionBuilder, home_dir: str) -> None:
    """Context for the model would make it go on there; after a tool it is the model's to know."""
    session.reply(145_000)
    assert at_stop(session, home_dir).person.startswith("📊 NOTE")
    session.reply(165_000)

    answer = after_tool(session, home_dir)

    assert answer.note.startswith("⚠️ WARNING")
    assert answer.person == ""


@pytest.mark.row("S3-35")
def test_the_end_of_a_turn_holds_nothing_for_the_model(
    session: SessionBuilder, home_dir: str
) -> None:
    """And what was told there is not told again after a tool."""
    session.reply(185_000)

    answer = at_stop(session, home_dir)

    assert answer == Answer(person=answer.person)
    assert answer.person
    assert after_tool(session, home_dir) == SILENT


def test_prompts_and_loads_are_left_alone(session: SessionBuilder, home_dir: str) -> None:
    """The source spoke after tools and at the end of a turn, and refused nothing."""
    session.reply(190_000)

    assert at_prompt(session, home_dir) == SILENT
    assert [before_load(session, home_dir, tool) for tool in ("Agent", "Skill")] == [SILENT] * 2


@pytest.mark.row("S3-34")
@pytest.mark.parametrize("tiers", [[50, 60], [50], [50, 55, 60, 65]])
def test_the_thresholds_are_a_setting(
    tiers: list[int], session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any number of them."""
    use(monkeypatch, guard__tiers=tiers)

    assert _heard_on_the_way(session, home_dir) == tiers


def _heard_on_the_way(session: SessionBuilder, home_dir: str) -> list[int]:
    """The whole percentages at which something is said on the way from 45 to 95."""
    heard = []
    for percent in range(45, 96):
        session.reply(percent * 2_000)
        if after_tool(session, home_dir).note:
            heard.append(percent)
    return heard
