"""What the next request would contain, by kind, in tokens.

Only what came after the last compaction counts, and what that compaction kept. The last request
measured the whole exactly; how it divides into kinds is estimated from the lengths of the texts,
and so is what came since.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from brimline.gauge import composition
from brimline.transcript import pieces
from brimline.transcript import row as shapes
from brimline.transcript.pieces import Entry

if TYPE_CHECKING:
    from brimline.gauge.composition import FileTokens
    from brimline.transcript.pieces import Piece

# What a compaction keeps is the last round, seldom more than a few dozen rows.
_REMEMBERED_ROWS = 1_000
_PROMPT_CHARACTERS = 80


@dataclass(slots=True)
class Context:
    """The context as far as it is known."""

    measured_tokens: int | None = None
    """What the last request since the last compaction took; None before there is one."""
    since_tokens: int = 0
    """Estimated: its reply and all that came after it."""
    kinds: Counter[str] = field(default_factory=Counter)
    """Estimated tokens of the next request by kind. With a measurement they add up to it and what
    came since; without one they lack the system prompt and the tools."""
    tools: Counter[str] = field(default_factory=Counter)
    """Estimated tokens of results by tool, at the last request."""
    files: list[FileTokens] = field(default_factory=list)
    lengths: Counter[str] = field(default_factory=Counter)
    """By kind what the texts would take by their lengths alone, in tokens."""
    purged_tokens: int = 0
    """Estimated: what purges took out after the last request, which still counted it."""

    @property
    def next_tokens(self) -> int:
        """The estimated size of the next request."""
        return max(0, (self.measured_tokens or 0) + self.since_tokens - self.purged_tokens)

    def scale_of(self, kind: str) -> float:
        """How the measured tokens of a kind relate to what its texts' lengths say."""
        return max(0, self.kinds[kind]) / self.lengths[kind] if self.lengths[kind] > 0 else 1.0

    def take_out(self, tokens: int) -> None:
        """Account for purges that no request has measured yet.

        What is gone cannot explain what was measured, so it is found among the unexplained.
        """
        if self.measured_tokens is None or tokens <= 0:
            return
        self.purged_tokens = min(tokens, self.next_tokens)
        left = self.purged_tokens
        for kind in (composition.UNEXPLAINED, "tool_result", "thinking", composition.FLOOR):
            part = min(left, max(0, self.kinds[kind]))
            self.kinds[kind] -= part
            left -= part


class ContextReader:
    """Takes the rows of a session one after the other; keeps those since the last compaction."""

    def __init__(self) -> None:
        self.segment = 0
        """How many compactions there were."""
        self._entries: list[Entry] = []
        self._since: list[Piece] = []
        self._recent: deque[tuple[str | None, Entry]] = deque(maxlen=_REMEMBERED_ROWS)
        self._model: str | None = None
        self._message_id: object = None

    @property
    def rows(self) -> int:
        """How many rows are held: those since the last compaction."""
        return len(self._entries) + len(self._since)

    def take(self, row: dict[str, Any]) -> Entry | None:
        """Look at the next row; returns what it means for the context."""
        entry = pieces.entry_of(row)
        if entry is None:
            return None
        if entry.is_boundary and not self._is_summary_of_last(entry):
            self._start_over(row, entry)
        else:
            self._add(entry)
        self._recent.append((shapes.uuid_of(row), entry))
        return entry

    def close(self) -> Context:
        """Account for what is there."""
        found = composition.compose(self._entries)
        kinds = _scaled(found.parts)
        since: Counter[str] = Counter()
        for piece in self._since:
            since[piece.kind] += round(composition.estimate_tokens(piece, self._model))
        kinds.update(since)
        return Context(
            found.occupancy_tokens, since.total(), kinds, found.tools, found.files, self._lengths()
        )

    def _lengths(self) -> Counter[str]:
        sums: dict[str, float] = {}
        for entry in self._entries:
            for piece in entry.pieces:
                cost = composition.estimate_tokens(piece, self._model)
                sums[piece.kind] = sums.get(piece.kind, 0) + cost
        return Counter({kind: round(tokens) for kind, tokens in sums.items()})

    def _is_summary_of_last(self, entry: Entry) -> bool:
        """Whether it is the summary that follows a boundary: the two are one compaction."""
        begun = self._entries
        return bool(
            entry.is_summary
            and begun
            and begun[0].is_boundary
            and not begun[0].is_summary
            and not any(one.usage or one.is_summary for one in begun)
        )

    def _start_over(self, row: dict[str, Any], entry: Entry) -> None:
        kept = self._kept(row)
        self.segment += 1
        self._entries, self._since = [], []
        self._message_id = None
        for one in (entry, *kept):
            self._add(one)

    def _kept(self, row: dict[str, Any]) -> list[Entry]:
        """The rows that a compaction says it kept, without what they measured."""
        preserved = shapes.preserved(row)
        if preserved is None or not preserved[0]:
            return []
        names = [name for name, _ in self._recent]
        uuids, head, tail = preserved
        wanted = set(uuids)
        if head in names and tail in names:
            first, last = names.index(head), names.index(tail)
            wanted.update(name for name in names[first : last + 1] if name)
        return [
            Entry(one.pieces)
            for name, one in self._recent
            if name in wanted and not one.is_boundary
        ]

    def _add(self, entry: Entry) -> None:
        if entry.usage and (
            entry.usage.message_id is None or entry.usage.message_id != self._message_id
        ):
            self._message_id = entry.usage.message_id
            self._model = entry.usage.model
            self._since = []
        self._since += entry.pieces
        self._entries.append(_short(entry))


def _scaled(kinds: Counter[str]) -> Counter[str]:
    """The kinds in proportion, where less was measured than the texts would take.

    Rows are not in the context any more that nothing says were dropped, such as those of a turn
    that the user took back.
    """
    short = kinds[composition.UNEXPLAINED]
    names = [name for name in kinds if name not in (composition.UNEXPLAINED, composition.FLOOR)]
    texts = [max(0, kinds[name]) for name in names]
    if short >= 0 or sum(texts) + short < 0:
        return Counter(kinds)
    shares = composition.divide(sum(texts) + short, texts)
    return Counter({composition.FLOOR: kinds[composition.FLOOR]}) + Counter(
        dict(zip(names, shares, strict=True))
    )


def _short(entry: Entry) -> Entry:
    """Prompts may be long, and nobody asks for them here."""
    if entry.prompt is None or len(entry.prompt) <= _PROMPT_CHARACTERS:
        return entry
    return Entry(entry.pieces, entry.prompt[:_PROMPT_CHARACTERS])
