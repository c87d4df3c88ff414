"""What the guard says: figure, source, what to do, how to tune, stable text first."""

from __future__ import annotations

import re

import pytest

from brimline.decision import NOTE_BUDGET_CHARACTERS
from brimline.gauge.reading import TIER_NAMES, Reading
from brimline.gauge.window import CompactionPoint, Window
from brimline.guard.messages import tier_note

LEVELS = (1, 2, 3, 4)


@pytest.mark.parametrize("level", LEVELS)
def test_a_note_has_the_figure_the_source_the_way_on_and_the_way_to_tune(level: int) -> None:
    """Nothing else is needed to act on it, or to make it go away."""
    note = tier_note(_reading(level, occupancy=150_000, projected=151_000))

    assert note.startswith(f"[brimline] Context tier L{level} {TIER_NAMES[level]}. ")
    assert "150,000 of 200,000 tokens in use (75%; from the transcript" in note
    assert "window from the status line" in note
    assert "compaction expected at 167,000: 16,000 tokens left." in note
    assert "`guard.tiers`" in note
    assert "`brimline config explain`" in note
    assert re.search("prefer|write down|Save", note)


@pytest.mark.parametrize("level", LEVELS)
def test_the_changing_figures_come_last(level: int) -> None:
    """Up to "Measured" two notes of a tier are the same, with no digit but the tier's own."""
    one, other = (
        tier_note(_reading(level, occupancy=tokens, projected=tokens + 7, source=source))
        for tokens, source in ((101_234, "statusline"), (166_999, "default"))
    )

    assert one.partition("Measured")[0] == other.partition("Measured")[0]
    assert re.findall(r"\d", one.partition("Measured")[0]) == [str(level)]


@pytest.mark.parametrize("level", LEVELS)
def test_a_note_fits_into_what_the_client_passes_on(level: int) -> None:
    """Even with figures of absurd size."""
    note = tier_note(_reading(level, occupancy=10**12, projected=10**12))

    assert len(note) < NOTE_BUDGET_CHARACTERS
    assert "\n" not in note


def test_past_the_point_is_said_as_such() -> None:
    """No negative number of tokens is left."""
    note = tier_note(_reading(4, occupancy=170_000, projected=171_000))

    assert "compaction expected at 167,000: 4,000 tokens past it." in note


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("config", "your configuration"),
        ("statusline", "the status line"),
        ("settings", "the client's settings"),
        ("observed", "what was observed"),
        ("model", "the model's name, unverified"),
        ("default", "the default, unverified"),
    ],
)
def test_the_source_of_the_window_is_named(source: str, words: str) -> None:
    """A window that nobody verified is called unverified."""
    note = tier_note(_reading(2, occupancy=150_000, projected=151_000, source=source))

    assert f"window from {words})" in note


@pytest.mark.parametrize("level", LEVELS)
def test_no_note_reads_like_an_order_to_stop(level: int) -> None:
    """It asks to save state and to carry on."""
    note = tier_note(_reading(level, occupancy=150_000, projected=151_000)).lower()

    assert not re.search(r"\bstop\b|\bhalt\b|\bdo not\b|\bmust not\b|\babort\b", note)


def _reading(
    tier: int, *, occupancy: int, projected: int, source: str = "statusline"
) -> Reading:
    point = CompactionPoint(167_000, "window", 200_000, enforced=True)
    reading = Reading(Window(200_000, source), point)
    reading.tier = tier
    reading.occupancy_tokens = occupancy
    reading.projected_tokens = projected
    reading.margin_tokens = 167_000 - projected
    reading.measured_by = "transcript"
    return reading
