"""Finds turns of phrase in plain words, and says how sure they are. Pure.

A table is written one cue per line: how sure it is, then phrases as `words.plain` spells them. `*`
stands for anything in between, `^` for the beginning of a clause (of the sentence, where its
clauses are not marked). Where a cue of strength 0 stands, its words mean nothing.
"""

from __future__ import annotations

from brimline.carry.words import MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

Table = dict[str, list[tuple[tuple[str, ...], float]]]


def table(*texts: str) -> Table:
    """Cues by the longest word in each: only what a sentence holds is ever looked at."""
    found: Table = {}
    for strength, phrase in _cues(texts):
        longest = max(phrase.replace("*", " ").replace("^", " ").split(), key=len)
        parts = tuple(f" {part.strip()} " for part in phrase.replace("^", MARK).split("*"))
        found.setdefault(longest, []).append((parts, strength))
    return found


def _cues(texts: tuple[str, ...]) -> Iterator[tuple[float, str]]:
    for text in texts:
        for line in text.strip().splitlines():
            strength, _, phrases = line.strip().partition(" ")
            for phrase in phrases.split("|"):
                yield float(strength), phrase.strip()


def strongest(plain: str, table: Table, marked: str = "") -> float:
    """How sure the surest cue of a table in these words is; 0 without one.

    Args:
        plain: the words.
        table: the cues.
        marked: the words with a mark where a clause begins; without it the words are one clause.
    """
    marked = marked or f" {MARK}{plain}"
    best = 0.0
    hollow = []
    for word in plain.split():
        for parts, strength in table.get(word, ()):
            if strength == 0:
                if _holds(marked if MARK in parts[0] else plain, parts):
                    hollow.append(parts[0])
            elif strength > best and _holds(marked if MARK in parts[0] else plain, parts):
                best = strength
    if best and hollow:
        for phrase in hollow:
            bare = phrase.replace(f" {MARK}", "")
            plain = plain.replace(bare, " ")
            marked = marked.replace(phrase, " ").replace(bare, " ")
        return strongest(plain, table, marked)
    return best


def _holds(plain: str, parts: tuple[str, ...]) -> bool:
    at = 0
    for part in parts:
        at = plain.find(part, at)
        if at < 0:
            return False
        at += len(part) - 1  # the blank at its end may begin the next part
    return True
