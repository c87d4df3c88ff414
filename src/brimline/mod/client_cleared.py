"""What the client drops in a pause, asked for while it does so."""

from __future__ import annotations

from typing import Any

from brimline.hooks.turn import Turn
from brimline.mod import typed_command
from brimline.session import cleared


def respond(request: dict[str, Any], home_dir: str) -> dict[str, Any]:
    """Return what the model is told, and the person; nothing where nothing is new.

    Args:
        request: what the mod sends: session and folder.
        home_dir: the data folder.

    Raises:
        KeyError: it names no session.
        OSError: the session's file cannot be read.
    """
    turn = Turn(typed_command.Event(request), home_dir)  # type: ignore[arg-type]
    path = turn.event.transcript
    if turn.state.is_off or not path:
        return {}
    told = cleared.tell_of_cut(turn, cleared.wait_for_cut(path))
    return {"text": told.model, "person": told.person} if told else {}
