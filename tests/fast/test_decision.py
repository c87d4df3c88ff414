"""Merging what several rooms decided."""

from __future__ import annotations

import itertools

import pytest

from brimline.fast.decision import (
    NOTE_BUDGET_CHARACTERS,
    Decision,
    merge_decisions,
    notes_within_budget,
)


@pytest.mark.parametrize("order", list(itertools.permutations(["", "ask", "deny"])))
def test_deny_wins_over_ask_and_ask_over_nothing(order: tuple[str, ...]) -> None:
    """The strictest answer counts, wherever it stands, with its own reason."""
    merged = merge_decisions(
        [Decision(permission=kind, reason=f"because {kind}") for kind in order]
    )

    assert (merged.permission, merged.reason) == ("deny", "because deny")


def test_among_equals_the_first_speaks() -> None:
    """The order of the rooms is that of precedence; an empty replacement is one, None is none."""
    merged = merge_decisions(
        [
            Decision(permission="ask", reason="first"),
            Decision(permission="ask", reason="second", replacement=""),
            Decision(replacement={"b": 2}),
        ]
    )

    assert (merged.permission, merged.reason, merged.replacement) == ("ask", "first", "")
    assert merge_decisions([Decision()]).replacement is None


def test_a_note_that_does_not_fit_is_left_out_whole() -> None:
    """What is passed on, joined by blank lines, stays within the budget and is never cut."""
    most = NOTE_BUDGET_CHARACTERS // 2 - 9
    notes = ["x" * most, "y" * most, "z" * most, "short"]

    kept = notes_within_budget(notes)

    assert kept == ("x" * most, "y" * most)
    assert len("\n\n".join(kept)) <= NOTE_BUDGET_CHARACTERS


def test_notes_may_fill_the_budget_exactly() -> None:
    """Each with the blank line behind it; one character more is left out, and what follows too."""
    whole = NOTE_BUDGET_CHARACTERS - 2
    assert notes_within_budget(["x" * whole]) == ("x" * whole,)
    assert notes_within_budget(["x" * (whole + 1), "short"]) == ()
    assert notes_within_budget(["a" * (whole - 10), "b" * 8]) == ("a" * (whole - 10), "b" * 8)
    assert notes_within_budget(["a" * (whole - 10), "b" * 9]) == ("a" * (whole - 10),)


def test_notes_of_several_add_up_and_one_decision_stays_as_it_is() -> None:
    """For the model and for the person, in the order of the rooms."""
    merged = merge_decisions(
        [
            Decision(model_notes=("a",), person_notes=("x",)),
            Decision(model_notes=("b",), person_notes=("y",)),
        ]
    )
    assert (merged.model_notes, merged.person_notes) == (("a", "b"), ("x", "y"))
    assert (merged.permission, merged.reason, merged.replacement) == ("", "", None)
    alone = Decision(model_notes=("x" * 20_000,))
    assert merge_decisions([alone]) is alone


@pytest.mark.parametrize("strong", ["ask", "deny"])
def test_any_answer_wins_over_none(strong: str) -> None:
    """Wherever it stands."""
    decisions = [Decision(reason="none"), Decision(permission=strong, reason="strong")]
    for order in (decisions, decisions[::-1]):
        assert merge_decisions(order).reason == "strong"
