"""Sentences that come again and again with other figures: progress reports, not facts. Pure."""

from __future__ import annotations

from zlib import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.carry.items import Ledger

# Several facts may be worded alike; more than this many are a habit of speech.
_FACTS_ALIKE = 6
_SHARE = 0.3
_MOST_REMEMBERED = 300


def share(ledger: Ledger, plain: str) -> float:
    """How much of its weight a sentence keeps, given how often its like was heard before."""
    wording = " ".join([word for word in plain.split() if word.isalpha()])
    name = f"{crc32(wording.encode('utf-8', 'surrogatepass')):x}"
    heard: dict[str, int] = ledger.state.setdefault("refrains", {})
    times = heard.pop(name, 0) + 1
    heard[name] = times
    if len(heard) > _MOST_REMEMBERED:
        del heard[next(iter(heard))]
    return 1.0 if times <= _FACTS_ALIKE else _SHARE
