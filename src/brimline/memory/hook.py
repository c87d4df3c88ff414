"""Memory's face to the hooks: the index where the client has none, and housekeeping.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.decision import Decision
    from brimline.hooks.turn import Turn

# Less than this says nothing.
_LEAST_CHARACTERS = 200
_HEAD = "[brimline] Memory of this project, from {}/MEMORY.md (the files beside it tell more):\n"


def session_start(turn: Turn) -> Decision | None:
    """The index, where a context begins anew and the client's own memory is switched off."""
    if not turn.policy.client.get("memory_off") or turn.event.source == "resume":
        return None
    from brimline.decision import Decision
    from brimline.memory import hot
    from brimline.settings.clientsettings import memory_folder

    place = memory_folder(turn.project)
    head = _HEAD.format(place)
    room = turn.characters_left_for_notes() - len(head) - 2
    text = hot.index_text_cut_to_fit(place, room) if room > _LEAST_CHARACTERS else ""
    return Decision(model_notes=(head + text,)) if text else None


def tidy(turn: Turn, until: float) -> None:
    """Take in what was said lately, as far as time allows."""
    from brimline.memory import deep

    deep.index_sources(turn.home, turn.project, turn.values["memory.exclude"], until=until)
