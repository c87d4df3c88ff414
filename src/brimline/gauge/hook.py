"""The gauge's face to the hooks: every turn is measured, on record, and there for who polls.

Fast path: imports only `time` and `state.session`.
"""

from __future__ import annotations

import time

from brimline.state.session import TELEMETRY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.gauge.reading import Reading
    from brimline.hooks.turn import Turn
    from brimline.state.session import SessionState

# Replacing a file costs more than everything else a quiet hook does, so the telemetry is renewed
# when something worth polling for has changed: the tier, a point of the window, the end of a turn.
_STEP_RATIO = 0.01


def session_start(turn: Turn) -> None:
    """Put on record what the client says of the session."""
    event = turn.event
    fields = {"source": event.source, "model": event.model, "cwd": event.cwd}
    fields |= {"transcript_path": event.transcript}
    turn.spool_event(event.name, **{key: text for key, text in fields.items() if text})


def post_tool_use(turn: Turn) -> None:
    """Measure; tell those who poll where the figures moved enough."""
    reading, published = turn.reading, turn.state.read_document(TELEMETRY)
    turn.spool_event(turn.event.name, **reading.recorded_figures())
    before: Any = published.get("occupancy_tokens")
    is_news = not isinstance(before, int) or published.get("level") != reading.tier
    step = _STEP_RATIO * reading.window.tokens
    if is_news or abs((reading.occupancy_tokens or 0) - before) >= step:
        save_telemetry_file(reading, turn.state)


def user_prompt_submit(turn: Turn) -> None:
    """Measure, and tell those who poll."""
    turn.spool_event(turn.event.name, **turn.reading.recorded_figures())
    save_telemetry_file(turn.reading, turn.state)


stop = user_prompt_submit


def pre_compact(turn: Turn) -> None:
    """Record how full the window was, who asked for the compaction and what was expected."""
    point = turn.reading.compaction
    known: dict[str, Any] = {"trigger": turn.event.trigger, "ending": point.ending}
    known |= {"effective": point.effective_window_tokens, "expected": point.expected_tokens}
    turn.spool_event(turn.event.name, **known, **turn.reading.recorded_figures())


def post_compact(turn: Turn) -> None:
    """Learn where the client compacts by itself; what was measured before is gone."""
    from brimline.fast import io
    from brimline.state import learned

    event, state = turn.event, turn.state
    state.save_size_at_compaction(io.file_size(event.transcript))
    turn.spool_event(event.name, trigger=event.trigger, summary_characters=len(event.summary))
    if not state.recent_cold_compaction_row():
        learned.record_automatic_compaction(turn.home, state, event.trigger)


def save_telemetry_file(reading: Reading, state: SessionState) -> None:
    """Write the figures; an unknown occupancy leaves the last known ones in place."""
    if reading.occupancy_tokens is None:
        return
    reading.fill_in_occupancies()
    head = {"session_id": state.session_id, "at": round(time.time(), 3), "level": reading.tier}
    document = head | reading.document()
    for end in ("", "_low", "_high"):
        document[f"predicted_exhaustion_ops{end}"] = document[f"forecast_ops{end}"]
    state.save_document(TELEMETRY, document)
