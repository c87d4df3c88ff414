"""A compaction as the client recorded it, and whether a resume undoes it."""

from __future__ import annotations

from typing import Any, NamedTuple

from brimline.transcript import row

# Of a larger file the client loads what stands behind the last compaction, and nothing else.
LOADED_WHOLE_BYTES = 5 << 20


class Recorded(NamedTuple):
    """One compaction; what the client did not write down is None."""

    uuid: str | None
    at: float | None
    trigger: str | None
    pre_tokens: int | None
    post_tokens: int | None
    summary_characters: int | None
    rewritten_tokens: int | None = None  # what the next request did not read from the cache


class Links:
    """Follows the rows of a session and tells what leads back before its last compaction.

    A row that a mod kept by its handle is written again with the id of its reply, and a result
    hangs on the call before the boundary. A resume follows both, so that all that was let go of
    comes back, unless the boundary names the rows that stay.
    """

    def __init__(self) -> None:
        self.leads_back = False
        # Whether nothing holds the last compaction: no summary, and no names of rows.
        self.is_bare = False
        self._is_void = False  # whether nothing was said since
        self._before: set[str | None] = set()
        self._since: set[str | None] = set()

    @property
    def would_resume_undo_compaction(self) -> bool:
        """Whether a resume undoes the last compaction, where it loads the file whole."""
        return self.is_bare and (self.leads_back or self._is_void)

    def read_row(self, fields: dict[str, Any], *, is_boundary: bool) -> None:
        """Look at the next row."""
        if row.is_sidechain(fields):
            return
        if is_boundary:
            self._before |= self._since - {None}
            self._since, self.leads_back, self._is_void = set(), False, True
            self.is_bare = not row.is_summary(fields) and not row.preserved_ids_and_ends(fields)[0]
        reply = row.message_id(fields)
        if self.is_bare:
            self._is_void &= not row.is_message(fields)
            self.leads_back |= not self._before.isdisjoint((reply, row.parent_of(fields)))
        self._since.add(row.uuid_of(fields))
        self._since.add(reply)
