"""Takes one item into the ledger, with the row that it comes from."""

from __future__ import annotations

from brimline.carry import items as kinds
from brimline.carry.items import Item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.carry.items import Ledger

PROMPT_CHARACTERS = 2_000
_TEXT_CHARACTERS = 600
# What a user says again matters more, what a model says again is a phrase of its.
_REPEATED = 0.25
_MOST_REPEATED = 1.0
_LEAST_WEIGHT = 0.1


class Origin:
    """The row in which something was said or done."""

    __slots__ = ("at", "row")

    def __init__(self, at: str | None, row: str | None) -> None:
        self.at = at
        self.row = row


def note(
    ledger: Ledger,
    kind: str,
    text: str,
    source: str,
    origin: Origin,
    weight: float = 1.0,
    **extra: object,
) -> Item:
    """Take an item in; one that is there already is open again."""
    most = PROMPT_CHARACTERS if kind == kinds.PROMPT else _TEXT_CHARACTERS
    cut = text if len(text) <= most else text[: most - 1] + "…"
    item = Item(kind, cut, source, at=origin.at, row=origin.row, weight=weight, extra=dict(extra))
    known = ledger.items.get(item.id)
    if known is None:
        return ledger.add(item)
    if known.row != origin.row:
        sign = 1 if source == kinds.USER else -1
        again = known.extra.get("again", 0) + 1
        known.extra["again"] = again
        change = sign * min(again * _REPEATED, _MOST_REPEATED)
        known.weight = item.weight = max(_LEAST_WEIGHT, weight + change)
    return ledger.add(item)
