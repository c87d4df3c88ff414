"""Merging what several rooms decided."""

from __future__ import annotations

import itertools

import pytest

from brimline.decision import NOTE_BUDGET_CHARACTERS, Decision, merge, within_budget


@pytest.mark.parametrize("order", list(itertools.permutations(["", "ask", "deny"])))
def test_deny_wins_over_ask_and_ask_over_nothing(order: tuple[str, ...]) -> None:
    """The strictest answer counts, wherever it stands, with its own reason."""
    merged = merge([Decision(permission=kind, reason=f"because {kind}") for kind in order])

    assert (merged.permission, merged.reason) == ("deny", "because deny")


def test_among_equals_the_first_speaks() -> None:
    """The order of the rooms is that of precedence; an empty replacement is one, None is none."""
    merged = merge(
        [
            Decision(permission="ask", reason="first"),
            Decision(permission="ask", reason="second", replacement=""),
            Decision(replacement={"b": 2}),
        ]
    )

    assert (merged.permission, merged.reason, merged.replacement) == ("ask", "first", "")
    assert merge([Decision()]).replacement is None


def test_a_note_that_does_not_fit_is_left_out_whole() -> None:
    """What is passed on, joined by blank lines, stays within the budget and is never cut."""
    notes = ["x" * 4_000, "y" * 4_000, "z" * 4_000, "short"]

    kept = within_budget(notes)

    assert kept == ("x" * 4_000, "y" * 4_000)
    assert len("\n\n".join(kept)) <= NOTE_BUDGET_CHARACTERS
