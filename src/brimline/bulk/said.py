"""What a line says of the result that it stands in for: what nothing else says any more. Pure.

Of what goes, names are what a model comes back to: paths, symbols, hashes. So the room that a line
has left is filled with original lines that hold names found nowhere else in what stays, and then
with such names alone. Each is said once, by the newest line that has room for it.
"""

from __future__ import annotations

import itertools
from collections import Counter

from brimline.bulk import cold, layout, mentions, stub
from brimline.fast.io import NamedTuple
from brimline.foreign import flatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# A line has fewer than 300 characters with what it says, a mark so many besides its key.
_LINE_CHARACTERS, _MARK_CHARACTERS = 298, 250
_QUOTED_CHARACTERS, _NAME_CHARACTERS = 140, 80
# What a quoted line costs besides its characters.
_QUOTING = 8
# The lines that are best by themselves; of these the best together are quoted.
_MOST_CANDIDATES = 24
# What a line says is looked for in so much of a result.
_MOST_CHARACTERS = 40_000


def bare_mark(key: str) -> str:
    """Return what stands in for the middle of a string."""
    return f"{cold.CUT}{layout.shorten_key(key)}] … "


def quotable_of_preview(text: str) -> str:
    """A result as far as it may be quoted: what a preview of ours says of its key stays out."""
    is_ours = any(begin in text for begin in stub.BEGINNINGS)
    lines = text.split("\n")
    return "\n".join(line for line in lines if layout.PREFIX not in line) if is_ours else text


class _Quotable(NamedTuple):
    """A line of an original, with the names in it that nothing else says."""

    at: int
    text: str
    names: frozenset[str]

    def worth(self, lost: dict[str, int]) -> float:
        """Names that are still to be said, by the room that it takes."""
        return sum(map(lost.__contains__, self.names)) / (len(self.text) + _QUOTING)


class InSight:
    """The names in sight, by what stays of a conversation and what was said of the rest."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Look at what stays."""
        self._names: set[str] = set()
        self._names_of: dict[str, list[str]] = {}  # by chunk
        # Chunks in which everything is in sight, as it will be from then on.
        self._known = set(mentions.chunks_of("\n".join(texts)))
        for chunk in self._known:
            self._names.update(mentions.names_in_chunk(chunk))

    def fill_line(self, line: str, original: str) -> str:
        """A line with what its original says and nothing else does, as far as there is room."""
        lost, candidates = self._lost_names_and_best_lines(original[:_MOST_CHARACTERS])
        room = min(_LINE_CHARACTERS, len(original) // 2) - len(stub.line_that_says(line, ""))
        quoted = []
        while candidates := [each for each in candidates if len(each.text) < room]:
            best = max(candidates, key=lambda each: each.worth(lost))
            if not best.worth(lost):
                break
            candidates.remove(best)
            quoted.append(best)
            room -= len(best.text) + 1
            self._say(best.text, lost)
        said = [each.text for each in sorted(quoted)]
        if bare := self._bare_names(lost, room - len(stub.NAMES)):
            said.append(stub.NAMES + bare)
        return stub.line_that_says(line, "\n".join(said)) if said else line

    def fill_mark(self, mark: str, cut: str) -> str:
        """A mark with the names that the string has where it is cut and nothing else has."""
        lost, _ = self._lost_names_and_best_lines(cut[:_MOST_CHARACTERS])
        room = min(_MARK_CHARACTERS, len(cut) // 2 - len(mark)) - len(stub.NAMES)
        bare = self._bare_names(lost, room)
        return mark.replace("]", f"; {stub.NAMES}{bare}]") if bare else mark

    def _lost_names_and_best_lines(self, original: str) -> tuple[dict[str, int], list[_Quotable]]:
        """The names that are not in sight, by how often they occur, and short lines with most."""
        lines = cold.without_line_numbers(original).split("\n")
        chunks_of = list(map(mentions.chunks_of, lines))
        counts = Counter(itertools.chain.from_iterable(chunks_of))
        fresh = self._fresh_names_by_chunk(set(counts))
        lost: dict[str, int] = {}
        for chunk, found in fresh.items():
            for name in found:
                lost[name] = lost.get(name, 0) + counts[chunk]
        quotable = []
        for at, chunks in enumerate(chunks_of):
            if fresh.keys().isdisjoint(chunks):
                continue
            text = lines[at].strip()
            if len(text) <= _QUOTED_CHARACTERS:
                said = frozenset([name for each in chunks for name in fresh.get(each, ())])
                quotable.append(_Quotable(at, text, said))
        # As yet all of their names are lost.
        quotable.sort(key=lambda each: -len(each.names) / (len(each.text) + _QUOTING))
        best = quotable[:_MOST_CANDIDATES]
        flat = [each._replace(text=flatten(each.text, _QUOTED_CHARACTERS)) for each in best]
        return lost, flat

    def _fresh_names_by_chunk(self, chunks: set[str]) -> dict[str, list[str]]:
        """The names in chunks that are not in sight; chunks without any are left out."""
        fresh = {}
        for chunk in chunks - self._known:
            found = self._names_of.get(chunk)
            if found is None:
                found = self._names_of[chunk] = mentions.names_in_chunk(chunk)
            lost = [name for name in found if name not in self._names]
            if lost:
                fresh[chunk] = lost
            else:
                self._known.add(chunk)
        return fresh

    def _say(self, text: str, lost: dict[str, int]) -> None:
        for name in mentions.names_mentioned_in(text):
            self._names.add(name)
            lost.pop(name, None)

    def _bare_names(self, lost: dict[str, int], room: int) -> str:
        """Names alone: the most frequent first, the shorter before the longer."""
        said = []
        # Sorted by one after the other, the last of which counts most: quicker than by all at once.
        by_length = sorted(sorted(lost), key=len)
        for name in sorted(by_length, key=lost.__getitem__, reverse=True):
            if room < mentions.SHORTEST_NUMBER:
                break
            if name in lost and len(name) <= min(room, _NAME_CHARACTERS):
                said.append(name)
                room -= len(name) + 1
                self._say(name, lost)
        return " ".join(said)
