"""What a session read from the prompt cache and wrote into it, and what broke its prefix."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import clock
from brimline.transcript import read, row

if TYPE_CHECKING:
    from collections.abc import Mapping

    from brimline.transcript.read import Progress

# A prefix counts as broken when so much of the request before was not found again.
_LEAST_TOKENS, _LEAST_SHARE = 2_000, 0.05
_MOST_KINDS = 3
# A line about an edit is written when the answer has ended, a row a moment later or earlier.
_SLACK_S = 5.0


class Break(NamedTuple):
    """A request that had to write again what the cache had held."""

    at: float
    tokens: int
    cause: str


@dataclass
class Caching:
    """The cache's figures of one session."""

    requests: int = 0
    read_tokens: int = 0
    written_tokens: int = 0
    breaks: list[Break] = field(default_factory=list)

    @property
    def causes(self) -> dict[str, int]:
        """How often what broke it."""
        return dict(Counter(each.cause for each in self.breaks).most_common())


def scan_cache(path: str, edits: Mapping[float, str], progress: Progress = None) -> Caching:
    """Read a transcript's usage from its first reply to its last.

    Args:
        path: the session's file.
        edits: when a gateway edited what had been sent, and why.
        progress: called with the number of bytes of each line.

    Raises:
        OSError: the file cannot be read.
    """
    scan = CacheScan(edits)
    for fields in read.rows_of_file(path, progress=progress):
        scan.read_row(fields)
    return scan.found


class _Request(NamedTuple):
    read_tokens: int = 0
    written_tokens: int = 0
    lifetime_s: int = 0
    model: str | None = None
    at: float = 0.0


class CacheScan:
    """Takes the rows of a session one after the other."""

    def __init__(self, edits: Mapping[float, str]) -> None:
        self.found = Caching()
        self._edits = edits
        self._last: _Request | None = None
        self._seen: set[str] = set()
        self._between: Counter[str] = Counter()
        self._is_compacted = False

    def read_row(self, fields: dict[str, Any]) -> None:
        """Look at the next row."""
        if row.is_compaction_row(fields):
            self._is_compacted = True
        kind = row.attachment_of(fields).get("type")
        if isinstance(kind, str):
            self._between[kind] += 1
        cached, name = row.cache_use_of(fields), row.message_id(fields)
        if cached is None or (name and name in self._seen):
            return
        self._seen.add(name or "")
        last = self._last
        at = clock.parse_utc(row.timestamp_text_of(fields)) or (last.at if last else 0.0)
        now = _Request(*cached, at)
        self.found.requests += 1
        self.found.read_tokens += now.read_tokens
        self.found.written_tokens += now.written_tokens
        if last is not None:
            self._note_if_broken(last, now)
        self._last = now
        self._between.clear()
        self._is_compacted = False

    def _note_if_broken(self, last: _Request, now: _Request) -> None:
        """Note what the cache held after a request and did not give to the next."""
        held = last.read_tokens + last.written_tokens
        lost = held - now.read_tokens
        if lost > max(_LEAST_TOKENS, _LEAST_SHARE * held):
            self.found.breaks.append(Break(now.at, lost, self._cause_of_break(last, now)))

    def _cause_of_break(self, last: _Request, now: _Request) -> str:
        if self._is_compacted:
            return "compaction"
        if now.model != last.model:
            return "another model"
        if now.at - last.at > last.lifetime_s:
            return "expired"
        edits = [why for when, why in self._edits.items() if last.at <= when <= now.at + _SLACK_S]
        if edits:
            return f"gateway, {edits[0]}"
        kinds = [kind for kind, _ in self._between.most_common(_MOST_KINDS)]
        return f"unknown, after {', '.join(kinds)}" if kinds else "unknown"
