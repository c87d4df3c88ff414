"""Which of the candidates of a search comes first, and which are hits. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from brimline.recall.record import Hit

    # A number here, a name on a server.
    Key = Any

# What the words of an entry count, and those of it and the one before; and, where one of the
# question's own words counts 1, what another form of it does. Seen on `benchmarks/memory.py`.
_WORDS, _PAIR, _FORM = 0.5, 0.5, 0.4
# What an entry gets of the scores of its neighbours, and for the share of the question it holds.
_NEIGHBOUR, _HELD = 0.15, 0.3
# How much of a question one of the first hits holds, and every one; one that holds it all is a hit.
_ONE_OF_FIRST, _EVERY, _ALL = 0.42, 0.15, 0.999
_FIRST = 5
# Texts that have so much of their words in common are copies of each other.
_SAME = 0.8
_WORD = re.compile(r"\w+")


class Found(NamedTuple):
    """How well an entry fits: by its words, and by them with those of the one before it."""

    words: float = 0.0
    pair: float = 0.0

    def with_forms(self, forms: Found) -> Found:
        """The same with what other forms of the words add."""
        return Found(self.words + _FORM * forms.words, self.pair + _FORM * forms.pair)


def fuse_scores(found: Mapping[Key, tuple[Found, object]]) -> dict[Key, float]:
    """One score per candidate: each kind between 0 and 1, added up, then the neighbours' share.

    Args:
        found: how well each fits, and the one before it in its session.
    """
    scores = dict.fromkeys(found, 0.0)
    kinds = zip(*[fit for fit, _ in found.values()], strict=True)
    for weight, values in zip((_WORDS, _PAIR), kinds, strict=False):
        low, high = min(values), max(values)
        for key, value in zip(found, values, strict=True):
            scores[key] += weight * (value - low) / ((high - low) or 1.0)
    total = dict(scores)
    for key, (_, before) in found.items():
        if before in scores:
            total[key] += _NEIGHBOUR * scores[before]
            total[before] += _NEIGHBOUR * scores[key]
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def best_first(hits: Iterable[Hit], shares: Iterable[float]) -> list[tuple[Hit, float]]:
    """The hits by their scores and by the share that each holds of the question."""
    both = zip(hits, shares, strict=True)
    scored = [(hit._replace(score=hit.score + _HELD * share), share) for hit, share in both]
    return sorted(scored, key=lambda one: -one[0].score)


def above_floor(found: Sequence[tuple[Hit, float]]) -> list[Hit]:
    """Those that are hits; none where the question is about something else."""
    shares = [share for _, share in found]
    if max(shares[:_FIRST], default=0.0) < _ONE_OF_FIRST and max(shares, default=0.0) < _ALL:
        return []
    return [hit for hit, share in found if share >= _EVERY]


def one_of_each(hits: Iterable[Hit]) -> Iterator[Hit]:
    """The first part of each text that was taken in by parts (`id#2`), and of copies the first."""
    names: set[str] = set()
    texts: list[frozenset[str]] = []
    for hit in hits:
        name, _, _ = hit.id.partition("#")
        words = frozenset(_WORD.findall(hit.record.text.casefold()))
        if name not in names and not any(_are_copies(words, other) for other in texts):
            texts.append(words)
            yield hit
        names.add(name)


def _are_copies(one: frozenset[str], other: frozenset[str]) -> bool:
    fewer, more = sorted((len(one), len(other)))
    return fewer >= _SAME * more and len(one & other) >= _SAME * len(one | other)
