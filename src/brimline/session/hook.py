"""The face to the hooks: what copies that were cut short, or are gone, have left.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.hooks.turn import Turn

_KEEP_S = 30 * 86_400


def tidy(turn: Turn, until: float) -> None:
    """Drop unfinished copies beside the session, and the record of copies that are gone."""
    import os
    import time

    folder = turn.event.transcript.rpartition("/")[0]
    if not os.path.isdir(f"{turn.home}/copies"):
        return
    from brimline.session import copies, copying

    if folder:
        copying.remove_abandoned_drafts(folder)
    if time.monotonic() < until:
        copies.forget_gone(turn.home, time.time() - _KEEP_S)
