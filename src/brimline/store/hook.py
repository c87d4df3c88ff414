"""The store's face to the hooks: housekeeping only.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.hooks.turn import Turn


def tidy(turn: Turn, until: float) -> None:
    """Once a day: the store's limits, then a better compression of what hooks wrote in haste."""
    import os
    import time

    if not os.path.isdir(f"{turn.home}/store"):
        return
    from brimline.store import caps, recompress

    values = turn.values
    limits = {"max_mb": values["store.max_mb"], "max_age_days": values["store.max_age_days"]}
    left_s = until - time.monotonic()
    if left_s > 0 and caps.enforce_caps(turn.home, **limits, budget_s=left_s) is not None:
        left_s = max(0.0, until - time.monotonic())
        recompress.recompress(turn.home, values["store.compression"], budget_s=left_s)
