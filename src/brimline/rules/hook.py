"""The rules' face to the hooks: instruction files are read once, when a session starts.

Fast path: imports nothing. From them comes the text of files that the client does not load itself.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.fast.decision import Decision
    from brimline.hooks.turn import Turn

# What they may take of the text that one answer holds for the model.
_MOST_CHARACTERS = 4_000


def session_start(turn: Turn) -> Decision | None:
    """The user's own file for this project, where a context begins anew."""
    if turn.event.source not in ("startup", "clear", "compact"):
        return None
    from brimline.fast.decision import Decision
    from brimline.rules import cascade, marked

    files = cascade.gather_instruction_files(turn.project)
    room = min(_MOST_CHARACTERS, turn.characters_left_for_notes() - 2)
    text = marked.text_of_files_only_we_load(files, room)
    return Decision(model_notes=(text,)) if text else None
