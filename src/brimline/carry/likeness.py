"""Which words are nearly the same: by `rapidfuzz` where it is there, else by their beginnings.

A hook starts without third-party libraries; its caller makes them importable first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OWN = "common beginnings"
# With the labelled items of the tests: `deploy` and `deployments` are alike, and so are words with
# two letters swapped; `import` and `export` are not.
_LEAST_RATIO = 75.0
_MOST_FOUND = 12
_SHARED_LETTERS = 4


class Likeness(NamedTuple):
    """A way to find the words of a vocabulary that are like another, and its name for the record.

    The name is written into every audit.
    """

    name: str
    search: Callable[[str, Sequence[str]], list[str]]


def best() -> Likeness:
    """The library where it is there, else our own way."""
    try:
        import rapidfuzz
        from rapidfuzz import fuzz, process
    except ImportError:
        return own()

    def search(word: str, vocabulary: Sequence[str]) -> list[str]:
        found = process.extract(
            word, vocabulary, scorer=fuzz.ratio, score_cutoff=_LEAST_RATIO, limit=_MOST_FOUND
        )
        return [other for other, _, _ in found if _may_be_alike(word, other)]

    return Likeness(f"rapidfuzz {rapidfuzz.__version__}", search)


def own() -> Likeness:
    """Without a library: words that begin alike."""

    def search(word: str, vocabulary: Sequence[str]) -> list[str]:
        return [other for other in vocabulary if _begins_alike(word, other)]

    return Likeness(OWN, search)


def _may_be_alike(word: str, other: str) -> bool:
    """Figures and short words are different words when one character differs."""
    if not other.isalpha() or min(len(word), len(other)) < _SHARED_LETTERS:
        return False
    return word[:2] == other[:2]


def _begins_alike(word: str, other: str) -> bool:
    if not _may_be_alike(word, other):
        return False
    shorter, longer = sorted((word, other), key=len)
    beginning = shorter[: max(_SHARED_LETTERS, len(shorter) - 1)]
    return longer.startswith(beginning) and len(longer) <= 2 * len(shorter)
