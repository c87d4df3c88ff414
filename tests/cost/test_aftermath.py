"""What compactions cost, by what they took in, wrote and left."""

from __future__ import annotations

from typing import Any

import pytest

from brimline import models
from brimline.cost import aftermath

MODEL = models.lookup_model("claude-opus-5-5")
SUMMARY_TOKENS = 28_500 / MODEL.characters_per_token


def compaction(**fields: Any) -> dict[str, Any]:
    """One of a history, without a figure of its own."""
    usual = {"session_id": "s1", "uuid": "u1", "at": 0.0, "lost": None, "dollars": None}
    figures = {"pre_tokens": 100_000, "post_tokens": 20_000, "model": "claude-opus-5-5"}
    return usual | figures | {"summary_characters": None, "rewritten_tokens": None} | fields


@pytest.mark.parametrize(
    ("fields", "read", "put_out", "written"),
    [
        ({}, 0, 0.0, 20_000),
        ({"summary_characters": 0}, 0, 0.0, 20_000),
        ({"summary_characters": 28_500}, 100_000, SUMMARY_TOKENS, 20_000),
        ({"rewritten_tokens": 5_000}, 0, 0.0, 5_000),
        ({"rewritten_tokens": 0}, 0, 0.0, 0),
        ({"pre_tokens": 0, "post_tokens": 0}, 0, 0.0, 0),
    ],
)
def test_a_compaction_costs_its_summary_and_what_is_written_again(
    fields: dict[str, Any], read: int, put_out: float, written: int
) -> None:
    """The context from the cache, the summary as it is put out, the rest written to the cache."""
    made = compaction(**fields)
    prices = MODEL.prices(made["pre_tokens"])
    assert prices is not None

    aftermath.fill_in_dollars([made])

    dollars = read * prices.read + put_out * prices.output + written * prices.write_5m
    assert made["dollars"] == pytest.approx(dollars / 1_000_000, abs=1e-6)


@pytest.mark.parametrize(
    "fields", [{"pre_tokens": None}, {"post_tokens": None}, {"model": "gpt-9"}, {"model": None}]
)
def test_what_is_not_known_of_a_compaction_has_no_price(fields: dict[str, Any]) -> None:
    """None, not zero; those after it have theirs."""
    unknown, known = compaction(**fields), compaction()

    aftermath.fill_in_dollars([unknown, known])

    assert unknown["dollars"] is None
    assert known["dollars"] > 0


@pytest.mark.parametrize("document", [{}, {"compactions": None}, {"compactions": []}])
def test_a_history_without_compactions_stays_as_it_is(document: dict[str, Any]) -> None:
    """Of sessions or savings alone."""
    before = dict(document)

    aftermath.add_costs_and_losses(document)

    assert document == before
