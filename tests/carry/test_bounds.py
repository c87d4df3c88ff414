"""A ledger stays small, whatever a session holds."""

from __future__ import annotations

from brimline.carry import items
from brimline.carry.bounds import MOST_CHARACTERS, MOST_ITEMS, bound
from brimline.carry.items import Item, Ledger


def filled(kind: str, count: int, *, status: str = items.OPEN, weight: float = 1.0) -> Ledger:
    """A ledger with many items of a kind."""
    ledger = Ledger("s")
    for number in range(count):
        ledger.add(Item(kind, f"{kind} number {number}", "user", status, weight=weight))
    return ledger


def test_the_oldest_closed_items_become_a_count() -> None:
    """Open ones stay, and so do the latest that were closed."""
    ledger = filled(items.TASK, 300, status=items.DONE)
    ledger.add(Item(items.TASK, "still open", "user"))

    bound(ledger)

    left = [item.text for item in ledger.of(items.TASK)]
    assert left[-2:] == ["task number 299", "still open"]
    assert ledger.folded == {items.TASK: 301 - len(left)}


def test_the_least_telling_facts_go_first() -> None:
    """However old the others are."""
    ledger = filled(items.FACT, 20, weight=3.0)
    for number in range(400):
        ledger.add(Item(items.FACT, f"small talk {number}", "assistant", weight=0.3))

    bound(ledger)

    kept = [item.text for item in ledger.of(items.FACT)]
    assert kept[:20] == [f"fact number {number}" for number in range(20)]
    assert len(kept) < 200


def test_the_whole_has_a_size() -> None:
    """By number and by characters; rules, tasks and notes are the last to go."""
    ledger = Ledger("s")
    for kind in items.KINDS:
        for number in range(60):
            ledger.add(Item(kind, f"{kind} {number} " + "x" * 3_000, "user"))

    bound(ledger)

    assert len(ledger.items) <= MOST_ITEMS
    assert sum(len(item.text) for item in ledger.items.values()) <= MOST_CHARACTERS
    assert {item.kind for item in ledger.items.values()} >= {items.NOTE, items.CONSTRAINT}


def test_a_small_ledger_is_left_alone() -> None:
    """Nothing is dropped before it has to be."""
    ledger = filled(items.FACT, 30)
    before = items.to_document(ledger)

    bound(ledger)

    assert items.to_document(ledger) == before
