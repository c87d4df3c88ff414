"""Words that mean nearly the same as those of a question, of which a memory holds some."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

from brimline.search.floor import TOKENS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.search.vectors import Table

_MOST_PER_WORD = 5


def related_words(connection: sqlite3.Connection, table: Table, asked: Sequence[str]) -> list[str]:
    """The nearest words that entries hold; other forms of a word that is there already are none."""
    related: list[str] = []
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.execute(f"CREATE VIRTUAL TABLE turns USING fts5(text, {TOKENS})")
        base.executemany("INSERT INTO turns VALUES (?)", [(word,) for word in asked])
        for near in table.words_near_each([word for word in asked if word.isalpha()]):
            held = (word for word in near if _has_text_with_word(connection, word))
            fresh = (word for word in held if not _has_text_with_word(base, word))
            for _, word in zip(range(_MOST_PER_WORD), fresh, strict=False):
                related.append(word)
                base.execute("INSERT INTO turns VALUES (?)", (word,))
    return related


def _has_text_with_word(connection: sqlite3.Connection, word: str) -> bool:
    """Tell whether a text has a word, in any of its forms."""
    question = "SELECT 1 FROM turns WHERE turns MATCH ? LIMIT 1"
    return connection.execute(question, (f'"{word}"',)).fetchone() is not None
