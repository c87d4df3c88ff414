"""The state's face to the hooks: what a session began with, and housekeeping of all sessions.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from brimline.hooks.turn import Turn

_KEEP_S = 30 * 86_400
_TRANSIENT = (
    "spoke-L",
    "window-",
    "compacted-",
    "ceiling-",
    "quota-",
    "reminder",
    "telemetry.json",
)


def session_start(turn: Turn) -> None:
    """Put on record what the client says of the session."""
    event = turn.event
    fields = {
        "source": event.source,
        "model": event.model,
        "cwd": event.cwd,
        "transcript_path": event.transcript,
    }
    turn.note(event.name, **{key: text for key, text in fields.items() if text})


def tidy(turn: Turn, until: float) -> None:
    """Drain the spools, let go of sessions that are gone."""
    import time

    from brimline.state import series

    left_s = max(0.0, until - time.monotonic()) / 2
    drained = turn.attempt("draining", lambda: series.drain(turn.home, budget_s=left_s))
    _let_go(turn, until, is_drained=bool(drained and drained.finished and not drained.unreadable))


def _let_go(turn: Turn, until: float, *, is_drained: bool) -> None:
    """A day later tiers and telemetry go; a month later all that the series holds anyway.

    The order is another one each time: what there was no time for today comes first some day.
    """
    import os
    import random
    import time

    from brimline import fastio, paths

    parent = paths.sessions_dir(turn.home)
    names = fastio.names_in(parent)
    random.shuffle(names)
    stale_s = turn.values["state.max_age_hours"] * 3_600
    for name in names:
        if time.monotonic() >= until:
            return
        folder = f"{parent}/{name}"
        if name == turn.state.session_id or os.path.islink(folder) or not os.path.isdir(folder):
            continue
        files = fastio.names_in(folder)
        places = [folder, *[f"{folder}/{file}" for file in files]]
        age_s = time.time() - max([os.lstat(place).st_mtime for place in places])
        gone = age_s > _KEEP_S and is_drained
        for file in files:
            if gone or (age_s > stale_s and file.startswith(_TRANSIENT)):
                fastio.remove(f"{folder}/{file}")
        if gone:
            os.rmdir(folder)
