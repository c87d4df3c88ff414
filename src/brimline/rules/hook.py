"""The face of the instruction files to the hooks: at a start, what the client does not load.

Fast path: imports nothing. Marked rules come with the policy, which a start compiles anew.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.decision import Decision
    from brimline.hooks.turn import Turn


def session_start(turn: Turn) -> Decision | None:
    """The organisation's file and the user's own for this project, once per context."""
    if turn.event.source not in ("startup", "clear", "compact"):
        return None  # a resumed session has them in its transcript
    from brimline.decision import Decision
    from brimline.rules import assemble

    organisation_file = turn.values["rules.organisation_file"]
    text = assemble.unknown_to_client(turn.project, organisation_file, turn.note_room() // 2)
    return Decision(model_notes=(text,)) if text else None
