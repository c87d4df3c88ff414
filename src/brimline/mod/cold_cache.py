"""A cold cache: when it is so in a pause, what the person hears, what a compaction saves."""

from __future__ import annotations

from typing import Any

from brimline.fast import clock
from brimline.figures import expiry
from brimline.hooks.turn import Turn
from brimline.mod import typed_command


def respond(request: dict[str, Any], home_dir: str) -> dict[str, Any]:
    """Return the notice on an expired cache, or when to ask again; nothing where neither is due.

    What a compaction saves is added if the person wants one made.

    Args:
        request: what the mod sends: session and folder.
        home_dir: the data folder.

    Raises:
        KeyError: it names no session.
    """
    turn = Turn(typed_command.Event(request), home_dir)  # type: ignore[arg-type]
    wanted = turn.values["compaction.when_cold"]
    if turn.state.is_off or wanted == "off":
        return {}
    cache = expiry.cache_of_large_context(turn)
    left_s = cache.left_s() if cache else -1.0
    if left_s >= 0:
        return {"wait_s": left_s + 1}
    offer = expiry.offer_of_compaction(turn)
    if offer is None:
        return {}
    answer = {"text": offer.text(clock.now_s())} if expiry.claim_pause(turn, offer) else {}
    return answer | ({"saving": offer.saving_text()} if wanted == "do" else {})
