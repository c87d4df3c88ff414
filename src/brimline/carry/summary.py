"""A summary taken apart for the audit: sentences, their words, what they affirm, figures. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from brimline.carry import clauses, exact, lexicon

if TYPE_CHECKING:
    from brimline.carry.likeness import Likeness

_ANALYSIS = re.compile(r"<analysis>.*?(?:</analysis>|\Z)", re.DOTALL)
_BODY = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL)
_RULES_OUT = re.compile(
    r"\b(?:reject(?:ed)?|ruled out|discarded|abandoned|do not|don't|not to|never|forbidden|avoid"
    r"|off limits|prohibited)\b",
    re.IGNORECASE,
)
_UNIT = re.compile(r"(?<=\d)(?=(?:ms|s|sec|min|h|kb|mb|gb|k|px)\b)", re.IGNORECASE)
# Several times the longest summary that was ever seen.
_MOST_CHARACTERS = 200_000
_COMMON_WEIGHT = 0.35
# A word in more passages than this begins to tell less.
_TELLING_PASSAGES = 4


class Clause(NamedTuple):
    """The roots of the telling words of a clause, and whether it is for or against them."""

    roots: frozenset[str]
    direction: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence of the summary, or two that follow each other."""

    text: str
    plain: str
    heading: str
    directions: dict[str, str]
    """Of each telling root, all that it is: for, against, on a condition."""
    numbers: frozenset[str]
    sentences: int = 1


@dataclass(slots=True)
class Summary:
    """What the model wrote, ready to be searched."""

    measure: Likeness
    passages: list[Passage] = field(default_factory=list)
    by_word: dict[str, set[int]] = field(default_factory=dict)
    """The numbers of the passages that have a root."""
    vocabulary: list[str] = field(default_factory=list)
    alike: dict[str, list[str]] = field(default_factory=dict)

    def near(self, word: str) -> list[str]:
        """The words of the summary that are nearly this one."""
        if word not in self.alike:
            found = self.measure.search(word, self.vocabulary) if word.isalpha() else []
            self.alike[word] = found
        return self.alike[word]

    def counterpart(self, word: str, passage: Passage) -> str | None:
        """The word of a passage that stands for a word."""
        if word in passage.directions:
            return word
        return next((other for other in self.near(word) if other in passage.directions), None)

    def weight(self, word: str) -> float:
        """How much a word tells: little if it is common, or all over the summary."""
        if word in lexicon.COMMON:
            return _COMMON_WEIGHT
        passages = len(self.by_word.get(word, ()))
        return 1.0 / (1.0 + max(0.0, math.log2((passages + 1) / _TELLING_PASSAGES)))


def parse(raw: str, measure: Likeness) -> Summary:
    """Take a summary apart."""
    found = Summary(measure)
    single = [
        _passage(text, heading) for text, heading in clauses.sentences(body(raw)[:_MOST_CHARACTERS])
    ]
    for at, passage in enumerate(single):
        found.passages.append(passage)
        if at + 1 < len(single):
            found.passages.append(_pair(passage, single[at + 1]))
    for number, passage in enumerate(found.passages):
        for word in passage.directions:
            found.by_word.setdefault(word, set()).add(number)
    found.vocabulary = list(found.by_word)
    return found


def body(raw: str) -> str:
    """What of the model's answer goes on into the next request."""
    found = _BODY.search(raw)
    return (found[1] if found else _ANALYSIS.sub("", raw)).strip()


def plain(text: str) -> str:
    """The words of a text in lower case; a figure and its unit are two."""
    return lexicon.plain(_UNIT.sub(" ", text))


def clauses_of(text: str, *, against: bool = False) -> list[Clause]:
    """The clauses of a sentence by what their words are compared by."""
    return [
        Clause(frozenset([lexicon.root(word) for word in clause if is_telling(word)]), direction)
        for clause, direction in clauses.clauses(_UNIT.sub(" ", text), against=against)
    ]


def is_telling(word: str) -> bool:
    """Whether a word carries meaning by itself."""
    return word not in lexicon.FUNCTION_WORDS


def directions(found: list[Clause]) -> dict[str, str]:
    """What each root of some clauses is; of one that is several things, all of them."""
    marks: dict[str, str] = {}
    for clause in found:
        for word in clause.roots:
            if clause.direction not in marks.get(word, ""):
                marks[word] = marks.get(word, "") + clause.direction
    return marks


def _passage(text: str, heading: str) -> Passage:
    against = bool(_RULES_OUT.search(heading)) and heading not in text
    marks = directions(clauses_of(text, against=against))
    return Passage(text, plain(text), heading, marks, exact.numbers(text))


def _pair(first: Passage, second: Passage) -> Passage:
    both = {
        word: first.directions.get(word, "") + second.directions.get(word, "")
        for word in first.directions | second.directions
    }
    return Passage(
        f"{first.text}\n{second.text}",
        first.plain.rstrip() + second.plain,
        second.heading,
        both,
        first.numbers | second.numbers,
        sentences=2,
    )
