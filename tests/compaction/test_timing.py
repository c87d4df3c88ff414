"""When an edit of what was sent before pays."""

from __future__ import annotations

import pytest

from brimline.compaction.timing import USUAL_PRICES, Pending, position_where_edits_are_due


def test_a_break_costs_the_writing_by_the_caches_lifetime_less_the_reading() -> None:
    """Up to five minutes 1.25, beyond them 2.0, and 0.1 would have been paid anyway."""
    prices = [
        USUAL_PRICES.rewrite_surcharge_per_token(lifetime_s) for lifetime_s in (300, 301, 3_600)
    ]

    assert prices == pytest.approx([1.15, 1.9, 1.9])


@pytest.mark.parametrize(
    ("waited", "due"), [(99.0, None), (100.0, 1), (101.0, 1)], ids=["less", "as much", "more"]
)
def test_a_change_is_due_when_waiting_has_cost_as_much_as_the_break(
    waited: float, due: int | None
) -> None:
    """What is behind it within the warm part is written again, less what the change saves."""
    pending = [Pending(1, 50.0, waited)]
    tokens = [500.0, 100.0, 50.0]

    assert position_where_edits_are_due(pending, tokens, 1.0, 1.0) == due


def test_of_several_places_the_one_counts_where_waiting_has_cost_most() -> None:
    """What waits behind it comes along; how much waiting counts is for the caller to say."""
    pending = [Pending(0, 0.0, 1.0), Pending(1, 0.0, 150.0), Pending(2, 0.0, 60.0)]
    tokens = [500.0, 100.0, 50.0]

    assert position_where_edits_are_due(pending, tokens, 1.0, 1.0) == 1
    assert position_where_edits_are_due(pending, tokens, 1.0, 0.1) is None
    assert position_where_edits_are_due(pending, tokens, 1.0, 9.0) == 1
    assert position_where_edits_are_due([], tokens, 1.0, 9.0) is None
