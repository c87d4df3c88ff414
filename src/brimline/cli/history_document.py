"""The history as JSON documents: the keys that other programs rely on; unknown is null. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline import clock

if TYPE_CHECKING:
    from brimline.state.history import Notice, Overview, Percentiles, Session
    from brimline.state.turns import Compaction, Turn


def overview_document(found: Overview, *, every_compaction: bool) -> dict[str, Any]:
    """All sessions at a glance."""
    document: dict[str, Any] = {
        "session_count": found.session_count,
        "sessions": [_session_line(session) for session in found.recent],
        "compaction_count": len(found.compactions),
        "summary_characters": _percentiles(found.summary_characters),
        "damaged_lines": found.damaged_lines,
    }
    if every_compaction:
        document["compactions"] = [_compaction(one, name) for name, one in found.compactions]
    return document


def session_document(found: Session) -> dict[str, Any]:
    """One session in full."""
    return {
        "session_id": found.session_id,
        "project": found.project,
        "model": found.model,
        "window_tokens": found.window_tokens,
        "first_at": _time(found.first_at),
        "last_at": _time(found.last_at),
        "requests": len(found.story.occupancies),
        "peak_occupancy_tokens": found.peak_occupancy_tokens,
        "occupancy_tokens": found.story.occupancies,
        "turns": [_turn(turn) for turn in found.story.turns],
        "messages": [_notice(notice) for notice in found.messages],
        "blocks": [_notice(notice) for notice in found.blocks],
        "compactions": [_compaction(one, found.session_id) for one in found.compactions],
    }


def _session_line(found: Session) -> dict[str, Any]:
    return {
        "session_id": found.session_id,
        "project": found.project,
        "model": found.model,
        "window_tokens": found.window_tokens,
        "first_at": _time(found.first_at),
        "last_at": _time(found.last_at),
        "turns": len(found.story.turns),
        "requests": len(found.story.occupancies),
        "peak_occupancy_tokens": found.peak_occupancy_tokens,
        "compactions": len(found.compactions),
        "messages": len(found.messages),
        "blocks": len(found.blocks),
    }


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "number": turn.number,
        "at": _time(turn.at),
        "occupancy_tokens": turn.occupancy_tokens,
        "growth_tokens": turn.growth_tokens,
        "requests": turn.requests,
        "compactions": turn.compactions,
    }


def _notice(notice: Notice) -> dict[str, Any]:
    return {
        "at": _time(notice.at),
        "event": notice.event,
        "tier": notice.tier,
        "tool": notice.tool,
        "occupancy_tokens": notice.occupancy_tokens,
    }


def _compaction(found: Compaction, session_id: str) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "at": _time(found.at),
        "trigger": found.trigger,
        "pre_tokens": found.pre_tokens,
        "post_tokens": found.post_tokens,
        "summary_characters": found.summary_characters,
        "summary_source": found.summary_source,
    }


def _percentiles(found: Percentiles | None) -> dict[str, int] | None:
    if found is None:
        return None
    names = ("count", "p50", "p95", "p99", "largest")
    return {name: getattr(found, name) for name in names}


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else clock.format_utc(seconds)
