"""A question: its words that tell something, words that mean the same, and what answers it.

What is below the floor of the search is about something else, and no hit.

What counts is the share of the question's words that an entry holds, together with the one before
it; half of a word's weight is the same for all, half is how rare it is here. Of words that no entry
holds, a name or a rare word speaks of something else, a common one may be said otherwise here.
"""

from __future__ import annotations

import contextlib
import math
import re
import sqlite3
import statistics
import unicodedata
from typing import TYPE_CHECKING

from brimline.recall import vectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from brimline.recall.vectors import Table

# What one of the first hits reaches, and what every hit does.
_ONE_OF_FIRST, _EVERY = 0.42, 0.15
_FIRST = 5
_TOKENIZER = "tokenize='porter unicode61 remove_diacritics 2'"
# In a small memory every word is in a large part of the entries, and tells as much as elsewhere.
_FEW = 1_000
_TOKEN = re.compile(r"[^\W_]+")
_MOST_TERMS = 60
# Every text has them, and a question most of all.
_STOP_WORDS = frozenset(
    """a about all am an and any are as at be been being but by can could did do does for from had
    has have he her him his how i if in into is it its me my of on or our s she should so t than
    that the their them then there these they this to was we were what when where which who whom
    why will with would you your""".split()  # noqa: SIM905 - easier to read and to change
)
# Beside the words of a question that tell nothing, those that tell little.
_SLIGHT = frozenset(
    """also always anything ask asked ever get gets go goes going gone got here just kind know let
    made make makes may might must need needs never no nobody not now one please put remember said
    say shall some someone something still tell thing things told us use used uses using want wanted
    wants way""".split()  # noqa: SIM905 - easier to read and to change
)
# A name tells more than another word.
_NAME = 2.0
_MOST_RELATED_PER_WORD = 5
_COUNTS = "SELECT (SELECT count(*) FROM entries), count(*) FROM turns WHERE turns MATCH ?"


@contextlib.contextmanager
def empty_word_table(columns: str) -> Iterator[sqlite3.Connection]:
    """Texts for a moment, with the words that they have in the search: the table `turns`."""
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.execute(f"CREATE VIRTUAL TABLE turns USING fts5({columns}, {_TOKENIZER})")
        yield base


def fts_expression_of_any_word(query: str) -> str:
    """Any of the words of a question, in SQLite's language; those that tell nothing are left out.

    A name such as `check_one` is searched by its parts.
    """
    return " OR ".join(f'"{word}"' for word in words_but_stop_words(query))


def words_but_stop_words(query: str) -> list[str]:
    """The words of a question that tell what is sought."""
    # As they are: SQLite folds case and accents of both sides alike.
    words = list(dict.fromkeys(_TOKEN.findall(unicodedata.normalize("NFC", query))))[:_MOST_TERMS]
    return [word for word in words if word.lower() not in _STOP_WORDS] or words


def related_words(connection: sqlite3.Connection, table: Table, asked: Sequence[str]) -> list[str]:
    """The nearest words that entries hold; other forms of a word that is there already are none."""
    related: list[str] = []
    with empty_word_table("text") as base:
        base.executemany("INSERT INTO turns VALUES (?)", [(word,) for word in asked])
        for near in table.words_near_each([word for word in asked if word.isalpha()]):
            held = (word for word in near if _has_text_with_word(connection, word))
            fresh = (word for word in held if not _has_text_with_word(base, word))
            for _, word in zip(range(_MOST_RELATED_PER_WORD), fresh, strict=False):
                related.append(word)
                base.execute("INSERT INTO turns VALUES (?)", (word,))
    return related


def _has_text_with_word(connection: sqlite3.Connection, word: str) -> bool:
    """Tell whether a text has a word, in any of its forms."""
    question = "SELECT 1 FROM turns WHERE turns MATCH ? LIMIT 1"
    return connection.execute(question, (f'"{word}"',)).fetchone() is not None


def keys_above_floor(
    connection: sqlite3.Connection, query: str, words: Sequence[str], texts: Mapping[int, str]
) -> list[int]:
    """Those of the candidates that are hits; none where the question is about something else.

    Args:
        connection: the search, which knows how rare a word is.
        query: the question.
        words: those of the question that tell what is sought.
        texts: each candidate with the entry before it, the best first.
    """
    if not words:
        return []
    weighty = [word for word in words if word.lower() not in _SLIGHT] or words
    shares = _text_weight_shares(_weights_of_words(connection, query, weighty), texts)
    if max([*shares.values()][:_FIRST], default=0.0) < _ONE_OF_FIRST:
        return []
    return [key for key, share in shares.items() if share >= _EVERY]


def _weights_of_words(
    connection: sqlite3.Connection, query: str, words: Sequence[str]
) -> dict[str, float]:
    """Return how much each word tells: little where many entries have it."""
    rarities, weights = dict[str, float](), dict[str, float]()
    for word in words:
        total, holding = connection.execute(_COUNTS, (f'"{word}"',)).fetchone()
        rarities[word] = math.log(1 + (max(total, _FEW) - holding + 0.5) / (holding + 0.5))
        weights[word] = 1.0 if holding else _weight_of_word_in_no_entry(query, word)
    usual = statistics.mean(rarities.values())
    return {word: weight * (usual + rarities[word]) for word, weight in weights.items()}


def _weight_of_word_in_no_entry(query: str, word: str) -> float:
    """Return how much more than others a word tells that no entry holds."""
    table = vectors.load_table()
    rarity = table.rarity_of_word(word) if table else 0.5
    after_first = word[1:] if query.startswith(word) else word
    is_name = after_first != after_first.lower()
    return (0.5 + rarity) * (_NAME if is_name else 1.0)


def _text_weight_shares(weights: Mapping[str, float], texts: Mapping[int, str]) -> dict[int, float]:
    """Of each text the share of the words' weight that it holds."""
    shares = dict.fromkeys(texts, 0.0)
    whole = sum(weights.values())
    with empty_word_table("text") as base:
        base.executemany("INSERT INTO turns (rowid, text) VALUES (?, ?)", texts.items())
        for word, weight in weights.items():
            question = "SELECT rowid FROM turns WHERE turns MATCH ?"
            for (key,) in base.execute(question, (f'"{word}"',)):
                shares[key] += weight / whole
    return shares
