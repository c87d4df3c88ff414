"""The floor of the search: what is below it is about something else, and no hit.

What counts is the share of the question's words that an entry holds, together with the one before
it; half of a word's weight is the same for all, half is how rare it is here. Meaning told no more,
on questions about work and about conversations, asked of memories with the answer and without.
"""

from __future__ import annotations

import contextlib
import math
import sqlite3
import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What one of the first hits reaches, and what every hit does.
_ONE_OF_FIRST, _EVERY = 0.38, 0.15
_FIRST = 5
TOKENS = "tokenize='porter unicode61 remove_diacritics 2'"
# In a small memory every word is in a large part of the entries, and tells as much as elsewhere.
_FEW = 1_000
# Beside the words of a question that tell nothing, those that tell little.
_SLIGHT = frozenset(
    """also anything get gets go goes going gone got here just kind made make makes need needs no
    nobody not now one put some someone something still thing things us use used uses using want
    wanted wants way""".split()  # noqa: SIM905 - easier to read and to change
)
_COUNTS = "SELECT (SELECT count(*) FROM entries), count(*) FROM turns WHERE turns MATCH ?"


def above(
    connection: sqlite3.Connection, words: Sequence[str], texts: Mapping[int, str]
) -> list[int]:
    """Those of the candidates that are hits; none where the question is about something else.

    Args:
        connection: the search, which knows how rare a word is.
        words: those of the question that tell what is sought.
        texts: each candidate with the entry before it, the best first.
    """
    if not words:
        return []
    weighty = [word for word in words if word.lower() not in _SLIGHT] or words
    rarities = {word: _rarity(connection, word) for word in weighty}
    usual = statistics.mean(rarities.values())
    shares = _shares({word: usual + rarity for word, rarity in rarities.items()}, texts)
    if max([*shares.values()][:_FIRST], default=0.0) < _ONE_OF_FIRST:
        return []
    return [key for key, share in shares.items() if share >= _EVERY]


def _rarity(connection: sqlite3.Connection, word: str) -> float:
    """How much a word tells: little where many entries have it."""
    total, holding = connection.execute(_COUNTS, (f'"{word}"',)).fetchone()
    return math.log(1 + (max(total, _FEW) - holding + 0.5) / (holding + 0.5))


def _shares(weights: Mapping[str, float], texts: Mapping[int, str]) -> dict[int, float]:
    """Of each text the share of the words' weight that it holds."""
    shares = dict.fromkeys(texts, 0.0)
    whole = sum(weights.values())
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.execute(f"CREATE VIRTUAL TABLE held USING fts5(text, {TOKENS})")
        base.executemany("INSERT INTO held (rowid, text) VALUES (?, ?)", texts.items())
        for word, weight in weights.items():
            question = "SELECT rowid FROM held WHERE held MATCH ?"
            for (key,) in base.execute(question, (f'"{word}"',)):
                shares[key] += weight / whole
    return shares
