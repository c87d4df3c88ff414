"""The state's face to the hooks: what a session began with, and housekeeping of all sessions.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.hooks.turn import Turn


def session_start(turn: Turn) -> None:
    """Put on record what the client says of the session."""
    event = turn.event
    fields = {"source": event.source, "model": event.model, "cwd": event.cwd}
    fields |= {"transcript_path": event.transcript}
    turn.spool_event(event.name, **{key: text for key, text in fields.items() if text})


def tidy(turn: Turn, until: float) -> None:
    """Bring the history up to date, let go of sessions that are gone."""
    from brimline.state import history

    history.tidy(turn.home, turn.state.session_id, turn.traces, until)
