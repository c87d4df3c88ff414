"""The cost room's face to the hooks: a resumed session whose prompt cache has expired.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.decision import Decision
    from brimline.hooks.turn import Turn


def session_start(turn: Turn) -> Decision | None:
    """Tell the person, before it is paid, what the next request writes to the cache again."""
    if not turn.values["cost.cold_cache"]:
        return None
    from brimline.cost import expiry

    return expiry.decide(turn)
