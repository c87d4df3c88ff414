"""Finds turns of phrase in plain words, and says how sure they are. Pure.

A table is written one cue per line: how sure it is, then phrases as `words.plain` spells them. `*`
stands for anything in between, `^` for the beginning of a clause (of the sentence, where its
clauses are not marked), `^^` for that of the sentence. Where a cue of strength 0 stands, its words
mean nothing.
"""

from __future__ import annotations

from brimline.carry.words import MARK, START

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# By a word: the cues that hold it, each with the name of its table, its parts and its strength.
Index = dict[str, list[tuple[str, tuple[str, ...], float]]]


def index(tables: dict[str, str]) -> Index:
    """Cues by the longest word in each: only what a sentence holds is ever looked at."""
    found: Index = {}
    for name, text in tables.items():
        for strength, phrase in _cues(text):
            longest = max(phrase.replace("*", " ").replace("^", " ").split(), key=len)
            spelled = phrase.replace("^^", f"{START} {MARK}").replace("^", MARK)
            parts = tuple(f" {part.strip()} " for part in spelled.split("*"))
            found.setdefault(longest, []).append((name, parts, strength))
    return found


def _cues(text: str) -> Iterator[tuple[float, str]]:
    for line in text.strip().splitlines():
        strength, _, phrases = line.strip().partition(" ")
        for phrase in phrases.split("|"):
            yield float(strength), phrase.strip()


def strengths(plain: str, cues: Index, marked: str = "") -> dict[str, float]:
    """By table: how sure the surest of its cues in these words is; tables without one are left out.

    Args:
        plain: the words.
        cues: the tables.
        marked: the words with a mark where a clause begins; without it the words are one clause.
    """
    marked = marked or f" {START} {MARK}{plain}"
    best: dict[str, float] = {}
    hollow: dict[str, list[str]] = {}
    for word in plain.split():
        for name, parts, strength in cues.get(word, ()):
            if strength and strength <= best.get(name, 0.0):
                continue
            if _holds(marked if MARK in parts[0] else plain, parts):
                if strength:
                    best[name] = strength
                else:
                    hollow.setdefault(name, []).append(parts[0])
    for name, phrases in hollow.items():
        if name in best:
            best[name] = _without(plain, marked, cues, name, phrases)
    return best


def _without(plain: str, marked: str, cues: Index, name: str, hollow: list[str]) -> float:
    """How sure a table's surest cue is once the words that mean nothing are taken out."""
    for phrase in hollow:
        bare = phrase.replace(f" {START}", "").replace(f" {MARK}", "")
        plain = plain.replace(bare, " ")
        marked = marked.replace(phrase, " ").replace(bare, " ")
    found = strengths(plain, cues, marked)
    return found.get(name, 0.0)


def _holds(plain: str, parts: tuple[str, ...]) -> bool:
    at = 0
    for part in parts:
        at = plain.find(part, at)
        if at < 0:
            return False
        at += len(part) - 1  # the blank at its end may begin the next part
    return True
