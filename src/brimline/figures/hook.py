"""Figures' face to the hooks: housekeeping.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.hooks.turn import Turn


def tidy(turn: Turn, until: float) -> None:
    """Bring the history up to date, let go of sessions that are gone; learn from the others."""
    from brimline.figures import history

    turn.attempt("learned", _save_learned_figures, turn)
    history.tidy(turn.home, turn.state.session_id, turn.traces, until)


def _save_learned_figures(turn: Turn) -> None:
    """What earlier sessions teach, for the compiled settings."""
    import os

    from brimline.fast import io, json, paths
    from brimline.figures import history, store
    from brimline.gauge import forecast
    from brimline.state import learned

    document: dict[str, Any] = {"points": learned.learned_points_by_window(turn.home)}
    with store.opened(turn.home) as figures:
        segments = [sizes for _, sizes in history.segments_of_recent_sessions(figures)]
    if segments:
        document["usual_growth_tokens"] = forecast.learn_usual_tokens(segments)
    data = json.dumps(document).encode()
    path = paths.learned_file(turn.home)
    if not os.path.exists(path) or io.read_file(path) != data:
        io.replace_file(path, data)
