"""Learns from finished segments how fast this user's sessions grow. Pure, off the fast path."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from brimline.gauge.forecast import OPENING_TOKENS, family_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# The part of a segment that counts: its end, which is where forecasts matter.
_MEASURED_TOKENS = 60_000
# Less growth than this says more about one file than about a session.
_LEAST_TOKENS = 20_000
_LEAST_OPERATIONS = 2
# About 430 to 3,200 tokens per operation: one strange segment must not move the rest.
_LOG_SPEED_LIMITS = (6.06, 8.06)
UNKNOWN_FAMILY = ""


def summarise(
    segments: Iterable[tuple[str | None, Sequence[int]]],
) -> dict[str, tuple[int, float, float]]:
    """Statistics for `forecast.prior_for` from the model and occupancies of each segment.

    Returns:
        By family: number of segments, mean log speed, sum of squared deviations from it.
        Segments that grew too little to tell are left out.
    """
    statistics: dict[str, tuple[int, float, float]] = {}
    for model, occupancies in segments:
        value = log_speed(occupancies)
        if value is None:
            continue
        family = family_of(model) or UNKNOWN_FAMILY
        count, mean, squares = statistics.get(family, (0, 0.0, 0.0))
        gap = value - mean
        mean += gap / (count + 1)
        statistics[family] = (count + 1, mean, squares + gap * (value - mean))
    return statistics


def log_speed(occupancies: Sequence[int]) -> float | None:
    """Logarithm of the tokens per operation at the end of a segment; None if it grew too little.

    Drops and the fast opening of a context are left out, as the forecast treats them apart.
    """
    tokens = operations = 0
    for index in range(len(occupancies) - 1, 0, -1):
        growth = occupancies[index] - occupancies[index - 1]
        if growth <= 0 or occupancies[index - 1] < OPENING_TOKENS:
            continue
        if tokens + growth > _MEASURED_TOKENS:
            break
        tokens += growth
        operations += 1
    if tokens < _LEAST_TOKENS or operations < _LEAST_OPERATIONS:
        return None
    low, high = _LOG_SPEED_LIMITS
    return min(max(math.log(tokens / operations), low), high)
