"""The session's face to the hooks: results that requests have no more; what copies have left.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.fast.decision import Decision
    from brimline.hooks.turn import Turn

_KEEP_S = 30 * 86_400
# In a session's folder: how many results were gone when that was last looked at.
_SEEN = "session-cleared-seen-"


def post_tool_use(turn: Turn) -> Decision | None:
    """Say what has been cleared, where the last reply counts results that are not sent any more."""
    mark = f"{_SEEN}{turn.reading.cleared_results}"
    if not turn.reading.cleared_results or mark in turn.state.names:
        return None
    from brimline.fast import io
    from brimline.session import cleared

    io.create_exclusively(f"{turn.state.folder}/{mark}", b"")
    return cleared.decision_on_news(turn)


user_prompt_submit = post_tool_use


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
