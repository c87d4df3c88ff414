"""Sentences that come again and again with other figures: progress reports, not facts. Pure."""

from __future__ import annotations

from zlib import crc32

from brimline.carry import items as kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.carry.items import Ledger

# Several facts may be worded alike; more than this many are a habit of speech.
_FACTS_ALIKE = 6
_SHARE = 0.1
_MOST_REMEMBERED = 300
_KEPT = 2


def share(ledger: Ledger, name: str) -> float:
    """How much of its weight a wording keeps, given how often it was heard before."""
    heard: dict[str, int] = ledger.state.setdefault("refrains", {})
    times = heard.pop(name, 0) + 1
    heard[name] = times
    if len(heard) > _MOST_REMEMBERED:
        del heard[next(iter(heard))]
    return 1.0 if times <= _FACTS_ALIKE else _SHARE


def quieten(ledger: Ledger) -> None:
    """Drop all but the latest of many sentences alike: the first could not be told by then."""
    heard = ledger.state.get("refrains", {})
    if not any(times > _FACTS_ALIKE for times in heard.values()):
        return
    left: dict[str, int] = {}
    for item in reversed([*ledger.of(kinds.FACT, status=kinds.OPEN)]):
        name = str(item.extra.get("wording", ""))
        if heard.get(name, 0) <= _FACTS_ALIKE:
            continue
        left[name] = left.get(name, 0) + 1
        if left[name] > _KEPT:
            del ledger.items[item.id]
        else:
            item.weight = min(item.weight, _SHARE)


def wording(plain: str) -> str:
    """Stands for what is left of a sentence without its figures."""
    spoken = " ".join([word for word in plain.split() if word.isalpha()])
    return f"{crc32(spoken.encode('utf-8', 'surrogatepass')):x}"
