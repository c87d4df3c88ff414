"""What a session went through: every request and every compaction, in one streaming pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import clock
from brimline.transcript import read
from brimline.transcript.row import (
    compaction_of,
    content_blocks,
    content_characters,
    is_boundary,
    is_summary,
    timestamp_of,
    usage_of,
    uuid_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable


class Recorded(NamedTuple):
    """One compaction; what the client did not write down is None."""

    uuid: str | None
    at: float | None
    trigger: str | None
    pre_tokens: int | None
    post_tokens: int | None
    summary_characters: int | None


def scan(path: str, progress: Callable[[int], None] | None = None) -> Scan:
    """Read a transcript from its first line to its last.

    Args:
        path: the session's file.
        progress: called with the number of bytes of each line.

    Raises:
        OSError: the file cannot be read.
    """
    found = Scan()
    for row in read.rows(path, read.MEASURED, progress):
        found.take(row)
    return found


class Scan:
    """Takes the rows of a session one after the other."""

    def __init__(self) -> None:
        self.compactions: list[Recorded] = []
        self.largest_occupancy_tokens = 0
        self.occupancies: list[int] = []
        """Occupancy at each request since the last compaction, oldest first."""
        self._message_id: object = None
        self._waits_for_summary = False

    def take(self, row: dict[str, Any]) -> None:
        """Look at the next row."""
        if is_boundary(row):
            self._compaction(row)
            return
        usage = usage_of(row)
        if usage is None:
            return
        if self.compactions and not self.occupancies:
            # What the next request really took wins over what the client expected it to take.
            last = self.compactions[-1]
            self.compactions[-1] = last._replace(post_tokens=usage.prompt_tokens)
        self._waits_for_summary = False
        self.largest_occupancy_tokens = max(self.largest_occupancy_tokens, usage.prompt_tokens)
        if usage.message_id is None or usage.message_id != self._message_id:
            self._message_id = usage.message_id
            self.occupancies.append(usage.prompt_tokens)
        else:
            self.occupancies[-1] = usage.prompt_tokens

    def _compaction(self, row: dict[str, Any]) -> None:
        """A boundary and the summary after it are one; old sessions have the summary only."""
        self.occupancies = []
        self._message_id = None
        length = content_characters(content_blocks(row)) if is_summary(row) else None
        if length is not None and self._waits_for_summary:
            self.compactions[-1] = self.compactions[-1]._replace(summary_characters=length)
            self._waits_for_summary = False
            return
        named = uuid_of(row)
        trigger, before, after = compaction_of(row)
        self.compactions.append(
            Recorded(
                named if named and named.isprintable() else None,
                clock.parse(timestamp_of(row)),
                trigger,
                before,
                after,
                length,
            )
        )
        self._waits_for_summary = length is None
