"""Which of the candidates of a search comes first. Pure; numpy only where there are vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# What each way of finding counts; confirmed on the questions of `benchmarks/memory.py`.
_MEANING, _WORDS, _PAIR = 0.4, 0.36, 0.24
# What a related word counts, where one of the question's own counts 1.
RELATED = 0.4
# What an entry gets of the scores of its neighbours, and of the vector of the one before it.
_NEIGHBOUR = 0.15
_BEFORE = 0.6
_AT_ONCE = 4_096


class Found(NamedTuple):
    """How well an entry fits: by its words, with those of the one before it, by its meaning."""

    words: float = 0.0
    pair: float = 0.0
    meaning: float = 0.0


def fuse_scores(found: Mapping[int, Found], before: Mapping[int, object]) -> dict[int, float]:
    """One score per candidate: each kind between 0 and 1, added up, then the neighbours' share.

    Args:
        found: the candidates.
        before: the entry before each in its session.
    """
    kinds = zip((_WORDS, _PAIR, _MEANING), zip(*found.values(), strict=True), strict=False)
    scores = dict.fromkeys(found, 0.0)
    for weight, values in kinds:
        low, high = min(values), max(values)
        for key, value in zip(found, values, strict=True):
            scores[key] += weight * (value - low) / ((high - low) or 1.0)
    total = dict(scores)
    for key, previous in before.items():
        if previous in scores:
            total[key] += _NEIGHBOUR * scores[previous]
            total[previous] += _NEIGHBOUR * scores[key]
    return total


def pack_entry_records(known: Sequence[tuple[int, int, int]], own: Any, before: Any) -> list[bytes]:
    """Return what is kept of each entry: which one is before it, its project, its vector in int8.

    Args:
        known: the number of each entry, of the one before it and of its project.
        own: their vectors.
        before: the vectors of the entries before them.
    """
    import numpy as np

    made = np.zeros(len(own), _numpy_type_of_record(own.shape[1]))
    made["id"], made["before"], made["project"] = np.array(known, np.int32).T
    largest = np.maximum(np.abs(own).max(axis=1), 1e-9)
    made["values"] = np.rint(own * (127 / largest)[:, None])
    made["scale"] = largest / 127
    # The length of own + 0.6 before, which the sum of their cosines is divided by.
    made["length"] = np.linalg.norm(own + _BEFORE * before, axis=1)
    return [row.tobytes() for row in made]


def blend_vectors_with_previous(own: Any, before: Any) -> Any:
    """One vector per entry, whose product with a query is what `nearest_scores` adds up."""
    import numpy as np

    both = own + _BEFORE * before
    return own + both / np.maximum(np.linalg.norm(both, axis=1), 1e-9)[:, None]


class Vectors:
    """All vectors of a memory."""

    def __init__(
        self, blocks: Iterable[tuple[int, bytes]], last: int | None, block_size: int, size: int
    ) -> None:
        """Take the blocks up to the last one, each of so many records of so many bytes."""
        import numpy as np

        self._count = 0 if last is None else (last + 1) * block_size
        kind = _numpy_type_of_record(max(0, size - _numpy_type_of_record(0).itemsize))
        self._all = np.zeros(self._count, kind)
        for number, raw in blocks:
            start = number * block_size
            self._all[start : start + block_size] = np.frombuffer(raw, kind)

    def nearest_scores(
        self, vector: Any, projects: Sequence[int] | None, limit: int, also: Sequence[int]
    ) -> dict[int, float]:
        """Cosine of the entry plus that of it and the one before: of the nearest, and some more."""
        import numpy as np

        if not self._count:
            return {}
        cosine = self.cosines_of_all(vector)
        length = np.maximum(self._all["length"], 1e-9)
        # One that a damaged file names may not be there.
        before = np.clip(self._all["before"], 0, self._count - 1)
        total = cosine + (cosine + _BEFORE * cosine[before]) / length
        meant = self._all["id"] > 0
        if projects is not None:
            meant &= np.isin(self._all["project"], projects)
        total[~meant] = -np.inf
        best = np.argpartition(-total, min(limit, self._count - 1))[:limit]
        chosen = {*best.tolist(), *(key for key in also if key < self._count)}
        return {key: float(total[key]) for key in chosen if meant[key]}

    def cosines_of_all(self, vector: Any) -> Any:
        """The cosine of every entry."""
        import numpy as np

        cosine = np.zeros(self._count, np.float32)
        for start in range(0, self._count, _AT_ONCE):
            part = self._all["values"][start : start + _AT_ONCE].astype(np.float32)
            # Not `@`, which keeps all processors busy with waiting for each other.
            cosine[start : start + _AT_ONCE] = np.einsum("ij,j->i", part, vector)
        return cosine * self._all["scale"]


def _numpy_type_of_record(dimensions: int) -> Any:
    import numpy as np

    numbers = [(name, "<i4") for name in ("id", "before", "project")]
    sizes = [(name, "<f4") for name in ("scale", "length")]
    return np.dtype([*numbers, *sizes, ("values", "i1", (dimensions,))])
