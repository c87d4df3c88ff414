"""How many operations are left until the compaction point, with an 80 % interval. Pure.

Fast path: imports only `fast.io`. An operation is one model request.
docs/explanation/forecast.md says why it is counted so, and what was measured.
"""

from __future__ import annotations

from brimline.fast import io

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_FEWEST_READINGS = 2
VELOCITY_OPERATIONS = 3
# Tokens per operation in recorded sessions; a user's own growths count beside as many of these.
USUAL_GROWTH_TOKENS = 1_200
_USUAL_GROWTHS = 750
# One result larger than this says more about one file than about a session.
_LARGEST_LEARNED_TOKENS = 10_000
# What may have been learned; a damaged file must not lead further away.
_USUAL_LIMITS = (400, 3_200)

_RECENT_OPERATIONS = 20
_HALF_AFTER_OPERATIONS = 8
# One large result is no trend: it counts as this many usual growths, or as this many of the
# session's own smaller half where even those are large.
_GROWTH_CAP = 4
# As how many operations the usual growth counts: few where the session's are even, up to the most.
_EVEN_OPERATIONS = 0.3
_UNEVEN_OPERATIONS = 10
_FIRST_OPERATIONS = 2
_MOST_OPERATIONS = 12
# Variance of the logarithm of the answer: with many growths and no distance, what is added where
# only one is known, and the distance that halves both. 1.28 deviations hold four cases of five.
_VARIANCE = 0.2
_DOUBT = 0.7
_HALVES_AT_OPERATIONS = 120
_DEVIATIONS = 1.28
_E = 2.718281828459045
_LARGEST_TOKENS = 10**9
# Whoever checks a figure divides by the mean of about so many growths.
_DIVIDED_BY_OPERATIONS = 10
_CONTRADICTION = 2


class Forecast(io.Record):
    """Operations left: the middle of what to expect, and the bounds of the 80 % interval."""

    low: int
    ops: int
    high: int
    # Whether it is far from what dividing by the last growths gives.
    is_as_usual: bool = False


def forecast(
    occupancies: Sequence[int], tokens_left: float, usual_tokens: object = None
) -> Forecast | None:
    """Operations until `tokens_left` are used up; None before the second reading.

    Args:
        occupancies: prompt-side tokens per request since the last compaction, oldest first;
            the last 21 are enough, repeats and drops do no harm.
        tokens_left: from the newest reading to the compaction point.
        usual_tokens: how much a request of this user adds, from `learn_usual_tokens`; anything
            but a number is unknown.
    """
    if len(occupancies) < _FEWEST_READINGS:
        return None
    if tokens_left <= 0:
        return Forecast(low=0, ops=0, high=0)
    tokens_left = min(tokens_left, _LARGEST_TOKENS)
    usual: float = USUAL_GROWTH_TOKENS
    if isinstance(usual_tokens, (int, float)):
        usual = min(_USUAL_LIMITS[1], max(_USUAL_LIMITS[0], usual_tokens))
    growths = [growth for growth in _recent_changes(occupancies, _RECENT_OPERATIONS) if growth > 0]
    pace, weights, unevenness = _shrunk_pace(growths, usual)
    # The request that crosses the point overshoots it, the further the more uneven they are.
    middle = tokens_left / pace + (1 + unevenness) / 2
    variance = (_VARIANCE + _DOUBT / weights) / (1 + middle / _HALVES_AT_OPERATIONS)
    factor = _E ** (_DEVIATIONS * variance**0.5)
    ops = int(middle + 0.5)
    last = growths[-_DIVIDED_BY_OPERATIONS:]
    divided = max(1, tokens_left * len(last) / sum(last)) if last else middle
    # Bounds are rounded outwards: an interval of whole operations holds at least its share.
    return Forecast(
        low=max(1, int(middle / factor)),
        ops=ops,
        high=int(middle * factor) + 1,
        is_as_usual=not 1 / _CONTRADICTION <= ops / divided <= _CONTRADICTION,
    )


def _shrunk_pace(growths: Sequence[int], usual: float) -> tuple[float, float, float]:
    """Tokens per operation between the session's own and the usual.

    Returns:
        The pace, how many growths it rests on, and the square of their coefficient of variation.
    """
    if not growths:
        return usual, 1.0, 0.0
    smaller = sorted(growths)[: len(growths) // 2]
    cap = _GROWTH_CAP * max(usual, sum(smaller) / max(1, len(smaller)))
    weight, weights, total, squares = 1.0, 0.0, 0.0, 0.0
    for growth in reversed(growths):
        counted = min(growth, cap)
        weights += weight
        total += weight * counted
        squares += weight * counted * counted
        weight *= 0.5 ** (1 / _HALF_AFTER_OPERATIONS)
    unevenness = max(0.0, squares * weights / (total * total) - 1)
    doubt = _EVEN_OPERATIONS + _UNEVEN_OPERATIONS * unevenness + _FIRST_OPERATIONS / weights
    count = min(_MOST_OPERATIONS, doubt)
    return (count * usual + total) / (count + weights), weights, unevenness


def mean_recent_growth_tokens(occupancies: Sequence[int]) -> float | None:
    """Mean growth in tokens over the last three operations; None before the second reading."""
    if len(occupancies) < _FEWEST_READINGS:
        return None
    growths = _recent_changes(occupancies, VELOCITY_OPERATIONS)
    return sum(growths) / len(growths) if growths else 0.0


def learn_usual_tokens(segments: Iterable[Sequence[int]]) -> float:
    """Tokens per operation by a user's own sessions: their occupancies between compactions."""
    count, total = _USUAL_GROWTHS, float(_USUAL_GROWTHS * USUAL_GROWTH_TOKENS)
    for occupancies in segments:
        growths = [growth for growth in _recent_changes(occupancies, 0) if growth > 0]
        count += len(growths)
        total += sum([min(growth, _LARGEST_LEARNED_TOKENS) for growth in growths])
    return total / count


def _recent_changes(occupancies: Sequence[int], count: int) -> list[int]:
    """The newest changes, all where `count` is 0; equal neighbours are one request read twice."""
    changes = [after - occupancies[at] for at, after in enumerate(occupancies[1:])]
    return [change for change in changes if change][-count:]
