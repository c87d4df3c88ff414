"""The names that a text mentions: paths, symbols, hashes, numbers from four digits on. Pure.

A text is cut into chunks at signs that no name has, which is done quickly; a chunk mostly is one
run of letters, and a run may be a name, be made of names, or be a word of a language.
"""

from __future__ import annotations

import itertools
import re

SHORTEST_NAME = 6
SHORTEST_NUMBER = 4
_LONGEST_MENTION = 200
# What may be names, or be made of them.
RUN = re.compile(
    r"(?:(?<![\w)\]}])\.)?(?:[A-Za-z0-9_]|~(?=[./~-]{0,9}[A-Za-z0-9_]))"
    r"[A-Za-z0-9_./~-]*[A-Za-z0-9_]"
)
_CHUNK = re.compile(r"[^\x00-\x20\x7f\"'`,;:(<>=|+*&%$#@!?{\[\\^]{4,}")
WORD_OF_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{5,}")
# A capital inside, an underscore, letters next to digits: nobody writes prose like that.
CODED = re.compile(r"[a-z0-9][A-Z]|_|[A-Za-z]\d|\d[A-Za-z]|[A-Z]{2}")


def names_mentioned_in(text: str) -> frozenset[str]:
    """All of them."""
    return frozenset(itertools.chain.from_iterable(map(names_in_chunk, set(chunks_of(text)))))


def chunks_of(text: str) -> list[str]:
    """Cut a text into what its names are in, each as often as it occurs."""
    found: list[str] = _CHUNK.findall(text)
    return found


def names_in_chunk(chunk: str) -> list[str]:
    """The names in one of them, each as often as it occurs."""
    if chunk.isascii() and (chunk.isalnum() or chunk.isidentifier()):
        return _names_within_run(chunk)
    return list(itertools.chain.from_iterable(map(_names_within_run, RUN.findall(chunk))))


def _names_within_run(run: str) -> list[str]:
    """A run that is a name itself, and the names that it is made of."""
    length = len(run)
    # Most runs are words of a language, which the first letter alone may begin with a capital.
    is_plain = run.isalpha() and run[1:].islower()
    if is_plain or not SHORTEST_NUMBER <= length <= _LONGEST_MENTION:
        return []
    is_path = "/" in run or "." in run
    is_name = run.isdigit() or (length >= SHORTEST_NAME and (is_path or CODED.search(run)))
    found = [run] if is_name else []
    if is_path or "-" in run:
        found += filter(CODED.search, WORD_OF_NAME.findall(run))
    return found
