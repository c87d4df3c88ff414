"""The store's face to the hooks: housekeeping only.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.hooks.turn import Turn


def tidy(turn: Turn, until: float) -> None:
    """The store's limits, once a day."""
    import os

    if os.path.isdir(f"{turn.home}/store"):
        from brimline.store import retention

        limits = (turn.values["store.max_mb"], turn.values["store.max_age_days"])
        retention.tidy(turn.home, *limits, turn.traces, until=until)
