"""Which item a sentence puts an end to: the one whose content words it mentions. Pure."""

from __future__ import annotations

from brimline.carry import items as kinds
from brimline.carry import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brimline.carry.items import Item, Ledger
    from brimline.carry.meaning import Ending

# By how clearly an ending is worded: how well it has to fit, and how much of it has to be about the
# item, if that is a task or a rule.
_NEEDED = {1.0: (0.6, 0.35), 0.8: (0.7, 0.4), 0.5: (0.8, 0.5)}
# And for other items: so much of the mention, and of the item's own words.
_OF_OTHERS, _OF_ITS_WORDS = 0.75, 0.5
_NEEDED_FOR_OTHERS = 0.5
_ALIKE = 0.85
# Rules that name their own end are the ones that a permission lifts.
_UNTIL = ("until", "before", "unless", "without", "ask", "wait", "hold off", "frozen", "freeze")
_UNTIL_BONUS = 0.1
# Tasks are what is done or cancelled; rules and facts only where no task fits as well.
_MEANT_BONUS = 0.15


class Closed:
    """What a sentence put an end to."""

    __slots__ = ("ending", "item", "was_open")

    def __init__(self, item: Item, ending: Ending) -> None:
        self.item = item
        self.ending = ending
        self.was_open = item.is_open
        """False where it had ended before."""


def close(
    ledger: Ledger, endings: Sequence[Ending], at: str | None, *, least: float = 0.0
) -> Closed | None:
    """Mark the item that one of several readings of a sentence speaks of; None for no known one.

    The reading that fits an item best is the right one. What has ended before stays as it is.

    Args:
        ledger: the ledger.
        endings: the readings.
        at: when it was said.
        least: how well it has to fit at least, whatever its wording asks for.
    """
    best, highest = None, 0.0
    for ending in endings:
        fit, item = _best(ledger, ending, least)
        if item is not None and fit > highest:
            best, highest = Closed(item, ending), fit
    if best is not None and best.was_open:
        end(best.item, _status(best.item, best.ending.status), at)
        if best.item.kind in (kinds.TASK, kinds.FACT):
            close_alike(ledger, best.item.text, best.item.status, at)
    return best


def close_alike(ledger: Ledger, text: str, status: str, at: str | None) -> None:
    """End what the user asked for in other words, once a task of the same content is ended."""
    mention = words.content(text)
    for item in ledger.of(kinds.TASK, kinds.FACT, kinds.GOAL, status=kinds.OPEN):
        if item.source != kinds.USER or "id" in item.extra:
            continue
        asked = words.content(item.text)
        shared = mention & asked
        enough = len(shared) > 1 and len(shared) >= _ALIKE * min(len(mention), len(asked))
        if enough and not words.differ(mention - shared, asked - shared):
            end(item, status, at)


def end(item: Item, status: str, at: str | None) -> None:
    """Mark an item as ended."""
    item.status = status
    if at:
        item.extra["ended"] = at


def _best(ledger: Ledger, ending: Ending, at_least: float) -> tuple[float, Item | None]:
    said = ending.mention
    touched = []
    known: set[str] = set()
    for item in _candidates(ledger, ending):
        content = words.content(item.text)
        shared = said & content
        if shared:
            known |= shared
            touched.append((item, content, len(shared)))
    least, share = _NEEDED[ending.strength]
    meant = kinds.CONSTRAINT if ending.status == kinds.SUPERSEDED else kinds.TASK
    best: Item | None = None
    highest = 0.0
    for item, content, shared_words in touched:
        fit = words.fit(said, content, len(known))
        if meant == kinds.CONSTRAINT:
            fit += _UNTIL_BONUS if _has_an_end(item) else -_UNTIL_BONUS * (ending.strength < 1)
        if fit < max(least, at_least):
            continue
        if item.kind == meant and shared_words < share * len(said):
            continue
        if item.kind != meant and not _is_about(shared_words, said, content):
            continue
        fit += _MEANT_BONUS * (item.kind == meant == kinds.TASK)
        # Of two that fit alike the later one is meant.
        if fit >= highest:
            best, highest = item, fit
    return highest, best


def _is_about(shared: int, said: frozenset[str], content: frozenset[str]) -> bool:
    """Whether a mention is about an item that is nothing to be ended by itself."""
    return shared >= _OF_OTHERS * len(said) and shared >= _OF_ITS_WORDS * len(content)


def _candidates(ledger: Ledger, ending: Ending) -> Iterator[Item]:
    """What may be meant; among it what has ended before, which is then ended twice."""
    if ending.status == kinds.SUPERSEDED:
        yield from ledger.of(kinds.CONSTRAINT)
        return
    wanted = [kinds.TASK]
    if ending.strength > _NEEDED_FOR_OTHERS:
        wanted += [kinds.GOAL, kinds.FACT]
    if ending.strength == 1 and ending.status == kinds.CANCELLED:
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
