"""The floor of the search: an entry below it is about something else, and no hit.

What counts is the share of the question's words that an entry, or the one before it, holds, each
word by how rare it is here: one that nothing here holds weighs most. To it comes how close the
meaning is. The limits were chosen on the questions of `benchmarks/memory.py`, none of which they
cost an answer, and on thirty about other things.
"""

from __future__ import annotations

import contextlib
import math
import sqlite3
from typing import TYPE_CHECKING

from brimline.search.ranking import CLOSEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# With vectors, and by words alone.
LEAST, LEAST_BY_WORDS = 0.45, 0.25
_MEANING = 0.4
TOKENS = "tokenize='porter unicode61 remove_diacritics 2'"
# In a small memory every word is in a large part of the entries, and tells as much as elsewhere.
_FEW = 1_000
_COUNTS = "SELECT (SELECT count(*) FROM entries), count(*) FROM turns WHERE turns MATCH ?"


def above(
    connection: sqlite3.Connection,
    words: Sequence[str],
    texts: Mapping[int, str],
    meanings: Mapping[int, float],
) -> set[int]:
    """The candidates that are about what was asked for.

    Args:
        connection: the search, which knows how rare a word is.
        words: those of the question that tell what is sought.
        texts: each candidate with the entry before it.
        meanings: how close each is to the question; none by words alone.
    """
    ratios = _ratios({word: _weight(connection, word) for word in words}, texts)
    if not meanings:
        return {key for key, ratio in ratios.items() if ratio >= LEAST_BY_WORDS}
    closeness = {key: meanings.get(key, 0.0) / CLOSEST for key in ratios}
    return {key for key, ratio in ratios.items() if ratio + _MEANING * closeness[key] >= LEAST}


def _weight(connection: sqlite3.Connection, word: str) -> float:
    """How much a word tells: little where many entries have it."""
    total, holding = connection.execute(_COUNTS, (f'"{word}"',)).fetchone()
    return math.log(1 + (max(total, _FEW) - holding + 0.5) / (holding + 0.5))


def _ratios(weights: Mapping[str, float], texts: Mapping[int, str]) -> dict[int, float]:
    """Of each text the share of the words' weight that it holds."""
    ratios = dict.fromkeys(texts, 0.0)
    whole = sum(weights.values()) or 1.0
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.execute(f"CREATE VIRTUAL TABLE held USING fts5(text, {TOKENS})")
        base.executemany("INSERT INTO held (rowid, text) VALUES (?, ?)", texts.items())
        for word, weight in weights.items():
            question = "SELECT rowid FROM held WHERE held MATCH ?"
            for (key,) in base.execute(question, (f'"{word}"',)):
                ratios[key] += weight / whole
    return ratios
