"""Where contexts really end: samples of past automatic compactions, and their median.

Samples are only ever appended.
A point is learned per window, settings and ending. One that the user asked for says nothing, and
one far from the expected point would poison the rest. Where the client compacts only once the API
has refused a request, the point is that of the refusal.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import models
from brimline.fast import json

if TYPE_CHECKING:
    from brimline.state.session import SessionState

_FILE = "/learned.jsonl"
LAST_SAMPLES = 10
LEAST_SAMPLES = 3
# Ratio of the effective window: how far from an expected point a sample may lie.
NEAR_RATIO = 0.10
# A refusal says itself what it is; only one of a half-empty context is no sign of the size.
REFUSED_RATIO = 0.5
# A compaction takes seconds; an older note belongs to one that never came to its end.
_OLDEST_NOTE_S = 600
# The client compacts a large context that was not used for about 54 minutes.
_IDLE_S = 45 * 60
_EVENTS_OF_USE = ("UserPromptSubmit", "PostToolUse", "Stop")


class Sample(NamedTuple):
    """One compaction: how many tokens it came at, on which window, and who asked for it."""

    at: float
    session: str
    window: int
    effective: int
    tokens: int
    trigger: str
    # Where the settings of that moment led to expect it.
    expected: int | None = None
    # `refusal` where it followed one of the API's.
    ending: str | None = None

    @property
    def key(self) -> str:
        """What must be the same for two samples to be comparable."""
        key = f"{self.window}:{self.effective}"
        return f"{key}:refusal" if self.ending == "refusal" else key


def record_sample(home_dir: str, sample: Sample) -> None:
    """Keep one compaction.

    Raises:
        OSError: it could not be written.
    """
    json.append_line(home_dir + _FILE, sample._asdict())


def record_automatic_compaction(home_dir: str, state: SessionState, trigger: str) -> None:
    """Keep where the client compacted by itself; called once the compaction is known to be done.

    Raises:
        OSError: it could not be written.
    """
    before = state.last_spooled_row_of("PreCompact")
    occupancy, now = before.get("occupancy"), time.time()
    told = (trigger, before.get("trigger"))
    if told != ("auto", "auto") or occupancy is None or abs(now - before["at"]) > _OLDEST_NOTE_S:
        return
    used_at = max(state.last_spooled_row_of(name).get("at", 0.0) for name in _EVENTS_OF_USE)
    if used_at and before["at"] - used_at > _IDLE_S:
        return  # compacted not where it had to be, but before the cache expired
    sample = Sample(
        at=now,
        session=state.session_id,
        window=before["window"],
        effective=before["effective"],
        expected=before.get("expected"),
        tokens=occupancy + (before.get("tail") or 0),
        trigger=trigger,
        ending=before.get("ending"),
    )
    record_sample(home_dir, sample)


def learned_points_by_window(home_dir: str) -> dict[str, int]:
    """The learned compaction point in tokens by `<window>:<effective>`; those not known are absent.

    It is the median of the last usable samples.
    """
    import statistics

    by_key: dict[str, list[int]] = {}
    for sample in read_samples(home_dir):
        if is_sample_usable(sample):
            # What was refused may be far more than the window: one result can overshoot it.
            by_key.setdefault(sample.key, []).append(min(sample.tokens, sample.window))
    return {
        key: round(statistics.median(tokens[-LAST_SAMPLES:]))
        for key, tokens in by_key.items()
        if len(tokens) >= LEAST_SAMPLES
    }


def read_samples(home_dir: str) -> list[Sample]:
    """Every sample that can be read, oldest first."""
    try:
        lines = json.read_lines(home_dir + _FILE)
    except OSError:
        return []
    return [sample for line in lines if (sample := _parse_sample(line))]


def is_sample_usable(sample: Sample) -> bool:
    """Tell whether a sample was automatic and near the point where it was expected. Pure."""
    expected = sample.expected or sample.effective - models.RESERVE_TOKENS
    near = abs(sample.tokens - expected) <= NEAR_RATIO * sample.effective
    refused = sample.ending == "refusal" and sample.tokens >= REFUSED_RATIO * sample.window
    return sample.trigger == "auto" and (near or refused)


def _parse_sample(line: dict[str, Any]) -> Sample | None:
    values: dict[str, Any] = {name: line.get(name) for name in Sample._fields}
    sample = Sample(**values)
    counts = (sample.window, sample.effective, sample.tokens)
    is_sound = (
        all(type(count) is int and count > 0 for count in counts)
        and isinstance(sample.trigger, str)
        and isinstance(sample.session, str)
        and isinstance(sample.at, int | float)
    )
    return sample if is_sound else None
