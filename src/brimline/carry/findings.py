"""What a summary kept of the ledger: every item word for word, in other words, or not at all. Pure.

It errs towards missing: what is wrongly called missing is told once more, what is wrongly called
kept is lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from brimline.carry import card, clauses, exact, items, verdict
from brimline.carry import summary as summaries
from brimline.carry.verdict import KEPT, MISSING, PARAPHRASED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.carry.items import Item, Ledger
    from brimline.carry.likeness import Likeness
    from brimline.carry.summary import Summary

REMAINDER_OPENING = (
    "[brimline] The summary of the compaction left the following out. It was recorded word for "
    "word in this session and holds unless the user says otherwise."
)
# Of an item with several sentences this much must be there, and all that rule something out.
_LEAST_SHARE = 0.6
_MOST_SENTENCES = 40
_MOST_CHARACTERS = 6_000
_CARD_BEGINNING = 200
# A task is kept with what it is called; how to do it may follow in brackets.
_DESCRIPTION_CHARACTERS = 60
# A score of 1 is for what is there word for word.
_NEARLY = 0.99


class Finding(NamedTuple):
    """What became of one item."""

    item: Item
    verdict: str
    score: float
    why: str = ""
    """Why it is missing although its words seem to be there: negated, values, status."""
    in_card: bool = False


@dataclass(slots=True)
class Audit:
    """A summary against the ledger."""

    summary_characters: int
    measure: str
    """What compared the words: the library with its version, or our own way."""
    findings: list[Finding] = field(default_factory=list)

    def of(self, name: str) -> list[Finding]:
        """The findings of one verdict."""
        return [finding for finding in self.findings if finding.verdict == name]


def compare(summary: str, ledger: Ledger, card_text: str, measure: Likeness) -> Audit:
    """Compare a summary with what the session was known to hold."""
    parsed = summaries.parse(summary, measure)
    given = _single_spaced(card_text)
    found = Audit(len(summary), measure.name)
    for item in audited(ledger):
        in_card = _is_in_card(item, given)
        found.findings.append(_judge(item, parsed)._replace(in_card=in_card))
    return found


def audited(ledger: Ledger) -> Iterator[Item]:
    """What a summary is expected to hold: no prompts, and of the files those that were changed."""
    for item in ledger.items.values():
        only_read = item.kind == items.FILE and item.extra.get("did") == "read"
        if item.is_open and item.kind != items.PROMPT and not only_read:
            yield item


def missing_beyond_card(found: Audit) -> list[Item]:
    """What neither the summary nor the card has."""
    return [finding.item for finding in found.of(MISSING) if not finding.in_card]


def remainder(found: Audit, *, budget: int = card.BUDGET_CHARACTERS) -> str:
    """What neither has, as the text that is given back once; empty where nothing is left."""
    left = items.Ledger("")
    for item in missing_beyond_card(found):
        left.add(item)
    return card.facts(REMAINDER_OPENING, left, (), budget=budget)


def restored_by(found: Audit) -> dict[str, str]:
    """By id of what the summary left out: `card` or `remainder`, whichever gave it back."""
    told = _single_spaced(remainder(found))
    by = {}
    for finding in found.of(MISSING):
        if finding.in_card:
            by[finding.item.id] = "card"
        elif _is_in_card(finding.item, told):
            by[finding.item.id] = "remainder"
    return by


def _judge(item: Item, summary: Summary) -> Finding:
    sentences = _sentences(item)
    found = [verdict.judge(sentence, item.kind, summary) for sentence in sentences]
    if not found:
        return Finding(item, MISSING, 0.0)
    score = round(sum(one.score for one in found) / len(found), 3)
    if all(one.name == KEPT for one in found):
        return Finding(item, KEPT, score)
    pairs = zip(sentences, found, strict=True)
    lost = [(sentence, one) for sentence, one in pairs if one.name == MISSING]
    share = 1 - sum(len(sentence) for sentence, _ in lost) / sum(map(len, sentences))
    if share >= _LEAST_SHARE and not any(_is_weighty(sentence) for sentence, _ in lost):
        return Finding(item, PARAPHRASED, min(score, _NEARLY))
    why = next((one.why for _, one in lost if one.why), "")
    return Finding(item, MISSING, min(score, _NEARLY), why)


def _sentences(item: Item) -> list[str]:
    """The sentences of an item; very short ones go with the next."""
    if item.kind in (items.ANSWER, items.FILE):
        return [item.text[:_MOST_CHARACTERS]]
    text = item.text[:_MOST_CHARACTERS]
    name, _, description = text.partition(" (")
    if item.kind == items.TASK and len(description) >= _DESCRIPTION_CHARACTERS:
        text = name or text
    found: list[str] = []
    for sentence, _ in clauses.sentences(text):
        if found and _is_short(found[-1]):
            found[-1] += " " + sentence
        else:
            found.append(sentence)
    return [text for text in found if summaries.plain(text).strip()][:_MOST_SENTENCES]


def _is_short(text: str) -> bool:
    telling = [word for word in summaries.plain(text).split() if summaries.is_telling(word)]
    return len(set(telling)) < verdict.SHORT_WORDS


def _is_weighty(sentence: str) -> bool:
    """Whether a sentence may not go, however much of the rest is there."""
    return bool(clauses.is_negative(sentence) or clauses.limits(sentence) or exact.values(sentence))


def _is_in_card(item: Item, card: str) -> bool:
    """Whether the card has an item; of one whose bulk lies elsewhere, its beginning."""
    text = _single_spaced(item.text)
    if text in card:
        return True
    bulky = item.kind in (items.AGENT, items.PLAN, items.ERROR)
    return bulky and text[:_CARD_BEGINNING] in card


def _single_spaced(text: str) -> str:
    return " ".join(text.split())
