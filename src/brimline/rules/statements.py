"""The single statements in instruction files, each with a place and an identity. Pure."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, NamedTuple

from brimline.rules.markdown import TEXT
from brimline.rules.markers import MARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from brimline.rules.markdown import Line
    from brimline.rules.model import Source

_LIST_MARK = re.compile(r"^[\s>]*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'`(*_])")
_ONLY_IMPORT = re.compile(r"@\S+(?: @\S+)*$")
_DECORATION = re.compile(r"[*_`\"'“”]+")
_MOST_CHARACTERS = 500


class Statement(NamedTuple):
    """One thing that a file says."""

    text: str
    """On one line, without list marks."""
    path: str
    line: int
    source: Source

    @property
    def identity(self) -> str:
        """Equal for statements in the same words, whatever their case and decoration."""
        return hashlib.sha256(normalised(self.text).encode("utf-8", "replace")).hexdigest()[:12]

    @property
    def is_marked(self) -> bool:
        """Whether its author marked it as one that must not be lost."""
        return bool(MARK.search(self.text))


def statements(sources: Iterable[Source]) -> Iterator[Statement]:
    """What files say, in their order: list items, and the sentences of paragraphs."""
    for source in sources:
        if source.document is None or source.excluded:
            continue
        block: list[Line] = []
        for line in source.document.lines:
            if block and (line.kind != TEXT or line.block != block[0].block):
                yield from _of_block(block, source)
                block = []
            if line.kind == TEXT and not line.heading and line.text.strip():
                block.append(line)
        if block:
            yield from _of_block(block, source)


def normalised(text: str) -> str:
    """Words only, for comparing."""
    return " ".join(_DECORATION.sub("", text).lower().rstrip(" .!").split())


def _of_block(block: Sequence[Line], source: Source) -> Iterator[Statement]:
    if block[0].text.lstrip().startswith("|"):
        return  # a table says nothing by the line
    rows = [line.text.strip(" >\t") for line in block]
    rows[0] = _LIST_MARK.sub("", block[0].text)
    words = "\n".join(rows)
    ends = [] if block[0].items else [(e.start(), e.end()) for e in _SENTENCE_END.finditer(words)]
    starts = [0, *[after for _, after in ends]]
    stops = [*[before for before, _ in ends], len(words)]
    for start, stop in zip(starts, stops, strict=True):
        text = " ".join(words[start:stop].split())
        if text and not _ONLY_IMPORT.match(text):
            line = block[words.count("\n", 0, start)].number
            yield Statement(text[:_MOST_CHARACTERS], source.path, line, source)
