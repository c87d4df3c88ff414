"""Figures of timed samples: medians, ratios and how sure they are. Pure; no sample is dropped."""

from __future__ import annotations

import random
from statistics import median, quantiles
from typing import NamedTuple

RESAMPLES = 2_000
_SEED = 20
_CONFIDENCE = 0.95


class Figures(NamedTuple):
    """One series of samples, in milliseconds."""

    median_ms: float
    p95_ms: float
    min_ms: float


class Ratio(NamedTuple):
    """How much longer one series takes than another; the interval belongs to the medians."""

    of_medians: float
    low: float
    high: float
    of_minima: float


def figures(seconds: list[float]) -> Figures:
    """Summarise at least two samples."""
    p95 = quantiles(seconds, n=20, method="inclusive")[-1]
    return Figures(1e3 * median(seconds), 1e3 * p95, 1e3 * min(seconds))


def ratio(seconds: list[float], base: list[float], resamples: int = RESAMPLES) -> Ratio:
    """Compare two series whose samples of one index were taken in the same round.

    The interval comes from resampling whole rounds, because both samples of a round met the same
    load.
    """
    random_rounds = random.Random(_SEED)
    rounds = range(len(base))
    found = []
    for _ in range(resamples):
        chosen = random_rounds.choices(rounds, k=len(base))
        found.append(median([seconds[i] for i in chosen]) / median([base[i] for i in chosen]))
    found.sort()
    outside = int(resamples * (1 - _CONFIDENCE) / 2)
    return Ratio(
        median(seconds) / median(base),
        found[outside],
        found[-1 - outside],
        min(seconds) / min(base),
    )
