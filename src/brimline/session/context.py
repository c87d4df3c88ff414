"""What the next request would contain, by kind, in tokens.

Only what came after the last compaction counts, and what that compaction kept. The last request
measured the whole exactly; how it divides into kinds is estimated from the lengths of the texts,
and so is what came since.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
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
        self._ledger = composition.Ledger()
        self._recent: deque[tuple[str | None, Entry]] = deque(maxlen=_REMEMBERED_ROWS)

    @property
    def size(self) -> int:
        """How many texts are held."""
        return len(self._ledger.shares) + len(self._ledger.waiting)

    def take(self, row: dict[str, Any]) -> Entry | None:
        """Look at the next row; returns what it means for the context."""
        entry = pieces.entry_of(row)
        if entry is None:
            return None
        # A boundary and the summary that follows it are one compaction.
        is_new = entry.is_boundary and not (entry.is_summary and self._ledger.summary_expected)
        kept = self._kept(row) if is_new else []
        self.segment += is_new
        for one in (_short(entry), *kept):
            self._ledger.take(one)
        self._recent.append((shapes.uuid_of(row), entry))
        return entry

    def close(self) -> Context:
        """Account for what is there."""
        ledger = self._ledger
        found = ledger.close()
        model = ledger.request.usage.model if ledger.request else None
        since, lengths = Counter[str](), Counter[str]()
        for piece, _ in ledger.waiting:
            since[piece.kind] += round(composition.estimate_tokens(piece, model))
        for piece in [
            *[share.piece for share in ledger.shares],
            *[one for one, _ in ledger.waiting],
        ]:
            lengths[piece.kind] += round(composition.estimate_tokens(piece, model))
        kinds = _scaled(found.parts)
        kinds.update(since)
        return Context(
            found.occupancy_tokens, since.total(), kinds, found.tools, found.files, lengths
        )

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


def _lengths(found: list[Piece], model: str | None) -> Counter[str]:
    """What some texts take by their lengths alone, in tokens by kind."""
    sums: Counter[str] = Counter()
    for piece in found:
        sums[piece.kind] += round(composition.estimate_tokens(piece, model))
    return sums


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
    return replace(entry, prompt=entry.prompt[:80]) if entry.prompt else entry
