"""Whether one sentence of an item is in a summary: in its words, in others, or not. Pure.

A sentence that is there in all its words is still missing when the summary says the opposite of it,
has another figure or name in it, or calls it done.
"""

from __future__ import annotations

import math
import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from brimline.carry import clauses, exact, items, lexicon
from brimline.carry import summary as summaries

if TYPE_CHECKING:
    from brimline.carry.summary import Clause, Passage, Summary

KEPT, PARAPHRASED, MISSING = "kept", "paraphrased", "missing"
VERDICTS = (KEPT, PARAPHRASED, MISSING)
# Why a sentence that seems to be there counts as missing.
NEGATED, VALUES, STATUS = "negated", "values", "status"

# The following were set with the labelled items of the tests, so that no wrong one passes.
_LEAST_SCORE = 0.62
_LEAST_SHORT_SCORE = 0.9
SHORT_WORDS = 3
_LESS_PER_VALUE = 0.1
_MOST_VALUES = 2
_MORE_FOR_TWO = 0.15
_ROOTS_FOR_TWO = 6
_FEW_SHARED = 2
_CANDIDATES = 10
_LARGEST_ALIGNMENT = 8_000
_DONE = re.compile(
    r"\b(?:done|completed?|finished|resolved|merged|fixed)\b|[✓✔✅☑]|\[x\]", re.IGNORECASE
)
_PENDING = re.compile(
    r"\b(?:pending|open|todo|to do|remaining|next|not|in progress|still|needs?|must|should)\b",
    re.IGNORECASE,
)
_FROM_TO = re.compile(r" from (\S+)(?: \S+){0,2} to (\S+) ")


class Verdict(NamedTuple):
    """What became of a sentence; the score is how much of it was found in one place, 0 to 1."""

    name: str
    score: float
    why: str = ""


class _Wanted(NamedTuple):
    """A sentence, ready to be looked for."""

    text: str
    plain: str
    kind: str
    clauses: list[Clause]
    values: exact.Values

    @property
    def roots(self) -> frozenset[str]:
        return frozenset(root for clause in self.clauses for root in clause.roots)


def judge(text: str, kind: str, summary: Summary) -> Verdict:
    """Look for a sentence of an item of some kind."""
    values = exact.values(text)
    parts = summaries.clauses_of(_without_folders(text, values))
    wanted = _Wanted(text, summaries.plain(text), kind, parts, values)
    passages = _candidates(wanted, summary)
    found = [_compared(wanted, one, summary) for one in passages if one.sentences == 1]
    contradicted = any(one.why for one in found)
    # What one sentence says otherwise, another beside it does not make right.
    found += [
        _compared(wanted, pair, summary)
        for pair in passages
        if pair.sentences > 1 and (not contradicted or wanted.plain in pair.plain)
    ]
    return max(found, key=_rank, default=Verdict(MISSING, 0.0))


def _without_folders(text: str, values: exact.Values) -> str:
    """The words of a path are not words of the sentence; its last part stands for it."""
    for name in values.names:
        if "/" in name.strip("/"):
            text = text.replace(name, name.rstrip("/").rpartition("/")[2])
    return text


def _rank(verdict: Verdict) -> tuple[int, float]:
    return -VERDICTS.index(verdict.name), verdict.score


def _candidates(wanted: _Wanted, summary: Summary) -> list[Passage]:
    """The passages that share most with a sentence."""
    weights: dict[int, float] = {}
    for word in wanted.roots:
        weight = summary.weight(word)
        for other in {word, *summary.near(word)}:
            for number in summary.by_word.get(other, ()):
                weights[number] = weights.get(number, 0.0) + weight
    ranked = sorted(weights, key=lambda number: (-weights[number], number))
    return [summary.passages[number] for number in ranked[:_CANDIDATES]]


def _compared(wanted: _Wanted, passage: Passage, summary: Summary) -> Verdict:
    score = _coverage(wanted, passage, summary)
    verbatim = wanted.plain in passage.plain
    if not verbatim and score < _least_score(wanted, passage):
        return Verdict(MISSING, score)
    why = _objection(wanted, passage, summary, verbatim=verbatim)
    return Verdict(MISSING if why else KEPT if verbatim else PARAPHRASED, score, why)


def _coverage(wanted: _Wanted, passage: Passage, summary: Summary) -> float:
    """How much of what a sentence says is in a passage."""
    weights = {word: summary.weight(word) for word in wanted.roots}
    there = [weight for word, weight in weights.items() if summary.counterpart(word, passage)]
    return round(sum(there) / sum(weights.values()), 3) if weights else 0.0


def _least_score(wanted: _Wanted, passage: Passage) -> float:
    """How much must be there: of few words nearly all, beside exact values less of the rest."""
    if passage.sentences > 1 and len(wanted.roots) < _ROOTS_FOR_TWO:
        return math.inf  # few words are found in two sentences by chance
    if len(wanted.roots) <= SHORT_WORDS:
        return _LEAST_SHORT_SCORE
    values = min(len(wanted.values.names) + len(wanted.values.numbers), _MOST_VALUES)
    return _LEAST_SCORE - values * _LESS_PER_VALUE + _MORE_FOR_TWO * (passage.sentences - 1)


def _objection(wanted: _Wanted, passage: Passage, summary: Summary, *, verbatim: bool) -> str:
    """Why a passage does not say the same although it has the words; empty where it does."""
    if wanted.kind != items.ERROR and _is_turned(wanted, passage, summary, verbatim=verbatim):
        return NEGATED
    if _values_lost(wanted.values, passage, verbatim=verbatim):
        return VALUES
    if not verbatim and _has_another_word(wanted.plain, passage, summary):
        return VALUES
    if wanted.kind == items.TASK and _is_said_to_be_done(wanted.text, passage):
        return STATUS
    return ""


def _is_turned(wanted: _Wanted, passage: Passage, summary: Summary, *, verbatim: bool) -> bool:
    marks = summaries.directions(wanted.clauses)
    rules_out = wanted.kind == items.REJECTED and not verbatim
    if (rules_out or _rules_something_out(marks)) and not _rules_something_out(passage.directions):
        return True
    if _limit_lost(wanted.text, passage) or _is_reversed(wanted.plain, passage):
        return True
    return any(
        _clause_is_turned(clause, marks, passage, summary, verbatim=verbatim)
        for clause in wanted.clauses
    )


def _rules_something_out(marks: dict[str, str]) -> bool:
    return any(set(mark) - {clauses.FOR} for mark in marks.values())


def _clause_is_turned(
    clause: Clause, marks: dict[str, str], passage: Passage, summary: Summary, *, verbatim: bool
) -> bool:
    """Whether a passage says the opposite of a clause that it has words of."""
    pairs = [(word, summary.counterpart(word, passage)) for word in clause.roots]
    shared = [(marks[word], passage.directions[other]) for word, other in pairs if other]
    # Words that are one thing in both places tell more than those that are several.
    telling = [pair for pair in shared if max(map(len, pair)) == 1] or shared
    turned = sum(not _agree(*pair, verbatim=verbatim) for pair in telling)
    if turned and (turned * 2 > len(telling) or len(telling) <= _FEW_SHARED):
        return True
    return any(_is_opposed(word, marks[word], passage) for word, other in pairs if not other)


def _agree(marks: str, others: str, *, verbatim: bool) -> bool:
    """Whether a word is meant alike in two places.

    In a passage that has the very words, what else it says of them does not matter; elsewhere a
    word that is affirmed anywhere is not ruled out.
    """
    if verbatim and set(marks) & set(others):
        return True
    return (clauses.FOR in marks) == (clauses.FOR in others)


def _is_opposed(word: str, marks: str, passage: Passage) -> bool:
    """Whether a passage has `enable` where the sentence has `disable`."""
    return any(
        _agree(marks, passage.directions[opposite], verbatim=False)
        for opposite in lexicon.opposites(word) & passage.directions.keys()
    )


def _limit_lost(text: str, passage: Passage) -> bool:
    """Whether `only` or `at most` was dropped, which turns a limit into a permission."""
    lost = clauses.limits(text) - clauses.limits(passage.text)
    return bool(lost) and not clauses.is_negative(passage.text)


def _is_reversed(plain: str, passage: Passage) -> bool:
    """Whether `from REST to gRPC` became `from gRPC to REST`."""
    theirs = {match.groups() for match in _FROM_TO.finditer(passage.plain)}
    return any((match[2], match[1]) in theirs for match in _FROM_TO.finditer(plain))


def _values_lost(wanted: exact.Values, passage: Passage, *, verbatim: bool) -> bool:
    """Whether a path, name or figure is not there as it was; folders of a path may be cut off."""
    lost = [name for name in wanted.names if not exact.has_name(passage.text, name)]
    if lost and (verbatim or not all(exact.has_end_of_path(passage.text, name) for name in lost)):
        return True
    return not wanted.numbers <= passage.numbers


def _has_another_word(plain: str, passage: Passage, summary: Summary) -> bool:
    """Whether a passage is the sentence with one word for another: `invoices` for `orders`."""
    ours, theirs = plain.split(), passage.plain.split()
    if len(ours) * len(theirs) > _LARGEST_ALIGNMENT:
        return False  # of a long sentence one word is little, and aligning it takes long
    steps = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    return any(
        _is_another(ours[begin], theirs[other_begin], summary)
        for step, begin, end, other_begin, other_end in steps
        if step == "replace" and end - begin == other_end - other_begin == 1
    )


def _is_another(word: str, other: str, summary: Summary) -> bool:
    if not summaries.is_telling(word) or not summaries.is_telling(other):
        return False
    root, other_root = lexicon.root(word), lexicon.root(other)
    if root in lexicon.COMMON or other_root in lexicon.COMMON:
        return False
    return other_root not in (root, *summary.near(root))


def _is_said_to_be_done(text: str, passage: Passage) -> bool:
    told = f"{passage.heading}\n{passage.text}"
    return bool(_DONE.search(told)) and not _DONE.search(text) and not _PENDING.search(told)
