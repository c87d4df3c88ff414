"""The card and the instructions: most important first, within their budget, the same every time."""

from __future__ import annotations

import pytest

from brimline.carry import card, instructions, items
from brimline.carry.items import Item, Ledger


def ledger_of(*found: Item) -> Ledger:
    """A ledger with these items."""
    ledger = Ledger("s")
    for item in found:
        ledger.add(item)
    return ledger


def everything() -> Ledger:
    """A ledger with an item of every kind."""
    return ledger_of(
        Item(items.FILE, "/p/a.py", "tool", extra={"did": "edited"}),
        Item(items.FACT, "The port is 8443.", "user"),
        Item(items.FACT, "The cache holds 500 entries.", "assistant"),
        Item(items.AGENT, "Look: pool.c leaks", "agent", extra={"key": "sha256:" + "ab" * 32}),
        Item(items.ERROR, "no space left", "tool", extra={"command": "make a"}),
        Item(items.ANSWER, "Which? → blue", "user"),
        Item(items.NOTE, "demo on Friday", "user"),
        Item(items.REJECTED, "Kafka is out", "user"),
        Item(items.DECISION, "Postgres it is", "user"),
        Item(items.PLAN, "/plans/a.md: Move it", "tool"),
        Item(items.TASK, "port it", "tool", extra={"state": "in_progress"}),
        Item(items.GOAL, "Move the queue", "user"),
        Item(items.CONSTRAINT, "Never push", "user"),
        Item(items.BACKGROUND, "make bench (task b1)", "tool"),
        Item(items.TASK, "write docs", "tool", items.DONE),
        Item(items.ERROR, "was broken", "tool", items.DONE),
        Item(items.PROMPT, "a prompt that the card does not repeat", "user"),
    )


def test_rules_come_first_then_what_matters_most() -> None:
    """The order of the sections, each item in its own."""
    text = card.card(everything(), ("Rule one (ENFORCED)",))

    order = [
        *("Rules that are always in force:\n- Rule one (ENFORCED)", "- Never push"),
        *("- Move the queue", "- port it (in progress)", "- /plans/a.md: Move it"),
        *("- Postgres it is", "- Kafka is out", "- Which? → blue", "- demo on Friday"),
        *("Told by the user:\n- The port is 8443.", "- `make a`: no space left"),
        *("- Look: pool.c leaks (all of it: `brimline store get sha256:abababababab`)",),
        *("Found out:\n- The cache holds 500 entries.", "- make bench (task b1)"),
        *("- /p/a.py (edited)", "Finished:\n- write docs (done)", "Errors that are gone"),
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "a prompt that the card" not in text


def test_nothing_to_carry_is_no_card() -> None:
    """Not even the opening."""
    assert card.card(Ledger("s")) == ""
    assert card.card(ledger_of(Item(items.PROMPT, "hello", "user"))) == ""
    assert "Rule one" in card.card(Ledger("s"), ("Rule one",))


def crowded() -> Ledger:
    """More of everything than a card holds."""
    ledger = Ledger("s")
    for kind in items.KINDS:
        for number in range(60):
            text = f"{kind} {number} " + "word " * 20
            ledger.add(Item(kind, text, "user", weight=number % 7))
            ledger.add(Item(kind, f"done {text}", "user", items.DONE))
    return ledger


@pytest.mark.parametrize("budget", [300, 1_000, 4_000, 9_000])
def test_a_card_keeps_its_budget_and_says_that_it_was_cut(budget: int) -> None:
    """Whatever the budget is."""
    text = card.card(crowded(), ("A rule",), budget=budget)

    assert len(text) <= budget
    assert text.count(card.TRUNCATED) == 1


def test_a_card_that_holds_everything_does_not_say_that_it_was_cut() -> None:
    """The mark stands for something left out."""
    assert card.TRUNCATED not in card.card(everything())


def test_rules_are_the_last_to_be_left_out() -> None:
    """Marked rules before constraints, constraints before the rest."""
    text = card.card(crowded(), [f"Rule {number}" for number in range(30)], budget=1_200)

    assert text.index("Rule 0") < text.index("Rule 29")
    assert "Constraints of the user" in text
    assert "Found out" not in text


def test_the_same_ledger_gives_the_same_bytes() -> None:
    """Also once it has been saved and loaded."""
    loaded = items.from_document(items.to_document(crowded()), "s")

    assert card.card(crowded(), ("r",)) == card.card(loaded, ("r",))


def test_of_two_that_weigh_the_same_the_later_one_is_kept() -> None:
    """What was said last is more likely to hold."""
    found = [Item(items.NOTE, f"note {number} " + "x" * 100, "user") for number in range(60)]

    text = card.card(ledger_of(*found), budget=1_500)

    assert "note 59" in text
    assert "note 0 " not in text


def test_a_long_text_is_cut_on_its_line() -> None:
    """One item cannot take the whole card."""
    text = card.card(ledger_of(Item(items.NOTE, "long " * 500, "user")))

    assert len(text) < 1_000
    assert "…" in text


def test_finished_work_is_one_line_and_older_work_a_count() -> None:
    """The client's own tasks first; what merely fell off a list is not called finished."""
    ledger = ledger_of(
        Item(items.TASK, "by the way", "assistant", items.DONE),
        Item(items.TASK, "port it", "tool", items.DONE),
        Item(items.TASK, "stale", "assistant", items.SUPERSEDED),
        Item(items.CONSTRAINT, "Don't push", "user", items.SUPERSEDED),
    )
    ledger.folded = {items.TASK: 4, items.FACT: 9}

    text = card.card(ledger)

    line = text.partition("Finished:\n")[2].splitlines()[0]
    assert line.startswith("- port it (done); Don't push (superseded); by the way (done)")
    assert line.endswith("and 4 more, earlier")
    assert "stale" not in text


def test_only_counts_of_finished_work_make_a_line() -> None:
    """Where all of it was folded."""
    ledger = ledger_of(Item(items.NOTE, "n", "user"))
    ledger.folded = {items.TASK: 4}

    assert "Finished:\n- 4 more, earlier" in card.card(ledger)


def test_files_that_were_changed_come_before_files_that_were_read() -> None:
    """And only so many of them."""
    found = [
        Item(items.FILE, f"/p/read{n}.py", "tool", extra={"id": f"r{n}", "did": "read"})
        for n in range(30)
    ]
    found += [
        Item(items.FILE, f"/p/edit{n}.py", "tool", extra={"id": f"e{n}", "did": "edited"})
        for n in range(30)
    ]

    text = card.card(ledger_of(*found))

    assert "/p/edit29.py (edited)" in text
    assert "/p/read29.py" not in text
    assert text.count("/p/") == 12


def test_the_instructions_hold_the_default_and_the_facts_within_their_budget() -> None:
    """For the client's own summary."""
    text = instructions.instructions(crowded(), ("A rule",))

    assert text.startswith(instructions.DEFAULT)
    assert "- A rule" in text
    assert len(text) <= instructions.BUDGET_CHARACTERS


def test_the_users_own_instructions_take_the_place_of_ours() -> None:
    """At most half of the room, with a mark where they were cut."""
    short = instructions.instructions(everything(), own="Write a poem.")
    long = instructions.instructions(everything(), own="poem " * 3_000)

    assert short.startswith("Write a poem.\n\n")
    assert instructions.DEFAULT not in short
    assert card.TRUNCATED in long
    assert len(long) <= instructions.BUDGET_CHARACTERS
    assert "- Never push" in long


def test_without_facts_the_instructions_are_general() -> None:
    """An empty ledger adds nothing."""
    assert instructions.instructions(Ledger("s")) == instructions.DEFAULT
