"""The face to the hooks: rewrites that were cut short.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.hooks.turn import Turn

# A larger merge of late lines is left to the next command.
_MOST_MERGED_BYTES = 50_000_000
_KEEP_S = 30 * 86_400


def tidy(turn: Turn, until: float) -> None:
    """Finish what a rewrite beside the session left undone; drop the way back of what is gone."""
    import os
    import time

    from brimline.session import recovery, restore

    folder = turn.event.transcript.rpartition("/")[0]
    if folder:
        recovery.finish_rewrites_at_path(folder, most_bytes=_MOST_MERGED_BYTES)
    if os.path.isdir(f"{turn.home}/backups/purges") and time.monotonic() < until:
        restore.forget_notes_of_gone_sessions(turn.home, time.time() - _KEEP_S)
