"""Statements that seem to contradict or repeat each other. Pure; a guess by their words."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from brimline.rules.model import CHILD
from brimline.rules.statements import normalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from brimline.rules.model import Source
    from brimline.rules.statements import Statement

_WORD = re.compile(r"[a-z0-9][a-z0-9_.+#/-]*[a-z0-9+#]|[a-z0-9]")
_NUMBER = re.compile(r"^\d[\d.,_]*(?:%|px|kb|mb|s|ms)?$")
_REFUSAL = re.compile(
    r"\b(?:never|dont|do not|must not|mustnt|should not|shouldnt|may not|cannot|cant|wont|avoid"
    r"|no|not|without|forbidden|prohibited)\b"
)
# Words that carry no subject; those that carry the refusal are read above.
_EMPTY = frozenset(
    (
        *("a", "an", "the", "and", "or", "of", "to", "in", "on", "at", "by", "for", "with", "from"),
        *("is", "are", "be", "been", "it", "its", "this", "that", "these", "those", "as", "any"),
        *("we", "you", "i", "our", "your", "all", "every", "each", "when", "if", "so", "also"),
        *("always", "must", "should", "shall", "may", "can", "will", "please", "only", "prefer"),
        *("use", "using", "used", "do", "does", "make", "sure", "ensure", "keep", "write", "have"),
        *("never", "dont", "not", "no", "avoid", "cannot", "cant", "wont", "without"),
        *("forbidden", "prohibited", "enforced", "critical", "instead", "mustnt", "shouldnt"),
    )
)
# Choices of which people take one.
_EXCLUSIVE = (
    {"tab", "space"},
    {"single", "double"},
    {"npm", "yarn", "pnpm", "bun"},
    {"pip", "poetry", "uv", "conda", "pipenv"},
    {"camelcase", "snake_case", "kebab-case", "pascalcase"},
    {"merge", "rebase", "squash"},
    {"class", "function"},
)
_SHORTEST_PLURAL = 3
_LONGEST_WORDS = 30
_LEAST_REPEATED_WORDS = 4
_LEAST_SUBJECT_WORDS = 2
_MOST_COMPARED = 50


class Clash(NamedTuple):
    """Two statements that may not both be meant; the second is nearer to the work."""

    kind: str
    first: Statement
    second: Statement


def contradictions(found: Iterable[Statement]) -> list[Clash]:
    """Pairs that refuse what the other asks for, or name another number or choice."""
    by_subject: dict[frozenset[str], list[_Claim]] = {}
    clashes: list[Clash] = []
    for statement in found:
        claim = _claim(statement)
        if claim is None:
            continue
        for subject in claim.subjects:
            others = by_subject.setdefault(subject, [])
            clashes += [
                Clash(kind, other.statement, statement)
                for other in others[:_MOST_COMPARED]
                if (kind := _contradict(other, claim)) and can_meet(other.source, claim.source)
            ]
            others.append(claim)
    return _once(clashes)


def repetitions(found: Iterable[Statement]) -> list[Clash]:
    """Statements that stand in two files in the same words."""
    by_text: dict[str, list[Statement]] = {}
    for statement in found:
        text = normalised(statement.text)
        if len(text.split()) >= _LEAST_REPEATED_WORDS:
            by_text.setdefault(text, []).append(statement)
    return [
        Clash("repeated", one, other)
        for same in by_text.values()
        for one, other in pairwise(same)
        if one.path != other.path and can_meet(one.source, other.source)
    ]


def can_meet(one: Source, other: Source) -> bool:
    """Whether two files can be before the model for one and the same file at hand."""
    if one.level != CHILD or other.level != CHILD:
        return True
    first, second = one.folder + "/", other.folder + "/"
    return first.startswith(second) or second.startswith(first)


class _Claim(NamedTuple):
    statement: Statement
    refuses: bool
    words: frozenset[str]
    numbers: frozenset[str]
    choices: frozenset[str]

    @property
    def source(self) -> Source:
        return self.statement.source

    @property
    def subject(self) -> frozenset[str]:
        """What it is about, without the number or the choice that it names."""
        return self.words - self.numbers - self.choices

    @property
    def subjects(self) -> list[frozenset[str]]:
        """Under which words it is looked for."""
        return list({self.words, self.subject} if self.subject else {self.words})


def _claim(statement: Statement) -> _Claim | None:
    text = normalised(statement.text)
    if len(text.split()) > _LONGEST_WORDS:
        return None
    words = frozenset(_stem(word) for word in _WORD.findall(text) if word not in _EMPTY)
    if not words:
        return None
    numbers = frozenset(word for word in words if _NUMBER.match(word))
    choices = frozenset(word for word in words for group in _EXCLUSIVE if word in group)
    # Two refusals are a demand: "never commit without tests".
    refuses = len(_REFUSAL.findall(text)) % 2 == 1
    return _Claim(statement, refuses, words, numbers, choices)


def _contradict(one: _Claim, other: _Claim) -> str:
    """How two claims on one subject clash, or nothing.

    Numbers and choices count between files only: within one they are as often a list.
    """
    if one.words == other.words:
        return "opposite" if one.refuses != other.refuses else ""
    if one.refuses or other.refuses or one.subject != other.subject:
        return ""
    if one.statement.path == other.statement.path:
        return ""
    if one.choices == other.choices and one.numbers and other.numbers:
        return "number" if len(one.subject) >= _LEAST_SUBJECT_WORDS else ""
    exclusive = one.choices and other.choices and not one.choices & other.choices
    same_group = any(one.choices <= group and other.choices <= group for group in _EXCLUSIVE)
    return "choice" if exclusive and same_group and one.numbers == other.numbers else ""


def _once(clashes: Sequence[Clash]) -> list[Clash]:
    seen: dict[tuple[str, int, str, int], Clash] = {}
    for clash in clashes:
        one, other = clash.first, clash.second
        seen.setdefault((one.path, one.line, other.path, other.line), clash)
    return list(seen.values())


def _stem(word: str) -> str:
    """Take a plural for its singular."""
    plural = len(word) > _SHORTEST_PLURAL and word.endswith("s") and not word.endswith("ss")
    return word[:-1] if plural else word
