"""The compactions in a transcript: who asked, how full before and after, how long a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import clock
from brimline.transcript import rows
from brimline.transcript.scan import measured_rows

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


def read_compactions(path: str, progress: Callable[[int], None] | None = None) -> list[Recorded]:
    """Read a transcript in one streaming pass.

    Args:
        path: the session's file.
        progress: called with the number of bytes of each line.

    Raises:
        OSError: the file cannot be read.
    """
    reader = Reader()
    for row in measured_rows(path, progress):
        reader.take(row)
    return reader.found


class Reader:
    """Takes the rows of a session one after the other."""

    def __init__(self) -> None:
        self.found: list[Recorded] = []
        self.waits_for_usage = False
        self.waits_for_summary = False

    def take(self, row: Any) -> None:
        """Look at the next row."""
        if rows.is_boundary(row):
            self._boundary(row)
            return
        usage = rows.usage_of(row)
        if usage is None or not self.waits_for_usage:
            return
        # What the next request really took wins over what the client expected it to take.
        self.found[-1] = self.found[-1]._replace(post_tokens=usage.prompt_tokens)
        self.waits_for_usage = self.waits_for_summary = False

    def _boundary(self, row: dict[str, Any]) -> None:
        """A boundary and the summary after it are one; old sessions have the summary only."""
        length = _summary_characters(row) if rows.is_summary(row) else None
        if length is not None and self.waits_for_summary:
            self.found[-1] = self.found[-1]._replace(summary_characters=length)
            self.waits_for_summary = False
            return
        told = row.get("compactMetadata")
        figures = told if isinstance(told, dict) else {}
        self.found.append(
            Recorded(
                uuid=_text(row.get("uuid")),
                at=clock.parse(rows.timestamp_of(row)),
                trigger=_text(figures.get("trigger")),
                pre_tokens=_count(figures.get("preTokens")),
                post_tokens=_count(figures.get("postTokens")),
                summary_characters=length,
            )
        )
        self.waits_for_usage = True
        self.waits_for_summary = length is None


def _summary_characters(row: dict[str, Any]) -> int:
    message = row.get("message")
    return rows.content_characters(message.get("content")) if isinstance(message, dict) else 0


def _count(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 < value < 1 << 40 else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.isprintable() else None
