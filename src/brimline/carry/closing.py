"""Which item a sentence puts an end to: the one whose content words it mentions. Pure."""

from __future__ import annotations

from brimline.carry import items as kinds
from brimline.carry import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.carry.items import Item, Ledger
    from brimline.carry.meaning import Ending

SURE, LIKELY = 0.6, 0.75
_OF_A_TASK, _OF_OTHERS = 0.35, 0.75
# Rules that name their own end are the ones that a permission lifts.
_UNTIL = ("until", "before", "unless", "without", "ask", "wait", "hold off", "frozen", "freeze")
_UNTIL_BONUS = 0.1


def close(
    ledger: Ledger, ending: Ending, at: str | None, *, least: float | None = None
) -> Item | None:
    """Mark the item that an ending speaks of; None where it speaks of none that is known.

    Args:
        ledger: the ledger.
        ending: what was said to have ended.
        at: when it was said.
        least: how well it has to fit; None for what is usual.
    """
    found = _best(ledger, ending, least or (SURE if ending.is_sure else LIKELY))
    if found is None or not found.is_open:
        return found
    end(found, _status(found, ending.status), at)
    if found.kind == kinds.TASK:
        close_alike(ledger, found.text, found.status, at)
    return found


def close_alike(ledger: Ledger, text: str, status: str, at: str | None) -> None:
    """End what the user asked for in other words, once a task of the same content is ended."""
    mention = words.content(text)
    for item in ledger.of(kinds.TASK, kinds.FACT, kinds.GOAL, status=kinds.OPEN):
        if item.source != kinds.USER or "id" in item.extra:
            continue
        asked = words.content(item.text)
        shared = len(mention & asked)
        if shared > 1 and shared >= LIKELY * min(len(mention), len(asked)):
            end(item, status, at)


def end(item: Item, status: str, at: str | None) -> None:
    """Mark an item as ended."""
    item.status = status
    if at:
        item.extra["ended"] = at


def _best(ledger: Ledger, ending: Ending, least: float) -> Item | None:
    candidates = [(item, words.content(item.text)) for item in _candidates(ledger, ending)]
    if not ending.mention or not candidates:
        return None
    known = frozenset[str]().union(*(content for _, content in candidates))
    best, highest = None, 0.0
    for item, content in candidates:
        fit = words.fit(ending.mention, content, known)
        if fit and ending.status == kinds.SUPERSEDED and _has_an_end(item):
            fit += _UNTIL_BONUS
        # Of two that fit alike the later one is meant.
        if fit >= max(highest, least) and _is_covered(item, content, ending):
            best, highest = item, fit
    return best


def _is_covered(item: Item, content: frozenset[str], ending: Ending) -> bool:
    """Whether enough of what was said is about the item: only tasks are there to be ended."""
    share = len(ending.mention & content) / len(ending.mention)
    return share >= (_OF_A_TASK if item.kind in (kinds.TASK, kinds.CONSTRAINT) else _OF_OTHERS)


def _candidates(ledger: Ledger, ending: Ending) -> Iterator[Item]:
    """What may be meant; among it what has ended before, which is then ended twice."""
    if ending.status == kinds.SUPERSEDED:
        yield from ledger.of(kinds.CONSTRAINT)
        return
    wanted = [kinds.TASK, kinds.GOAL, kinds.FACT]
    if ending.status == kinds.CANCELLED:
        wanted += [kinds.CONSTRAINT, kinds.DECISION, kinds.PLAN]
    for item in ledger.of(*wanted):
        if item.kind != kinds.FACT or item.source == kinds.USER:
            yield item


def _has_an_end(item: Item) -> bool:
    text = words.plain(item.text)
    return any(f" {word} " in text for word in _UNTIL)


def _status(item: Item, status: str) -> str:
    if item.kind in (kinds.CONSTRAINT, kinds.DECISION):
        return kinds.SUPERSEDED
    return status
