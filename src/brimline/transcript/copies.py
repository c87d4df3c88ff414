"""Which rows of a session are the conversation now, and which have only been written again.

A compaction without a model leaves no summary: behind its boundary the client writes every row that
it kept once more, under a new name, with the time at which it was first written. So rows behind
such a boundary that are older than it are copies: they are in the context, but nothing in them has
happened again. Replies that a mod rebuilt bear the mark of replies that no model wrote.
"""

from __future__ import annotations

from brimline.transcript import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KINDS = ("user", "assistant", "attachment")


class Copies:
    """Follows the rows of a session, first to last."""

    def __init__(self, boundary_at: str = "") -> None:
        # When the last compaction was, as long as only copies came since; else empty.
        self.boundary_at = boundary_at

    def is_copy(self, fields: Any) -> bool:
        """Tell whether the next row has only been written again."""
        if row.is_boundary(fields):
            # One with a summary keeps the names of the rows that stay.
            self.boundary_at = "" if row.is_summary(fields) else row.timestamp_of(fields) or ""
            return False
        if not self.boundary_at or not isinstance(fields, dict) or row.is_sidechain(fields):
            return False
        written_at = row.timestamp_of(fields)
        if row.kind_of(fields) not in _KINDS or not written_at:
            return False
        if written_at >= self.boundary_at:
            self.boundary_at = ""
        return bool(self.boundary_at)


def as_said(fields: dict[str, Any]) -> dict[str, Any]:
    """A copy as the row that it is a copy of: a rebuilt reply is one of the assistant's."""
    return row.without_model(fields) if row.is_synthetic(fields) else fields
