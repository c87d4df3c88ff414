"""The audit trail: one `CONTEXT_PRESSURE` line per escalation and per refusal, append-only."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from brimline import fastio, fastjson, paths

if TYPE_CHECKING:
    from typing import Protocol

    class _Window(Protocol):
        tokens: int
        source: str

    class _Reading(Protocol):
        """The part of a reading that is audited; readings themselves live in a room above."""

        occupancy_tokens: int | None
        projected_tokens: int | None
        margin_tokens: int | None
        tier: int | None
        window: _Window


FORMAT = 1
EVENT = "CONTEXT_PRESSURE"


def record_escalation(home_dir: str, session_id: str, reading: _Reading, level: int) -> None:
    """A tier was entered and announced."""
    _append(home_dir, session_id, reading, {"kind": "escalation", "level": level})


def record_block(
    home_dir: str, session_id: str, reading: _Reading, subject: str, reason: str
) -> None:
    """A tool call was refused."""
    fields = {"kind": "block", "level": reading.tier, "subject": subject, "reason": reason}
    _append(home_dir, session_id, reading, fields)


def _append(home_dir: str, session_id: str, reading: _Reading, fields: dict[str, Any]) -> None:
    line = {
        "v": FORMAT,
        "event": EVENT,
        "at": round(time.time(), 3),
        "session": session_id,
        "occupancy_tokens": reading.occupancy_tokens,
        "projected_tokens": reading.projected_tokens,
        "margin_tokens": reading.margin_tokens,
        "window_tokens": reading.window.tokens,
        "window_source": reading.window.source,
    } | fields
    fastio.append_line(paths.audit_log(home_dir), fastjson.dumps(line))
