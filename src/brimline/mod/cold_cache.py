"""A pause in a running session: when its prompt cache expires, and what the person hears then."""

from __future__ import annotations

from typing import Any

from brimline.figures import expiry
from brimline.hooks.turn import Turn
from brimline.mod import typed_command


def respond(request: dict[str, Any], home_dir: str) -> dict[str, Any]:
    """Return the notice on an expired cache, or when to ask again; nothing where neither is due.

    Args:
        request: what the mod sends: session and folder.
        home_dir: the data folder.

    Raises:
        KeyError: it names no session.
    """
    turn = Turn(typed_command.Event(request), home_dir)  # type: ignore[arg-type]
    if turn.state.is_off or not turn.values["cost.cold_cache"]:
        return {}
    cache = expiry.cache_of_large_context(turn)
    left_s = cache.left_s() if cache else -1.0
    if left_s >= 0:
        return {"wait_s": left_s + 1}
    decision = expiry.decide(turn)
    return {"text": decision.person_notes[0]} if decision else {}
