"""Which item a sentence puts an end to: the one whose content words it mentions. Pure."""

from __future__ import annotations

from brimline.carry import items as kinds
from brimline.carry import phrases, words
from brimline.carry.words import word_set

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
# An item that names several things is ended by what names so much of it, or each of them.
_OF_SEVERAL = 0.7
_PARTLY = "partly"
_OF_ONE_SENTENCE = 3
_PART_ENDS = ",;:.!?"
_PART_WORDS = word_set("and & plus then")
# What begins so goes on with the part before it.
_GOES_ON = word_set(
    "with without when if before after once because so since but as for in on at while which that"
    " please to by not too who where like from until unless okay"
)


class Closed:
    """What a sentence put an end to."""

    __slots__ = ("ending", "is_limited", "item", "was_open")

    def __init__(self, item: Item, ending: Ending) -> None:
        self.item = item
        self.ending = ending
        self.was_open = item.is_open
        """False where it had ended before."""
        self.is_limited = ending.limits(words.content(item.text))
        """Whether a rule was lifted in part, and so stands."""


def close(
    ledger: Ledger, endings: Sequence[Ending], at: str | None, *, least: float = 0.0
) -> Closed | None:
    """Mark the item that one of several readings of a sentence speaks of; None for no known one.

    The reading that fits an item best is the right one. What has ended before stays as it is, and
    so does an item of several things, until each of them has ended.

    Args:
        ledger: the ledger.
        endings: the readings.
        at: when it was said.
        least: how well it has to fit at least, whatever its wording asks for.
    """
    best, highest = None, 0.0
    for ending in endings:
        fit, item, partly = _best(ledger, ending, least)
        if item is None and partly is not None and ending.status == kinds.DONE:
            _remember(partly, ending.mention)
        if item is not None and fit > highest:
            best, highest = Closed(item, ending), fit
    if best is not None and best.was_open and not best.is_limited:
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
        if not enough or words.differ(mention - shared, asked - shared):
            continue
        if _covers(mention, item):
            end(item, status, at)
        elif status == kinds.DONE:
            _remember(item, mention)


def end(item: Item, status: str, at: str | None) -> None:
    """Mark an item as ended."""
    item.status = status
    if at:
        item.extra["ended"] = at


def _best(
    ledger: Ledger, ending: Ending, at_least: float
) -> tuple[float, Item | None, Item | None]:
    """How well which item fits, and the last one of which only a part does."""
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
    partly: Item | None = None
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
        if ending.status != kinds.SUPERSEDED and not _covers(said, item):
            partly = item if item.is_open else partly
            continue
        fit += _MEANT_BONUS * (item.kind == meant == kinds.TASK)
        # Of two that fit alike the later one is meant.
        if fit >= highest:
            best, highest = item, fit
    return highest, best, partly


def _is_about(shared: int, said: frozenset[str], content: frozenset[str]) -> bool:
    """Whether a mention is about an item that is nothing to be ended by itself."""
    return shared >= _OF_OTHERS * len(said) and shared >= _OF_ITS_WORDS * len(content)


def _covers(said: frozenset[str], item: Item) -> bool:
    """Whether a mention is of all that an item names: one part that is done leaves the others."""
    said = said.union(item.extra.get(_PARTLY, ()))
    parts = _parts(item.text)
    every = frozenset().union(*parts)
    # The sentences and list items of a goal may be joined without a mark between them.
    if len(parts) == 1 and (item.kind != kinds.GOAL or len(every) <= _OF_ONE_SENTENCE):
        return True
    if len(said & every) >= _OF_SEVERAL * len(every):
        return True
    own = [part.difference(*(other for other in parts if other is not part)) for part in parts]
    return len(parts) > 1 and all(said & part for part in own if part)


def _remember(item: Item, said: frozenset[str]) -> None:
    """Keep which words of an item were told as done."""
    told = said & words.content(item.text)
    item.extra[_PARTLY] = sorted(told.union(item.extra.get(_PARTLY, ())))


def _parts(text: str) -> list[frozenset[str]]:
    """The content words of each thing that a text names; what only says how is no part."""
    spoken: list[list[str]] = [[]]
    for word in text.split():
        if word.lower() in _PART_WORDS or _is_a_number(word):
            spoken.append([])
            continue
        spoken[-1].append(word)
        if word[-1] in _PART_ENDS:
            spoken.append([])
    found: list[frozenset[str]] = []
    for part in spoken:
        content = words.content_of(" ".join(part), phrases.CLOSING_WORDS)
        if content and not _introduces_or_goes_on(part):
            found.append(content)
    return found or [words.content(text)]


def _introduces_or_goes_on(part: list[str]) -> bool:
    return part[-1].endswith(":") or part[0].lower().rstrip(_PART_ENDS) in _GOES_ON


def _is_a_number(word: str) -> bool:
    """Whether a word numbers what follows it: `2.`, `3)`, `(4)`."""
    return word[-1] in ".)" and word.strip("().").isdigit()


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
