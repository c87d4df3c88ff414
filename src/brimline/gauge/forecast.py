"""How many operations are left until the compaction point, with an 80 % interval. Pure.

Fast path: imports nothing. An operation is one model request. A session's
own recent speed says little about its next hour, so the forecast leans on a prior;
docs/explanation/forecast.md has what was measured.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_FEWEST_READINGS = 2
VELOCITY_OPERATIONS = 3

# What `log_speed_of_segment` found in recorded ones, by generation of models: about 1,275, 1,150 or
# 1,225 tokens per operation. Tokenizers, clients and habits all play a part.
SHIPPED_LOG_SPEEDS = {"before-4.5": 7.15, "4.5": 7.05, "4.7": 7.11}
_UNKNOWN_LOG_SPEED = 7.08
# What is shipped counts as much as this many segments of the user's own.
_SHIPPED_WEIGHT = 15

_E = 2.718281828459045
_LARGEST_TOKENS = 10**9

# A session's last steps are a pace of its own where they do not deviate too far from their mean:
# further where they are larger than usual, because whoever divides then fears the nearer end.
_PACE_STEPS = (2, 5)
_FAST_DEVIATION = 0.8
_SLOW_DEVIATION = 0.21
_PACE_DOUBT = 0.35
# Steps that deviate further than this may go back to the usual pace.
_EVEN_DEVIATION = 0.4
# The weight of the session's own speed: half when the point is next door, fading with distance.
_OWN_WEIGHT = 0.5
_OWN_HORIZON_OPERATIONS = 20
_RECENT_OPERATIONS = 20
_DOUBT_OPERATIONS = 5
# One large result is no trend: growth beyond this multiple of the usual one counts as the multiple.
_GROWTH_CAP = 4
# A context below this size is still being furnished and grows faster than later on.
OPENING_TOKENS = 60_000
# Variance of the logarithm of the answer: at no distance, and the distance that halves it.
_VARIANCE = 0.5
_VARIANCE_HALVES_AT_OPERATIONS = 25
# The request that crosses the point is counted whole.
_CROSSING_OPERATIONS = 1
# Single large results cut a session short far more often than thrift stretches it.
_DEVIATIONS_BELOW = 1.5
_DEVIATIONS_ABOVE = 1.15


# The part of a segment that counts: its end, which is where forecasts matter.
_MEASURED_TOKENS = 60_000
# Less growth than this says more about one file than about a session.
_LEAST_TOKENS = 20_000
_LEAST_OPERATIONS = 2
# About 430 to 3,200 tokens per operation: one strange segment must not move the rest.
_LOG_SPEED_LIMITS = (6.06, 8.06)


class Forecast:
    """Operations left: the middle of what to expect, and the bounds of the 80 % interval.

    `pace_requests` is how many requests of this session it rests on; 0 where on the usual pace.
    """

    def __init__(self, low: int, ops: int, high: int, pace_requests: int = 0) -> None:
        self.low = low
        self.ops = ops
        self.high = high
        self.pace_requests = pace_requests


def forecast(
    occupancies: Sequence[int],
    tokens_left: float,
    usual_speed_tokens: float | None = None,
    *,
    is_steep: bool = False,
) -> Forecast | None:
    """Operations until `tokens_left` are used up; None before the second reading.

    Args:
        occupancies: prompt-side tokens per request since the last compaction, oldest first;
            the last 21 are enough, repeats and drops do no harm.
        tokens_left: from the newest reading to the compaction point.
        usual_speed_tokens: from `usual_tokens_per_request`; else that of an unknown model.
        is_steep: count on at the velocity, because a tier was raised for it.
    """
    if len(occupancies) < _FEWEST_READINGS:
        return None
    if tokens_left <= 0:
        return Forecast(0, 0, 0)
    tokens_left = min(tokens_left, _LARGEST_TOKENS)
    speed_tokens = usual_speed_tokens or usual_tokens_per_request("")
    usual = _forecast_at_usual_speed(occupancies, tokens_left, speed_tokens)
    pace = _own_pace_if_steady(occupancies, speed_tokens)
    if is_steep:
        pace = _Pace(_recent_occupancy_changes(occupancies, VELOCITY_OPERATIONS))
    if pace is None:
        return usual
    middle = tokens_left / pace.speed_tokens
    low, high = int(middle * (1 - _PACE_DOUBT)), int(middle * (1 + _PACE_DOUBT)) + 1
    if pace.deviation > _EVEN_DEVIATION:
        high = max(high, usual.ops)
    return Forecast(low, max(1, int(middle + 0.5)), high, pace.requests)


def _forecast_at_usual_speed(
    occupancies: Sequence[int], tokens_left: float, speed_tokens: float
) -> Forecast:
    """Operations at the pace of the population, which the session's own moves a little."""
    usual = tokens_left / speed_tokens
    variance = _VARIANCE / (1 + usual / _VARIANCE_HALVES_AT_OPERATIONS)
    # Half the variance takes a mean speed to a typical one: rare large results make the mean.
    typical = usual * _E ** (variance / 2) / _own_speed_factor(occupancies, usual, speed_tokens)
    middle = typical + _CROSSING_OPERATIONS
    deviation = variance**0.5
    low = middle * _E ** (-_DEVIATIONS_BELOW * deviation)
    speed = mean_recent_growth_tokens(occupancies) or 0.0
    if speed > 0:  # an interval that leaves out what dividing gives contradicts itself
        low = min(low, tokens_left / speed)
    high = middle * _E ** (_DEVIATIONS_ABOVE * deviation)
    # Bounds are rounded outwards: an interval of whole operations holds at least its share.
    return Forecast(int(low), int(middle + 0.5), int(high) + 1)


def mean_recent_growth_tokens(occupancies: Sequence[int]) -> float | None:
    """Mean growth in tokens over the last three operations; None before the second reading."""
    if len(occupancies) < _FEWEST_READINGS:
        return None
    growths = _recent_occupancy_changes(occupancies, VELOCITY_OPERATIONS)
    return sum(growths) / len(growths) if growths else 0.0


def usual_tokens_per_request(
    generation: str,
    learned: Mapping[str, Sequence[float]] | None = None,
    *,
    shipped: Mapping[str, float] = SHIPPED_LOG_SPEEDS,
) -> float:
    """Tokens per operation of a model: the shipped figure, moved by the user's own segments.

    All of the user's segments move every generation; those of the same one move it further.

    Args:
        generation: of the model, by the table; empty for one that nobody knows.
        learned: by generation, number of segments and mean log speed.
        shipped: log speed by generation; where empty, the history speaks alone.
    """
    log_speed = shipped.get(generation, _UNKNOWN_LOG_SPEED)
    learned = learned or {}
    weight = _SHIPPED_WEIGHT if shipped else 0
    count = shift = 0.0
    for name, (segments, mean, *_) in learned.items():
        count += segments
        shift += segments * (mean - shipped.get(name, _UNKNOWN_LOG_SPEED))
    log_speed += shift / max(1, count + weight)
    segments, mean, *_ = learned.get(generation, (0, 0.0))
    log_speed += (mean - log_speed) * segments / (segments + _SHIPPED_WEIGHT)
    speed_tokens: float = _E**log_speed
    return speed_tokens


def log_speeds_by_generation(
    segments: Iterable[tuple[str, Sequence[int]]],
) -> dict[str, tuple[int, float]]:
    """Return what `usual_tokens_per_request` needs, by generation and occupancies of each segment.

    Returns:
        By generation: number of segments, mean log speed. Those that grew too little to tell are
        left out.
    """
    statistics: dict[str, tuple[int, float]] = {}
    for generation, occupancies in segments:
        value = log_speed_of_segment(occupancies)
        if value is not None:
            count, mean = statistics.get(generation, (0, 0.0))
            statistics[generation] = (count + 1, mean + (value - mean) / (count + 1))
    return statistics


def log_speed_of_segment(occupancies: Sequence[int]) -> float | None:
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
    from math import log

    slowest, fastest = _LOG_SPEED_LIMITS
    return min(max(log(tokens / operations), slowest), fastest)


class _Pace:
    """The mean of a session's last steps, and how far they deviate from it."""

    def __init__(self, steps: Sequence[int]) -> None:
        self.requests = len(steps)
        self.speed_tokens = sum(steps) / len(steps)
        squares = sum([(step - self.speed_tokens) ** 2 for step in steps])
        self.deviation = (squares / len(steps)) ** 0.5 / self.speed_tokens


def _own_pace_if_steady(occupancies: Sequence[int], usual_speed_tokens: float) -> _Pace | None:
    """The session's own pace, where it has one: a person divides by it, and is right."""
    fewest, most = _PACE_STEPS
    steps = _recent_occupancy_changes(occupancies, most)
    if len(steps) < fewest or min(steps) <= 0:
        return None
    pace = _Pace(steps)
    is_fast = pace.speed_tokens > usual_speed_tokens
    return pace if pace.deviation <= (_FAST_DEVIATION if is_fast else _SLOW_DEVIATION) else None


def _own_speed_factor(occupancies: Sequence[int], usual: float, speed_tokens: float) -> float:
    """How much faster than usual this session is to be taken for: a weighted power of its ratio."""
    cap = _GROWTH_CAP * speed_tokens
    recent = _recent_occupancy_changes(occupancies, _RECENT_OPERATIONS)
    growths = [min(change, cap) for change in recent if change > 0]
    count = len(growths)
    if not count:
        return 1.0
    ratio = sum(growths) / count / speed_tokens
    weight = _OWN_WEIGHT / (1 + usual / _OWN_HORIZON_OPERATIONS)
    pace: float = ratio ** (weight * count / (count + _DOUBT_OPERATIONS))
    return pace


def _recent_occupancy_changes(occupancies: Sequence[int], count: int) -> list[int]:
    """The newest changes; equal neighbours are one request read twice."""
    changes = [after - occupancies[at] for at, after in enumerate(occupancies[1:])]
    return [change for change in changes if change][-count:]
