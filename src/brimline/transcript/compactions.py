"""What a session went through: every request and every compaction, in one streaming pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import clock
from brimline.transcript import read, row

if TYPE_CHECKING:
    from brimline.transcript.read import Progress


# Of a larger file the client loads what stands behind the last compaction, and nothing else.
LOADED_WHOLE_BYTES = 5 << 20


class Request(NamedTuple):
    """One request of the main thread; `tokens` is its occupancy."""

    at: float
    tokens: int
    model: str | None


class Recorded(NamedTuple):
    """One compaction; what the client did not write down is None."""

    uuid: str | None
    at: float | None
    trigger: str | None
    pre_tokens: int | None
    post_tokens: int | None
    summary_characters: int | None
    rewritten_tokens: int | None = None  # what the next request did not read from the cache


def scan_session(path: str, progress: Progress = None) -> Scan:
    """Read a transcript from its first line to its last.

    Args:
        path: the session's file.
        progress: called with the number of bytes of each line.

    Raises:
        OSError: the file cannot be read.
    """
    session = Scan()
    for fields in read.rows_of_file(path, read.MEASURED, progress):
        session.read_row(fields)
    return session


class Scan:
    """Takes the rows of a session one after the other."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.compactions: list[Recorded] = []
        self._since = 0
        self._message_id: object = None
        self._waits_for_summary = False

    @property
    def occupancies_since_compaction(self) -> list[int]:
        """Occupancy at each request since the last compaction, oldest first."""
        return [request.tokens for request in self.requests[self._since :]]

    @property
    def largest_occupancy_tokens(self) -> int:
        """The fullest the window ever was."""
        return max((request.tokens for request in self.requests), default=0)

    def read_row(self, fields: dict[str, Any]) -> None:
        """Look at the next row."""
        if row.is_compaction_row(fields):
            self._note_compaction(fields)
            return
        if self.compactions and row.is_idle_compaction_notice(fields):
            self.compactions[-1] = self.compactions[-1]._replace(trigger="idle")
        usage = row.usage_of(fields)
        if usage is not None:
            self._note_request(usage)

    def _note_request(self, usage: row.Usage) -> None:
        """A reply: of several rows of one the last tells how large it was."""
        tokens = usage.prompt_tokens
        if self.compactions and self._since == len(self.requests):
            # What the next request really took wins over what the client expected it to take.
            self.compactions[-1] = self.compactions[-1]._replace(
                post_tokens=tokens, rewritten_tokens=usage.fresh_tokens
            )
        self._waits_for_summary = False
        if usage.message_id is not None and usage.message_id == self._message_id:
            self.requests[-1] = self.requests[-1]._replace(tokens=tokens)
            return
        self._message_id = usage.message_id
        before = self.requests[-1].at if self.requests else 0.0
        self.requests.append(
            Request(clock.parse_utc(usage.timestamp) or before, tokens, usage.model)
        )

    def _note_compaction(self, fields: dict[str, Any]) -> None:
        """A boundary and the summary after it are one; old sessions have the summary only."""
        self._since = len(self.requests)
        self._message_id = None
        summary = row.blocks_sent_to_model(fields) if row.is_summary(fields) else None
        length = None if summary is None else row.content_characters(summary)
        if length is not None and self._waits_for_summary:
            self.compactions[-1] = self.compactions[-1]._replace(summary_characters=length)
            self._waits_for_summary = False
            return
        name, at = row.uuid_of(fields), clock.parse_utc(row.timestamp_text_of(fields))
        name = name if name and name.isprintable() else None
        self.compactions.append(Recorded(name, at, *row.compaction_figures(fields), length))
        self._waits_for_summary = length is None


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
        self._before: set[str] = set()
        self._since: set[str] = set()

    @property
    def would_resume_undo_compaction(self) -> bool:
        """Whether a resume undoes the last compaction, where it loads the file whole."""
        return self.is_bare and (self.leads_back or self._is_void)

    def read_row(self, fields: dict[str, Any]) -> None:
        """Look at the next row."""
        if row.is_sidechain(fields):
            return
        if row.is_compaction_row(fields):
            self._before |= self._since
            self._since, self.leads_back, self._is_void = set(), False, True
            self.is_bare = not row.is_summary(fields) and not row.preserved_ids_and_ends(fields)[0]
        self._is_void &= not row.is_message(fields)
        reply, parent = row.message_id(fields), fields.get(row.PARENT_FIELD)
        names = [name for name in (reply, parent) if isinstance(name, str)]
        self.leads_back |= not self._before.isdisjoint(names)
        self._since.update(filter(None, (row.uuid_of(fields), reply)))
