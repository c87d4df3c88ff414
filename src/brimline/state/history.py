"""Questions to the time series: sessions, compactions, the size of summaries, growth."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from brimline.state import database, recorded, turns

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

Value = TypeVar("Value")
RECENT_SESSIONS = 20
# Growth of older sessions says little about this week's work, and this much is read in 0.1 s.
_GROWTH_EVENTS = 40_000
_EVENT_COLUMNS = """
    id, at, event, occupancy, tail, window, tier, transcript_offset, "trigger", source, model, cwd,
    spoke, blocked, tool, summary_characters
"""


@dataclass(frozen=True, slots=True)
class Percentiles:
    """How a figure is spread: each is a value that occurred (nearest rank)."""

    count: int
    p50: int
    p95: int
    p99: int
    largest: int


class Notice(NamedTuple):
    """A tier that was announced, or a tool call that was refused."""

    at: float
    event: str
    occupancy_tokens: int | None
    tier: int | None
    tool: str | None


@dataclass(slots=True)
class Session:
    """What the series knows of one session."""

    session_id: str
    project: str | None = None
    model: str | None = None
    window_tokens: int | None = None
    first_at: float | None = None
    last_at: float | None = None
    event_count: int = 0
    story: turns.Story = field(default_factory=turns.Story)
    messages: list[Notice] = field(default_factory=list)
    blocks: list[Notice] = field(default_factory=list)
    compactions: list[turns.Compaction] = field(default_factory=list)

    @property
    def peak_occupancy_tokens(self) -> int | None:
        """The fullest the window was seen."""
        return max(self.story.occupancies, default=None)


class Overview(NamedTuple):
    """All sessions at a glance."""

    session_count: int
    recent: list[Session]
    compactions: list[tuple[str, turns.Compaction]]
    """Of all sessions, with their ids, oldest first."""
    summary_characters: Percentiles | None
    damaged_lines: int


def overview(home_dir: str, limit: int = RECENT_SESSIONS) -> Overview:
    """The sessions that were active last, and every compaction.

    Raises:
        StateError: the series cannot be read.
    """

    def work(connection: sqlite3.Connection) -> Overview:
        names = _sessions(connection)
        found = _all_compactions(connection)
        sizes = [compaction.summary_characters for _, compaction in found]
        damaged = connection.execute("SELECT COALESCE(SUM(damaged), 0) FROM spool").fetchone()[0]
        return Overview(
            len(names),
            [_session(connection, name) for name in names[:limit]],
            found,
            percentiles([size for size in sizes if size is not None]),
            damaged,
        )

    return database.use(home_dir, work)


def session(home_dir: str, session_id: str) -> Session:
    """One session; an empty one where nothing is known of it.

    Raises:
        StateError: the series cannot be read.
    """
    return database.use(home_dir, lambda connection: _session(connection, session_id))


def matching(home_dir: str, start: str) -> list[str]:
    """The ids of known sessions that are, or else begin with, a text.

    Raises:
        StateError: the series cannot be read.
    """

    def work(connection: sqlite3.Connection) -> list[str]:
        query = "SELECT session FROM event UNION SELECT session FROM transcript ORDER BY 1"
        names = [name for (name,) in connection.execute(query)]
        return [start] if start in names else [name for name in names if name.startswith(start)]

    return database.use(home_dir, work)


def growth_statistics(
    home_dir: str, most_events: int = _GROWTH_EVENTS
) -> list[tuple[str | None, list[int]]]:
    """How recent sessions grew: model and occupancy at each request, between compactions.

    Raises:
        StateError: the series cannot be read.
    """
    if not os.path.exists(database.path(home_dir)):
        return []

    def work(connection: sqlite3.Connection) -> list[tuple[str | None, list[int]]]:
        segments = []
        read = 0
        for name in _sessions(connection):
            if read >= most_events:
                break
            found = _session(connection, name)
            segments += found.story.segments
            read += found.event_count
        return segments

    return database.use(home_dir, work)


def percentiles(values: Sequence[int]) -> Percentiles | None:
    """The spread of some values; None without any."""
    if not values:
        return None
    ordered = sorted(values)
    p50, p95, p99 = [ordered[-(-len(ordered) * share // 100) - 1] for share in (50, 95, 99)]
    return Percentiles(len(ordered), p50, p95, p99, ordered[-1])


def _sessions(connection: sqlite3.Connection) -> list[str]:
    """Known sessions, the one active last first."""
    query = "SELECT session FROM event GROUP BY session ORDER BY MAX(at) DESC, session"
    return [name for (name,) in connection.execute(query)]


def _session(connection: sqlite3.Connection, session_id: str) -> Session:
    events = _events(connection, session_id)
    found = Session(session_id, event_count=len(events))
    own = turns.compactions_of(events)
    found.compactions = turns.merge(
        own, recorded.by_session(connection, session_id).get(session_id, [])
    )
    _add_post_tokens(connection, session_id, found.compactions)
    found.story = turns.tell(events, found.compactions)
    found.project = next((event.cwd for event in events if event.cwd), None)
    found.model = _last([event.model for event in events])
    found.window_tokens = _last([event.window_tokens for event in events])
    _add_notices(found, events)
    if events:
        found.first_at, found.last_at = events[0].at, events[-1].at
    return found


def _events(connection: sqlite3.Connection, session_id: str) -> list[turns.Event]:
    rows = connection.execute(
        f"SELECT {_EVENT_COLUMNS} FROM event WHERE session = ? ORDER BY at, id",  # noqa: S608
        (session_id,),
    )
    return [turns.Event(*row) for row in rows]


def _all_compactions(connection: sqlite3.Connection) -> list[tuple[str, turns.Compaction]]:
    """Of all sessions; one that was copied into a resumed session counts once."""
    own = _own_compactions(connection)
    others = recorded.by_session(connection)
    found: list[tuple[str, turns.Compaction]] = []
    seen: set[str] = set()
    for name in sorted(own.keys() | others.keys()):
        merged = turns.merge(own.get(name, []), others.get(name, []))
        _add_post_tokens(connection, name, merged)
        for compaction in merged:
            if compaction.uuid is None or compaction.uuid not in seen:
                found.append((name, compaction))
            seen.add(compaction.uuid or "")
    return sorted(found, key=lambda pair: pair[1].begun_at)


def _own_compactions(connection: sqlite3.Connection) -> dict[str, list[turns.Compaction]]:
    rows = connection.execute(
        f"""
        SELECT session, {_EVENT_COLUMNS} FROM event
        WHERE event IN ('PreCompact', 'PostCompact')
            OR (event = 'SessionStart' AND source = 'compact')
        ORDER BY session, at, id
        """  # noqa: S608 - names of ours
    )
    events: dict[str, list[turns.Event]] = {}
    for name, *values in rows:
        events.setdefault(name, []).append(turns.Event(*values))
    return {name: turns.compactions_of(found) for name, found in events.items()}


def _add_post_tokens(
    connection: sqlite3.Connection, session_id: str, found: list[turns.Compaction]
) -> None:
    """Where the transcript does not tell: the first reading of a request after the compaction."""
    ends = [compaction.begun_at for compaction in found[1:]] + [float("inf")]
    for compaction, end in zip(found, ends, strict=False):
        if compaction.post_tokens is not None or compaction.at is None:
            continue
        row = connection.execute(
            """
            SELECT occupancy FROM event
            WHERE session = ? AND at >= ? AND at < ? AND occupancy IS NOT NULL
                AND transcript_offset > ?
            ORDER BY at, id LIMIT 1
            """,
            (session_id, compaction.at, end, compaction.pre_offset or 0),
        ).fetchone()
        compaction.post_tokens = row[0] if row else None


def _add_notices(found: Session, events: list[turns.Event]) -> None:
    """What was said and refused; an event without a reading has the last one before it."""
    tokens: int | None = None
    for event in events:
        tokens = event.occupancy_tokens if event.occupancy_tokens is not None else tokens
        tier = event.spoke if event.spoke is not None else event.tier
        notice = Notice(event.at, event.event, tokens, tier, event.tool)
        if event.spoke:
            found.messages.append(notice)
        if event.blocked:
            found.blocks.append(notice)


def _last(values: list[Value | None]) -> Value | None:
    return next((value for value in reversed(values) if value is not None), None)
