"""A reading in words, for each who shows it."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.gauge import wording

DOCUMENT: dict[str, Any] = {
    "occupancy_tokens": 120_000,
    "window_tokens": 200_000,
    "window_source": "model",
    "projected_tokens": 121_500,
    "margin_tokens": 45_500,
    "compaction_tokens": 167_000,
    "compaction_source": "window",
    "ending": "compaction",
    "measured_by": "transcript",
    "forecast_ops": 40,
    "forecast_ops_low": 20,
    "forecast_ops_high": 60,
    "forecast_as_usual": False,
    "tier": 0,
    "model": "claude-x",
    "model_taken_for": None,
    "idle_compaction_tokens": None,
}
UNMEASURED = DOCUMENT | {"occupancy_tokens": None}


def test_what_is_known_has_a_row_each() -> None:
    """Headings without a text are left out."""
    rows = dict(wording.status_rows(DOCUMENT))

    assert rows == {
        "the brim": "compaction expected at 167,000 (from: window), 45,500 tokens left "
        "after the next request",
        "forecast": "about 40 requests (20 to 60)",
        "in use": "120,000 of 200,000 tokens (60%; by: transcript)",
        "next request": "121,500 (~1,500 more)",
        "window": "200,000 (from: model)",
        "tier": "L0 (calm)",
    }
    assert [heading for heading, _ in wording.status_rows(UNMEASURED)] == ["in use", "window"]


@pytest.mark.parametrize(
    ("change", "heading", "text"),
    [
        ({"idle_compaction_tokens": 167_000}, "while idle", None),
        ({"idle_compaction_tokens": 166_999}, "while idle", "compacted from 166,999 tokens on"),
        ({"ending": "stop"}, "note", "automatic compaction is off"),
        ({"ending": "refusal"}, "note", "not compacted before that"),
        ({"model_taken_for": "opus 5"}, "model", "claude-x, not known yet"),
        ({"margin_tokens": 0}, "the brim", "0 tokens left after"),
        ({"margin_tokens": 1}, "the brim", "1 token left after"),
        ({"margin_tokens": -1}, "the brim", "1 token past it after"),
        ({"forecast_ops_high": 0}, "forecast", None),
        ({"forecast_ops": 1}, "forecast", "about 1 request (20"),
        ({"forecast_as_usual": True}, "forecast", "(20 to 60), as sessions usually go"),
        (
            {"forecast_ops_high": wording._WIDEST_INTERVAL * 20 + 1},
            "forecast",
            "at least 20 requests",
        ),
        ({"tier": 2}, "tier", "L2"),
    ],
)
def test_a_row_says_what_is_known(change: dict[str, Any], heading: str, text: str | None) -> None:
    """And is not there where nothing is."""
    row = dict(wording.status_rows(DOCUMENT | change)).get(heading)

    assert row is None if text is None else text in (row or "")


def test_where_a_session_stands_is_a_sentence() -> None:
    """With the requests that are left, else the tokens; before a measurement it says so."""
    begins = "120,000 of 200,000 tokens in use; compaction expected at 167,000: "
    assert wording.status_sentence(DOCUMENT) == f"{begins}{wording.requests_left_text(DOCUMENT)}."
    without = DOCUMENT | {"forecast_ops_high": None}
    assert wording.status_sentence(without) == f"{begins}{wording.margin_left_text(DOCUMENT)}."
    for nothing in (None, UNMEASURED):
        assert wording.status_sentence(nothing).startswith("Unknown: no model request")
    assert wording.last_status_sentence(UNMEASURED).startswith("It ended before a model request")


@pytest.mark.parametrize(
    ("tokens", "end"),
    [
        (166_999, "1 token before the brim."),
        (167_000, "0 tokens before the brim."),
        (167_002, "2 tokens past the brim."),
    ],
)
def test_a_session_that_ended_is_told_from_the_brim(tokens: int, end: str) -> None:
    """On which side it was."""
    assert wording.last_status_sentence(DOCUMENT | {"occupancy_tokens": tokens}).endswith(
        f" in use, {end}"
    )


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({}, "(transcript; window unverified), compaction expected at 167,000: 45,500 tokens left"),
        ({"window_source": "config"}, "(transcript), compaction"),
        ({"compaction_source": "learned"}, "at 167,000 (learned): "),
        ({}, "left, about 40 requests (20 to 60)."),
        ({"forecast_as_usual": True}, "(20 to 60), as sessions usually go."),
        ({"forecast_ops_high": 0}, "45,500 tokens left."),
    ],
)
def test_the_model_is_told_the_distance_and_its_source(change: dict[str, Any], text: str) -> None:
    """A window that was guessed says so."""
    told = wording.distance_to_end_text(DOCUMENT | change)

    assert told.startswith("Next: ~121,500 of 200,000 tokens (transcript")
    assert text in told


def test_the_status_line_leaves_out_what_is_unknown() -> None:
    """Past the brim nothing is left."""
    assert wording.status_line_parts_by_name(DOCUMENT | {"tier": 1}) == {
        "distance": "45.5k to compaction",
        "used": "60% of 200k window",
        "forecast": "~40 req. (20–60)",
        "tier": "L1",
    }
    for change, shown in (
        ({"forecast_as_usual": True}, "~40 req. (20–60), as sessions usually go"),
        ({"forecast_ops_high": wording._WIDEST_INTERVAL * 20 + 1}, "20 req. or more"),
    ):
        assert wording.status_line_parts_by_name(DOCUMENT | change)["forecast"] == shown
    past = wording.status_line_parts_by_name(
        DOCUMENT | {"margin_tokens": -5, "forecast_ops_high": 0}
    )
    assert past == {"distance": "0 to compaction", "used": "60% of 200k window"}
    assert wording.status_line_parts_by_name(UNMEASURED) == {
        "distance": "200k window, not measured yet"
    }


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (999, "999"),
        (1_000, "1k"),
        (45_500, "45.5k"),
        (999_499, "999k"),
        (999_500, "1M"),
        (1_000_000, "1M"),
        (2_340_000, "2.34M"),
        (1_230_000_000_000, "1,230B"),
    ],
)
def test_tokens_in_short_have_three_digits(tokens: int, text: str) -> None:
    """Thousands and millions by a letter."""
    assert wording.short_token_count_text(tokens) == text


@pytest.mark.parametrize(
    ("level", "last", "colour"),
    [
        (0, 4, "green"),
        (1, 4, "cyan"),
        (3, 4, "magenta"),
        (4, 4, "red"),
        (4, 6, "magenta"),
        (5, 6, "magenta"),
        (2, 2, "red"),
        (1, 1, "cyan"),
        (0, 0, "green"),
    ],
)
def test_the_last_of_several_tiers_is_red(level: int, last: int, colour: str) -> None:
    """The others take theirs in turn."""
    assert wording.tier_colour(level, last) == colour


def test_a_tier_that_was_entered_fits_above_the_prompt() -> None:
    """With what is left to the brim."""
    entered = wording.tier_entry_notice_text(DOCUMENT | {"tier": 3})
    assert entered == "brimline: 45,500 tokens to compaction; from here on tier L3"
    past = wording.tier_entry_notice_text(DOCUMENT | {"tier": 3, "margin_tokens": -9})
    assert past.startswith("brimline: 0 tokens to compaction;")
