"""The rules' face to the hooks: instruction files that the client does not load by itself.

Fast path: imports nothing. Marked rules are in the compiled settings; no hook reads files for them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.decision import Decision
    from brimline.hooks.turn import Turn

# What they may take of the text that one answer holds for the model.
_MOST_CHARACTERS = 4_000


def session_start(turn: Turn) -> Decision | None:
    """The organisation's file and the user's own for this project, where a context begins anew."""
    if turn.event.source not in ("startup", "clear", "compact"):
        return None
    from brimline.decision import Decision
    from brimline.rules import marked

    room = min(_MOST_CHARACTERS, turn.note_room() - 2)
    organisation_file = turn.values["rules.organisation_file"]
    text = marked.unknown_to_client(turn.project, organisation_file, room)
    return Decision(model_notes=(text,)) if text else None
