"""Texts as vectors: sums of one static vector per word piece, from a table that is package data.

`words.bin` is `BRIMVEC1`, the number of pieces and of dimensions (uint32 each), a float32 scale per
piece, then an int8 row per piece; `words.txt` names the pieces, one a line, as BERT's uncased
vocabulary does. Needs numpy; without it, or without the table, there are no vectors.
"""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from brimline.settings import extras

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MAGIC = b"BRIMVEC1"
_LONGEST_WORD = 100
_MARKED = 1_000
# The vocabulary begins with the most common words; the last are so many times as far down.
_COMMON, _RARE = 1_000, 30
# How near a word is that means nearly the same.
_NEAR = 0.55
_SHORTEST = 3
_AT_ONCE = 4_096
# Words of letters and digits; every other mark, and every Chinese character, stands for itself.
_WORD = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\W_\u3400-\u9fff]+|[^\w\s]|_")


def no_vectors_text() -> str:
    """Return what is said where there are no vectors."""
    return f"by words alone; `{extras.COMMAND}` in the clone adds meaning"


@functools.cache
def load_table() -> Table | None:
    """The table that came with this package; None where it or numpy is missing."""
    return read_table_in_folder(Path(__file__).parent)


def read_table_in_folder(folder: Path) -> Table | None:
    """A table in a folder; None where it is missing or is none."""
    try:
        import numpy as np

        vocabulary = (folder / "words.txt").read_text(encoding="utf-8").split("\n")
        data = (folder / "words.bin").read_bytes()
    except (ImportError, OSError):
        return None
    start = len(MAGIC) + 8
    pieces, dimensions = np.frombuffer(data, "<u4", 2, len(MAGIC)).tolist()
    if data[: len(MAGIC)] != MAGIC or len(data) != start + pieces * (4 + dimensions):
        return None
    scales = np.frombuffer(data, "<f4", pieces, start)
    rows = np.frombuffer(data, "i1", offset=start + 4 * pieces).reshape(pieces, dimensions)
    known = {piece: number for number, piece in enumerate(vocabulary)}
    return Table(known, scales, rows)


class Table:
    """A vector for every word piece."""

    def __init__(self, pieces: dict[str, int], scales: Any, rows: Any) -> None:
        self._pieces, self._scales, self._rows = pieces, scales, rows
        self._known: dict[str, list[int]] = {}
        # By which vectors of one table are told from those of another.
        self.mark: bytes = scales.tobytes() + rows[:_MARKED].tobytes()

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return int(self._rows.shape[1])

    def encode(self, texts: Sequence[str]) -> Any:
        """A vector of length 1 for each text, all zeros where no piece of it is known."""
        import numpy as np

        found = np.zeros((len(texts), self.dimensions), np.float32)
        for number, text in enumerate(texts):
            ids = self.piece_numbers(text)
            if ids:
                total = self._scales[ids] @ self._rows[ids].astype(np.float32)
                found[number] = total / (float(np.linalg.norm(total)) or 1.0)
        return found

    def words_near_each(self, words: Sequence[str]) -> list[list[str]]:
        """For each word those that mean nearly the same, the nearest first, itself among them."""
        import numpy as np

        vectors = self.encode(words)
        cosines = np.zeros((len(self._rows), len(words)), np.float32)
        for start in range(0, len(self._rows), _AT_ONCE):
            rows = self._rows[start : start + _AT_ONCE].astype(np.float32)
            lengths = np.maximum(np.sqrt(np.einsum("ij,ij->i", rows, rows)), 1e-9)
            # Not `@`, which keeps all processors busy with waiting for each other.
            products = np.einsum("ij,kj->ik", rows, vectors)
            cosines[start : start + _AT_ONCE] = products / lengths[:, None]
        pieces = list(self._pieces)
        nearest = [
            sorted(np.flatnonzero(column >= _NEAR).tolist(), key=lambda key: -column[key])
            for column in cosines.T
        ]
        return [[pieces[key] for key in keys if _is_plain_word(pieces[key])] for keys in nearest]

    def rarity_of_word(self, word: str) -> float:
        """Return how rare a word is in English, from 0 for the most common to 1."""
        place = self._pieces.get(word.lower(), _COMMON * _RARE)
        return min(1.0, math.log(max(place, _COMMON) / _COMMON, _RARE))

    def piece_numbers(self, text: str) -> list[int]:
        """The numbers of the word pieces of a text; words that have none are left out."""
        apart = unicodedata.normalize("NFD", text.lower())
        plain = "".join([c for c in apart if unicodedata.category(c) != "Mn"])
        found: list[int] = []
        for word in _WORD.findall(plain):
            if word not in self._known:
                self._known[word] = self._piece_numbers_of_word(word)
            found += self._known[word]
        return found

    def _piece_numbers_of_word(self, word: str) -> list[int]:
        """The longest piece that a word begins with, then the longest that goes on, and so on."""
        found: list[int] = []
        start = 0
        while start < len(word) <= _LONGEST_WORD:
            for end in range(len(word), start, -1):
                number = self._pieces.get(("##" if start else "") + word[start:end])
                if number is not None:
                    break
            else:
                return []
            found.append(number)
            start = end
        return found


def _is_plain_word(piece: str) -> bool:
    return len(piece) >= _SHORTEST and piece.isascii() and piece.isalpha()
