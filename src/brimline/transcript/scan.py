"""A whole session read forward in one streaming pass: every request and every compaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from brimline import fastjson
from brimline.transcript import rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(slots=True)
class Scan:
    """What a session went through."""

    compactions: int = 0
    largest_occupancy_tokens: int = 0
    occupancies: list[int] = field(default_factory=list)
    """Occupancy at each request since the last compaction, oldest first."""


def scan(path: str, progress: Callable[[int], None] | None = None) -> Scan:
    """Read a transcript from its first line to its last.

    Args:
        path: the session's file.
        progress: called with the number of bytes of each line.

    Raises:
        OSError: the file cannot be read.
    """
    reader = _Reader()
    for row in measured_rows(path, progress):
        reader.take(row)
    return reader.found


def measured_rows(path: str, progress: Callable[[int], None] | None = None) -> Iterator[Any]:
    """The rows that can hold a usage or a compaction, first to last; others are not even parsed.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        for line in file:
            if b'"usage"' in line or b"ompact" in line:
                yield from fastjson.loads_all(line.decode("utf-8", "replace"))
            if progress:
                progress(len(line))


class _Reader:
    def __init__(self) -> None:
        self.found = Scan()
        self.message_id: object = None
        self.summary_expected = False

    def take(self, row: Any) -> None:
        if rows.is_boundary(row):
            self._compaction(row)
            return
        usage = rows.usage_of(row)
        if usage is None:
            return
        self.summary_expected = False
        largest = max(self.found.largest_occupancy_tokens, usage.prompt_tokens)
        self.found.largest_occupancy_tokens = largest
        occupancies = self.found.occupancies
        if usage.message_id is None or usage.message_id != self.message_id:
            self.message_id = usage.message_id
            occupancies.append(usage.prompt_tokens)
        else:
            occupancies[-1] = usage.prompt_tokens

    def _compaction(self, row: Any) -> None:
        """Count a boundary and its summary as one; old sessions have the summary only."""
        self.found.occupancies.clear()
        self.message_id = None
        if rows.is_summary(row) and self.summary_expected:
            self.summary_expected = False
            return
        self.found.compactions += 1
        self.summary_expected = not rows.is_summary(row)
