"""A question: its words that tell something, forms of them, and what answers it.

What counts is the share of the question's words that an entry holds, together with the one before
it; half of a word's weight is the same for all, half is how rare it is here. What holds too little
of a question is about something else, and no hit.

Scripts without blanks, or with endings, are searched by pairs of characters, and long words also by
how they end: `Speicherverwaltung` is found by `Verwaltung`.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
import sqlite3
import string
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TOKENIZER = "tokenize='porter unicode61 remove_diacritics 2'"
# In a small memory every word is in a large part of the entries, and tells as much as elsewhere.
_FEW = 1_000
_TOKEN = re.compile(r"[^\W_]+")
# Kana, Chinese characters and Hangul, and what stands between them in a word.
_BY_PAIRS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_SCRIPT = re.compile(f"[{_BY_PAIRS}]+|[^{_BY_PAIRS}]+")
_IS_BY_PAIRS = re.compile(f"[{_BY_PAIRS}]")
# Pairs of these alone are endings and particles.
_HIRAGANA = re.compile("[\u3040-\u309f]+")
# Of how many letters long words are, and a part of one at least.
_COMPOUND, _LONGEST, _PART = 9, 60, 5
_LONG_ASCII = re.compile(rf"(?<![A-Za-z0-9])[A-Za-z]{{{_COMPOUND},{_LONGEST}}}(?![A-Za-z0-9])")
_ENDING = re.compile("(?:e[ns]|[ens])$")
# Letters that no stemmer knows and no text uses: a word backwards is not another word.
_WIDE = {ord(letter): ord(letter) + 0xFEE0 for letter in string.ascii_lowercase}
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
_HOLDING = "SELECT {} FROM turns WHERE turns MATCH ?"


@contextlib.contextmanager
def empty_word_table(columns: str) -> Iterator[sqlite3.Connection]:
    """Texts for a moment, with the words that they have in the search: the table `turns`."""
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.execute(f"CREATE VIRTUAL TABLE turns USING fts5({columns}, {_TOKENIZER})")
        yield base


def words_but_stop_words(query: str) -> list[str]:
    """The words of a question that tell what is sought; a name such as `check_one` by its parts."""
    found: list[str] = []
    # As they are: SQLite folds case and accents of both sides alike.
    for token in _TOKEN.findall(unicodedata.normalize("NFC", query)):
        found += _pairs(token) if _IS_BY_PAIRS.search(token) else [token]
    words = list(dict.fromkeys(found))[:_MOST_TERMS]
    telling = [w for w in words if w.lower() not in _STOP_WORDS and not _HIRAGANA.fullmatch(w)]
    return telling or words


def hidden_words(text: str) -> str:
    """Return what a text is found by besides its words as SQLite sees them."""
    if text.isascii():
        return " ".join(map(_hidden_of_token, _LONG_ASCII.findall(text)))
    tokens = _TOKEN.findall(unicodedata.normalize("NFC", text))
    return " ".join(filter(None, map(_hidden_of_token, tokens)))


@functools.lru_cache(maxsize=10_000)
def _hidden_of_token(token: str) -> str:
    if not token.isascii() and _IS_BY_PAIRS.search(token):
        return " ".join(_pairs(token))
    is_long = _COMPOUND <= len(token) <= _LONGEST and token.isalpha()
    return _backwards(_ENDING.sub("", token)) if is_long else ""


def _pairs(token: str) -> list[str]:
    """The pairs of characters in a word, and its parts in other scripts."""
    found: list[str] = []
    for part in _SCRIPT.findall(token):
        is_split = len(part) > 1 and _IS_BY_PAIRS.match(part)
        found += [part[at : at + 2] for at in range(len(part) - 1)] if is_split else [part]
    return found


def any_of(words: Sequence[str]) -> str:
    """An expression of FTS5 that any of some words fits."""
    return " OR ".join(f'"{word}"' for word in words)


def any_form_of(words: Sequence[str]) -> str:
    """The same for words that begin or end with one of them, or that one begins or ends with."""
    return " OR ".join(form for word in words for form in _forms(word))


def _forms(word: str) -> Iterator[str]:
    if _IS_BY_PAIRS.match(word):
        yield from [f'"{word}" *'] if len(word) == 1 else []
    elif _PART <= len(word) <= _LONGEST and word.isalpha():
        base = _ENDING.sub("", word)
        for form in (base, _backwards(base), _backwards(word)):
            yield f'"{form}" *'
        for at in range(_PART, len(word) - _PART + 1):
            yield f'"{word[:at]}" OR "{word[at:]}"'


def _backwards(word: str) -> str:
    return word.lower()[::-1].translate(_WIDE)


def all_in_one(words: Sequence[str]) -> str:
    """The same for an entry that holds all of them by itself."""
    return "text : (" + " AND ".join(f'"{word}"' for word in words) + ")"


def shares_held(
    connection: sqlite3.Connection, query: str, words: Sequence[str], texts: Sequence[str]
) -> list[float]:
    """Of each text, the share that it holds of what the question's words weigh."""
    shares = [0.0] * len(texts)
    weighty = [word for word in words if word.lower() not in _SLIGHT] or words
    weights = _weights_of_words(connection, query, weighty) if texts else {}
    with empty_word_table("text") as base:
        base.executemany("INSERT INTO turns (rowid, text) VALUES (?, ?)", enumerate(texts))
        for word, weight in weights.items():
            for (at,) in base.execute(_HOLDING.format("rowid"), (_in_any_form(word),)):
                shares[at] += weight / sum(weights.values())
    return shares


def _weights_of_words(
    connection: sqlite3.Connection, query: str, words: Sequence[str]
) -> dict[str, float]:
    """Return how much each word tells: little where many entries have it."""
    total = max(_FEW, connection.execute("SELECT count(*) FROM entries").fetchone()[0])
    rarities, weights = dict[str, float](), dict[str, float]()
    for word in words:
        (held,) = connection.execute(_HOLDING.format("count(*)"), (_in_any_form(word),)).fetchone()
        rarities[word] = math.log(1 + (total - held + 0.5) / (held + 0.5))
        weights[word] = _NAME if not held and _is_name(query, word) else 1.0
    usual = sum(rarities.values()) / len(rarities)
    return {word: weight * (usual + rarities[word]) for word, weight in weights.items()}


def _in_any_form(word: str) -> str:
    return " OR ".join(filter(None, (f'"{word}"', any_form_of([word]))))


def _is_name(query: str, word: str) -> bool:
    """Tell whether a word is written as a name; the capital of a first word makes none."""
    after_first = word[1:] if query.startswith(word) else word
    return after_first != after_first.lower()
