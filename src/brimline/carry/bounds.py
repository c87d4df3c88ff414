"""Keeps a ledger small: closed items become counts, then the least telling facts go. Pure."""

from __future__ import annotations

from brimline.carry import items as kinds
from brimline.carry import refrains

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.carry.items import Item, Ledger

MOST_ITEMS = 400
MOST_CHARACTERS = 200_000
# Above its share a kind makes room for itself, so that none crowds out another.
_SHARES = {
    kinds.PROMPT: 25,
    kinds.FILE: 60,
    kinds.FACT: 140,
    kinds.ERROR: 30,
    kinds.AGENT: 30,
    kinds.BACKGROUND: 15,
    kinds.CONSTRAINT: 80,
    kinds.TASK: 80,
    kinds.DECISION: 60,
    kinds.REJECTED: 50,
    kinds.GOAL: 12,
    kinds.PLAN: 10,
    kinds.ANSWER: 30,
    kinds.NOTE: 40,
}
# The share of its weight that the oldest item loses against the newest.
_AGE = 0.25
# Which kinds make room when the whole is too large, and how many of each stay in a first round.
_FIRST_TO_GO = (
    *(kinds.PROMPT, kinds.FILE, kinds.BACKGROUND, kinds.FACT, kinds.ERROR, kinds.AGENT),
    *(kinds.REJECTED, kinds.DECISION, kinds.ANSWER, kinds.PLAN, kinds.TASK, kinds.GOAL),
    *(kinds.CONSTRAINT, kinds.NOTE),
)
_ROUNDS = (10, 0)
_AT_ONCE = 10
_ITEM_CHARACTERS = 150


def bound(ledger: Ledger) -> None:
    """Drop what a ledger has no room for; closed items are counted in `folded`."""
    refrains.quieten(ledger)
    counts: dict[str, int] = {}
    for item in ledger.items.values():
        counts[item.kind] = counts.get(item.kind, 0) + 1
    for kind, count in counts.items():
        if count > _SHARES.get(kind, MOST_ITEMS):
            _shrink(ledger, [*ledger.of(kind)], count - _SHARES[kind])
    for least in _ROUNDS:
        for kind in _FIRST_TO_GO:
            while _is_too_large(ledger) and len(found := [*ledger.of(kind)]) > least:
                _shrink(ledger, found, min(_AT_ONCE, len(found) - least))


def _is_too_large(ledger: Ledger) -> bool:
    if len(ledger.items) > MOST_ITEMS:
        return True
    characters = sum(len(item.text) for item in ledger.items.values())
    return characters + len(ledger.items) * _ITEM_CHARACTERS > MOST_CHARACTERS


def _shrink(ledger: Ledger, candidates: list[Item], count: int) -> None:
    """Drop the given number of items: closed ones first and the oldest of them, then by weight."""
    last = len(candidates) or 1
    worth = {
        item.id: (
            item.is_open,
            (item.weight if item.is_open else 1) * (1 - _AGE + _AGE * at / last),
        )
        for at, item in enumerate(candidates)
    }
    for item in sorted(candidates, key=lambda item: worth[item.id])[:count]:
        if not item.is_open:
            ledger.folded[item.kind] = ledger.folded.get(item.kind, 0) + 1
        ledger.items.pop(item.id, None)
