"""A prompt cache that has expired: since when, and what the next request costs because of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from brimline import clock, models
from brimline.cost.bill import amount
from brimline.decision import Decision
from brimline.fast import io, json
from brimline.settings import config
from brimline.transcript import row

if TYPE_CHECKING:
    from brimline.hooks.turn import Turn

# A smaller context costs cents.
LEAST_TOKENS = 100_000
_LOOK_BYTES = 4 << 20
_MILLION = 1_000_000
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400
# In a session's folder: which pause was told of.
_TOLD = "cost-cold-"


class Cache(NamedTuple):
    """What the last request left in the cache."""

    at: float
    lifetime_s: int
    model: str | None


def decide(turn: Turn) -> Decision | None:
    """Tell the person of an expired cache, once per pause and only of a large context."""
    tokens = turn.reading.projected_tokens or 0
    cache = last_cache(turn.event.transcript) if tokens >= LEAST_TOKENS else None
    if cache is None or clock.now() - cache.at <= cache.lifetime_s:
        return None
    if not io.create_exclusively(f"{turn.state.folder}/{_TOLD}{int(cache.at)}", b""):
        return None
    text = notice(
        cache, tokens, clock.now(), models.lookup(cache.model, config.user_models(turn.home))
    )
    return Decision(person_notes=(text,))


def last_cache(transcript: str) -> Cache | None:
    """What a session's last request wrote to the cache or read from it; None where it did not."""
    try:
        for fields in json.rows_backward(transcript, b'"usage"', _LOOK_BYTES):
            cached, at = row.cached_of(fields), clock.parse(row.timestamp_of(fields))
            if cached is None or at is None:
                continue
            read_tokens, written_tokens, lifetime_s, model = cached
            return Cache(at, lifetime_s, model) if read_tokens or written_tokens else None
    except OSError:
        pass
    return None


def notice(cache: Cache, tokens: int, now: float, model: models.Model) -> str:
    """The sentence for the person. Pure."""
    ago = _duration(now - cache.at - cache.lifetime_s)
    prices = model.prices(tokens)
    price = ""
    if prices:
        price = f", about {amount(tokens * prices.write(cache.lifetime_s) / _MILLION)}"
    written = f"the next request writes {tokens:,} tokens again{price}"
    return f"brimline: The cache of this session expired {ago} ago: {written}."


def _duration(seconds: float) -> str:
    for size, unit in ((_DAY_S, "days"), (_HOUR_S, "h")):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(1, seconds // _MINUTE_S):.0f} min"
