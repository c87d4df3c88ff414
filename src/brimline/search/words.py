"""What a query asks for, in words, and which lines hold them. Pure."""

from __future__ import annotations

import re
import unicodedata

from brimline.errors import StoreError

MOST_CHARACTERS = 500
MOST_TERMS = 16
_SAMPLE_BYTES = 8_192
_MOST_STRANGE = 0.1
_SHORT_WORD = 5
_PART = re.compile(r'"([^"]*)"|([^\s"]+)')
_TOKEN = re.compile(r"[^\W_]+")
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# Control characters but those that occur in the output of programs.
_STRANGE = bytes(set(range(32)) - set(b"\t\n\r\x0b\x0c\x08\x1b"))


def terms(query: str) -> list[str]:
    """The words and quoted phrases of a query.

    Raises:
        StoreError: there are none, or too many.
    """
    if len(query) > MOST_CHARACTERS:
        raise StoreError(f"the query is too long: give at most {MOST_CHARACTERS} characters")
    clean = query.encode("utf-8", "replace").decode().replace("\x00", " ")
    found = [" ".join((phrase or word).split()) for phrase, word in _PART.findall(clean)]
    unique = list(dict.fromkeys(term for term in found if term))
    if not unique:
        raise StoreError("the query is empty: give the words to look for")
    if len(unique) > MOST_TERMS:
        raise StoreError(f"the query has too many words: give at most {MOST_TERMS}")
    return unique


def expression(wanted: list[str], joined_by: str) -> str:
    """The query in SQLite's language: every term a phrase whose last word may go on.

    Quoted, nothing in a term has a meaning of its own; terms hold no quotes themselves.
    """
    return f" {joined_by} ".join(f'"{term}" *' for term in wanted if _TOKEN.search(term))


def holding(lines: list[str], wanted: list[str]) -> list[int]:
    """The positions of the lines that hold every term, also inside of words, in their order.

    Where none does: of those that hold some of the words, the ones with the rarest word first.
    """
    folded = [fold(plain(line)) for line in lines]
    parts = {fold(term) for term in wanted}
    # The search knows words by their stems: `errors` is found by `error`, and shown by `erro`.
    stems = {t[:-2] if len(t) > _SHORT_WORD else t for p in parts for t in _TOKEN.findall(p)}
    for sought in (parts, stems):
        whole = [at for at, line in enumerate(folded) if all(part in line for part in sought)]
        if whole:
            return whole
    held = [[at for at, line in enumerate(folded) if stem in line] for stem in stems]
    return list(dict.fromkeys(at for found in sorted(held, key=len) for at in found))


def clipped(line: str, wanted: list[str], most: int) -> str:
    """A line, or of a long one the part around the last term to occur in it."""
    if len(line) <= most:
        return line
    start = max(0, max(fold(line).find(fold(term)) for term in wanted) - most // 4)
    before = "…" if start else ""
    return f"{before}{line[start : start + most]}… ({len(line):,} characters)"


def plain(text: str) -> str:
    """A text without colours, which would stick to the words beside them."""
    return _COLOUR.sub(" ", text) if "\x1b" in text else text


def fold(text: str) -> str:
    """A text in which case and accents make no difference."""
    folded = text.casefold()
    if folded.isascii():
        return folded
    apart = unicodedata.normalize("NFKD", folded)
    return "".join([c for c in apart if not unicodedata.combining(c)])


def is_binary(data: bytes) -> bool:
    """Whether some content is not for reading."""
    sample = data[:_SAMPLE_BYTES]
    if b"\x00" in sample:
        return True
    text = sample.decode("utf-8", "replace")
    strange = len(sample) - len(sample.translate(None, _STRANGE)) + text.count("\ufffd")
    return strange > _MOST_STRANGE * len(text)
