"""What the rows of a session since its last compaction mean for the next request."""

from __future__ import annotations

import os
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from brimline.gauge import composition
from brimline.transcript import pieces
from brimline.transcript.typed import Session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from brimline.gauge.composition import Composition
    from brimline.transcript.pieces import Entry, Piece
    from brimline.transcript.typed import Row

# What a compaction keeps is the last round, seldom more than a few dozen rows.
_REMEMBERED_ROWS = 1_000
_MOST_FLOOR = 0.75
# A larger file is not read for an estimate alone.
_LARGEST_BYTES = 64 << 20


@dataclass(slots=True)
class Context:
    """The next request, as far as it is known."""

    # What the last request since the last compaction consisted of.
    composed: Composition
    # Estimated: its reply and all that came after it.
    since_tokens: int = 0
    # What requests take besides the texts of the session, where one has measured it.
    floor_tokens: int = 0
    # Estimated: what the next request would take had the last compaction not been.
    undone_tokens: int = 0
    # The calls with results in the last request in whose place is a line of ours by now, and the
    # same for the last request before that compaction.
    replaced_calls: frozenset[str] = frozenset()
    undone_calls: frozenset[str] = frozenset()
    # Estimated: what purges took out after the last request, by the call whose result it was;
    # under "" what no call's result took.
    purged: Counter[str] = field(default_factory=Counter)

    @property
    def measured_tokens(self) -> int | None:
        """What the last request since the last compaction took; None before there is one."""
        return self.composed.occupancy_tokens

    @property
    def tokens_after_compaction(self) -> int | None:
        """The estimated size of the next request, where none came since a compaction."""
        is_known = self.measured_tokens is None and self.floor_tokens > 0
        # A session that began with another one's context has not measured what all requests take.
        is_likely = self.floor_tokens < _MOST_FLOOR * self.undone_tokens
        return self.next_tokens if is_known and is_likely else None

    @property
    def next_tokens(self) -> int:
        """The estimated size of the next request."""
        return self._next_tokens_before_purges - self.purged_tokens

    @property
    def purged_tokens(self) -> int:
        """What purges took out of what the last request measured."""
        if self.measured_tokens is None:
            return 0
        return min(
            self._tokens_purged_from_request(self.replaced_calls), self._next_tokens_before_purges
        )

    @property
    def next_tokens_if_uncompacted(self) -> int:
        """The same where the last compaction is undone; more where a request has measured more."""
        undone = self.undone_tokens - self._tokens_purged_from_request(self.undone_calls)
        return max(0, self._next_tokens_before_purges - self.purged.total(), undone)

    @property
    def _next_tokens_before_purges(self) -> int:
        measured = self.measured_tokens
        return (self.floor_tokens if measured is None else measured) + self.since_tokens

    def _tokens_purged_from_request(self, calls: frozenset[str]) -> int:
        """Sum up what purges took out of a request; what came later is estimated from the texts."""
        return sum(tokens for call, tokens in self.purged.items() if not call or call in calls)


def estimate_after_compaction(path: str) -> int | None:
    """The estimated size of the next request of a session that was compacted a moment ago.

    Raises:
        OSError: its file cannot be read.
    """
    if os.path.getsize(path) > _LARGEST_BYTES:
        return None
    reader = ContextReader()
    for found in Session().rows_of(path):
        reader.read_row(found)
    return reader.close().tokens_after_compaction


class ContextReader:
    """Keeps what the rows since the last compaction mean for the context."""

    def __init__(self, watch: composition.Watch | None = None) -> None:
        self.turns = 0  # how many began in this session
        self._ledger = composition.Ledger(watch)
        self._recent: deque[tuple[str | None, tuple[Piece, ...], int]] = deque(
            maxlen=_REMEMBERED_ROWS
        )
        self._undone_tokens = 0
        self._undone_calls: frozenset[str] = frozenset()

    def read_row(self, found: Row) -> Entry:
        """Account for the next row."""
        if not found.is_telling:
            return pieces.NOTHING
        entry, is_new = found.entry, found.is_new_compaction
        kept = self._pieces_compaction_preserved(found) if is_new else []
        self.turns += entry.prompt is not None and not found.is_from_elsewhere
        if is_new and not found.was_undone:
            last = self._ledger.last
            self._undone_tokens = last.request.tokens if last else 0
            self._undone_calls = self._ledger.ids_of_replaced_calls()
            self._undone_tokens += self._estimate_unsent_tokens()
        elif entry.pieces and not found.is_copy:
            self._undone_tokens += self._sum_estimated_tokens(entry.pieces)
        self._ledger.add_row(found, entry)
        for added, offset in kept:
            self._ledger.add_pieces(added, offset)
        if entry.pieces or found.request or found.is_boundary:
            added = () if found.is_boundary else entry.pieces
            self._recent.append((found.name, added, found.offset))
        return entry

    def close(self) -> Context:
        """Account for what is there."""
        ledger = self._ledger
        since = self._estimate_unsent_tokens()  # before the last request moves how texts count
        return Context(
            ledger.close(),
            since,
            ledger.floor_tokens,
            self._undone_tokens,
            ledger.ids_of_replaced_calls(),
            self._undone_calls,
        )

    def _estimate_unsent_tokens(self) -> int:
        return self._sum_estimated_tokens(piece for piece, _, _ in self._ledger.waiting)

    def _sum_estimated_tokens(self, added: Iterable[Piece]) -> int:
        """Return what texts take that no request has measured."""
        last = self._ledger.last
        model = last.request.model if last else None
        estimated = sum(composition.estimate_tokens(added, model))
        return round(estimated * self._ledger.ratio_of_measured_to_estimated())

    def _pieces_compaction_preserved(self, found: Row) -> list[tuple[tuple[Piece, ...], int]]:
        """Return what a compaction says it kept, row by row, without what the rows measured."""
        uuids, head, tail = found.preserved_ids_and_ends
        names = [name for name, _, _ in self._recent]
        wanted = set(uuids)
        if wanted and head in names and tail in names:
            first, last = names.index(head), names.index(tail)
            wanted.update(name for name in names[first : last + 1] if name)
        return [(added, offset) for name, added, offset in self._recent if name in wanted]
