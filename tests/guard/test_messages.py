"""What the guard says: figure, source, what to do, how to tune, stable text first."""

from __future__ import annotations

import re

import pytest

from brimline.decision import NOTE_BUDGET_CHARACTERS
from brimline.gauge.reading import Reading
from brimline.gauge.tiers import NAMES
from brimline.gauge.window import CompactionPoint, Window
from brimline.guard.messages import spoken, tier_note

LEVELS = (1, 2, 3, 4)


@pytest.mark.parametrize("level", LEVELS)
def test_a_note_has_the_figure_the_source_the_way_on_and_the_way_to_tune(level: int) -> None:
    """Nothing else is needed to act on it, or to make it go away."""
    note = tier_note(_reading(level, occupancy=150_000, projected=151_000))

    assert note.startswith(f"[brimline] Context tier L{level} {NAMES[level]}. ")
    assert "150,000 of 200,000 tokens in use (75%; from the transcript" in note
    assert "window from the status line" in note
    assert "about 1,000 more in the next request" in note
    assert "compaction expected at 167,000: 16,000 tokens left." in note
    assert "`guard.tiers`" in note
    assert "`brimline config explain`" in note
    assert re.search("prefer|write down|Save", note)


@pytest.mark.row("S2-23", "S2-35")
@pytest.mark.parametrize("level", LEVELS)
def test_the_changing_figures_come_last(level: int) -> None:
    """Up to "Measured" two notes of a tier are the same, with no digit but the tier's own."""
    one, other = (
        tier_note(_reading(level, occupancy=tokens, projected=tokens + 7, source=source))
        for tokens, source in ((101_234, "statusline"), (166_999, "default"))
    )

    assert one.partition("Measured")[0] == other.partition("Measured")[0]
    assert re.findall(r"\d", one.partition("Measured")[0]) == [str(level)]


@pytest.mark.row("S2-03")
@pytest.mark.parametrize("level", LEVELS)
def test_a_note_fits_into_what_the_client_passes_on(level: int) -> None:
    """Even with figures of absurd size."""
    note = tier_note(_reading(level, occupancy=10**12, projected=10**12))

    assert len(note) < NOTE_BUDGET_CHARACTERS
    assert "\n" not in note


@pytest.mark.parametrize("voice", ["brimline", "haios", "ccm"])
@pytest.mark.parametrize("first", [True, False])
def test_every_voice_names_the_share_in_use(voice: str, first: bool) -> None:
    """Whoever's words are used, the figure is in them, within the budget."""
    note = spoken(voice, _reading(3, occupancy=150_000, projected=151_000), first=first)

    assert "75" in note
    assert len(note) < NOTE_BUDGET_CHARACTERS


def test_a_repeated_warning_is_shorter_than_the_first() -> None:
    """The last tier speaks with every call, so it says less."""
    reading = _reading(4, occupancy=165_000, projected=166_000)

    again = spoken("brimline", reading, first=False)

    assert "Still critical" in again
    assert len(again) < len(spoken("brimline", reading, first=True))


def test_a_known_history_adds_a_forecast() -> None:
    """How many requests are left, with the interval."""
    reading = _reading(2, occupancy=150_000, projected=151_000)
    reading.history = [140_000, 145_000, 150_000]

    assert re.search(
        r"16,000 tokens left, about \d+ requests \(\d+ to \d+\)\.$", tier_note(reading)
    )


@pytest.mark.row("S1-02")
def test_an_estimate_is_marked_as_one() -> None:
    """A guess never looks like a measurement."""
    reading = _reading(2, occupancy=150_000, projected=151_000)
    reading.measured_by = "estimate"

    note = tier_note(reading)

    assert "Estimated: ~150,000 of 200,000" in note
    assert "from the size of the session file" in note


def test_past_the_point_is_said_as_such() -> None:
    """No negative number of tokens is left."""
    note = tier_note(_reading(4, occupancy=170_000, projected=171_000))

    assert "compaction expected at 167,000: 4,000 tokens past it." in note


@pytest.mark.row("S0-29")
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


def _reading(tier: int, *, occupancy: int, projected: int, source: str = "statusline") -> Reading:
    point = CompactionPoint(167_000, "window", 200_000, enforced=True)
    reading = Reading(Window(200_000, source), point)
    reading.tier = tier
    reading.tier_count = 4
    reading.tail_tokens = projected - occupancy
    reading.occupancy_tokens = occupancy
    reading.projected_tokens = projected
    reading.margin_tokens = 167_000 - projected
    reading.measured_by = "transcript"
    return reading
