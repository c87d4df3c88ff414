"""When an edit of what was sent before pays: the price of a break, and what waiting has cost. Pure.

Prices are shares of the price of a token that is not cached. A change inside a prefix that the
cache holds makes everything behind it be written again. So a change waits until what it would have
saved so far has reached that price (ski rental), or is free because the cache has expired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHORT_LIFETIME_S = 300


class Prices(NamedTuple):
    """What a token costs that is read from the cache, or written into one of either lifetime."""

    read: float = 0.1
    write_5m: float = 1.25
    write_1h: float = 2.0

    def rewrite_surcharge_per_token(self, lifetime_s: int) -> float:
        """Return what it costs that a token is written again instead of read."""
        write = self.write_5m if lifetime_s <= _SHORT_LIFETIME_S else self.write_1h
        return write - self.read


USUAL_PRICES = Prices()


class Pending(NamedTuple):
    """A change that waits."""

    position: int
    """Of its block."""
    saved_tokens: float
    waited: float
    """What it would have saved so far."""


def position_where_edits_are_due(
    pending: Sequence[Pending], warm_tokens: Sequence[float], price: float, waiting_weight: float
) -> int | None:
    """The position from which on changes are due, or None.

    Of all places where waiting has cost as much as the break, the one where it has cost most beyond
    it: whatever waits behind it comes along for nothing.

    Args:
        pending: changes, the first one first.
        warm_tokens: of each block that the cache holds, as it is sent now.
        price: of a token that is written again.
        waiting_weight: how much waiting counts: it fills the window too, which no price tells.
    """
    best, due = 0.0, None
    behind = waited = saved = 0.0
    at = len(warm_tokens)
    for change in reversed(pending):
        behind += sum(warm_tokens[change.position : at])
        at = change.position
        waited += change.waited
        saved += change.saved_tokens
        gain = waiting_weight * waited - price * max(0.0, behind - saved)
        if gain >= best:
            best, due = gain, change.position
    return due
