"""The latest figures of a session in one small file, for programs that poll.

Fast path: imports nothing at module level. Replacing a file costs more than everything else a quiet
hook does, so the file is renewed when something worth polling for has changed: the tier, a point of
the window, the end of a turn.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.gauge.reading import Reading
    from brimline.state.session import SessionState

_STEP_RATIO = 0.01


def is_due(reading: Reading, known: dict[str, Any]) -> bool:
    """Whether the figures moved enough since they were told last."""
    if reading.occupancy_tokens is None:
        return False
    told = known.get("occupancy_tokens")
    if not isinstance(told, int) or known.get("level") != reading.tier:
        return True
    return abs(reading.occupancy_tokens - told) >= _STEP_RATIO * reading.window.tokens


def publish(reading: Reading, state: SessionState) -> None:
    """Write the figures; an unknown occupancy leaves the last known ones in place.

    Raises:
        OSError: the file cannot be written.
    """
    if reading.occupancy_tokens is None:
        return
    reading.look_back()
    outlook = reading.forecast()
    state.save_telemetry(
        {
            "level": reading.tier,
            "tier_name": reading.tier_name,
            "velocity_tokens_per_op": reading.velocity(),
            "predicted_exhaustion_ops": outlook.ops if outlook else None,
            "predicted_exhaustion_ops_low": outlook.low if outlook else None,
            "predicted_exhaustion_ops_high": outlook.high if outlook else None,
            "occupancy_tokens": reading.occupancy_tokens,
            "projected_tokens": reading.projected_tokens,
            "margin_tokens": reading.margin_tokens,
            "window_tokens": reading.window.tokens,
            "window_source": reading.window.source,
            "compaction_tokens": reading.compaction.tokens,
            "compaction_source": reading.compaction.source,
            "measured_by": reading.measured_by,
            "measured_at": reading.measured_at,
        }
    )
