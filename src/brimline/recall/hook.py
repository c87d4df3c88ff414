"""Recall's face to the hooks: our own tool may pass, the index of memory, namesakes, housekeeping.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.fast.decision import Decision
    from brimline.hooks.turn import Turn

# How a session starts that may meet a namesake of ours.
_BEGINNINGS = ("startup", "resume", "fork")
# Less than this says nothing.
_LEAST_CHARACTERS = 200
NAMESAKE = "{} puts something else named `brimline` in the place of brimline's own."
_HEAD = "[brimline] Memory of this project, from {}/MEMORY.md (the files beside it tell more):\n"


def session_start(turn: Turn) -> Decision | None:
    """The index of memory; and a word where a project's server or mod stands in our place."""
    index, namesake = _memory_index(turn), _namesake(turn)
    if not index and not namesake:
        return None
    from brimline.fast.decision import Decision

    notes = (index, f"[brimline] {namesake}" if namesake else "")
    said = (f"brimline: {namesake}",) if namesake else ()
    return Decision(model_notes=tuple(filter(None, notes)), person_notes=said)


def pre_tool_use(turn: Turn) -> Decision | None:
    """Leave to call `recall`, where the client says that it would ask our own server.

    A project's server of that name stands before the user's, so that a permission rule, which knows
    names only, would let a stranger's pass. The client puts a rule that asks or denies above this.
    """
    source = turn.event.server_source
    if source not in ("user", "plugin"):
        return None
    from brimline.fast import paths
    from brimline.fast.decision import Decision
    from brimline.settings import clientsettings, plugins

    if source == "user":
        is_ours = clientsettings.is_mcp_server_ours()
    else:  # which plugin's, the client does not say: there must be no other of our name
        others = plugins.plugins_of_our_name(turn.event.cwd or turn.project)[1:]
        is_ours = paths.is_plugin() and not others
    if not is_ours:
        return None
    return Decision(permission="allow", reason="brimline: recall gives what this project stored")


def tidy(turn: Turn, until: float) -> None:
    """Take in the words of outputs stored lately and what was said, as far as time allows."""
    import os

    from brimline.recall import deep

    if os.path.isdir(f"{turn.home}/store"):
        from brimline.recall import stored

        stored.tidy(turn.home, until=until)
    if (exclude := turn.values["memory.exclude"]) is not None:
        deep.index_sources(turn.home, turn.project, exclude, until=until)


def _memory_index(turn: Turn) -> str:
    """The index, where a context begins anew and the client's own memory is switched off."""
    if not turn.policy.client.get("memory_off") or turn.event.source == "resume":
        return ""
    from brimline.recall import hot
    from brimline.settings.clientsettings import memory_folder

    place = memory_folder(turn.project)
    head = _HEAD.format(place)
    room = turn.characters_left_for_notes() - len(head) - 2
    text = hot.index_text_cut_to_fit(place, room) if room > _LEAST_CHARACTERS else ""
    return head + text if text else ""


def _namesake(turn: Turn) -> str:
    """What stands in the place of our server or our mod, where a session begins or goes on."""
    if turn.event.source not in _BEGINNINGS:
        return ""
    from brimline.foreign import flatten
    from brimline.settings import plugins

    found = plugins.namesakes(turn.event.cwd or turn.project)
    return NAMESAKE.format(flatten(found[0])) if found else ""
