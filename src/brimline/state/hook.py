"""The state's face to the hooks: what a session began with.

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
