"""A prompt cache that has expired: since when, and what the next request costs because of it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from brimline import models
from brimline.bulk import cold, judge
from brimline.fast import clock, io, json
from brimline.fast.decision import Decision
from brimline.figures import LEAST_TOKENS
from brimline.figures.bill import format_dollars
from brimline.settings import config
from brimline.state.session import MOD_ALIVE
from brimline.transcript import read, row
from brimline.transcript.typed import Session

if TYPE_CHECKING:
    from typing import Any

    from brimline.hooks.turn import Turn

_LOOK_BYTES = 4 << 20
# So much of a conversation is read to see what a compaction would leave of it.
_MOST_BYTES = 8 << 20
# The client's instructions and tools take less; a first request of more goes on from something.
_MOST_OWN_TOKENS = 40_000
# Of a line that stands in for a result.
_LINE_CHARACTERS = 120
_MILLION = 1_000_000
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400
# In a session's folder: which pause was told of.
_TOLD = "cost-cold-"


class Cache(NamedTuple):
    """What the last request left in the cache."""

    at: float
    lifetime_s: int
    model: str | None

    def left_s(self) -> float:
        """Return how long it still lives; below 0 once it has expired."""
        return self.at + self.lifetime_s - clock.now_s()


def decide(turn: Turn) -> Decision | None:
    """Tell the person of an expired cache, once per pause and only of a large context."""
    cache = cache_of_large_context(turn)
    if cache is None or cache.left_s() >= 0:
        return None
    if not io.create_exclusively(f"{turn.state.folder}/{_TOLD}{int(cache.at)}", b""):
        return None
    tokens = turn.reading.projected_tokens or 0
    model = models.lookup_model(cache.model, config.user_model_rows(turn.home))
    text = expired_cache_text(cache, tokens, clock.now_s(), model)
    if turn.state.read_document(MOD_ALIVE):
        left = tokens_left_by_compaction(turn.event.transcript, tokens, turn.values)
        text += f" `/compact` first makes it about {left:,}." if left else ""
    return Decision(person_notes=(text,))


def cache_of_large_context(turn: Turn) -> Cache | None:
    """What the last request left in the cache, where the context is large enough to matter."""
    is_large = (turn.reading.projected_tokens or 0) >= LEAST_TOKENS
    return cache_of_last_request(turn.event.transcript) if is_large else None


def cache_of_last_request(transcript: str) -> Cache | None:
    """What a session's last request wrote to the cache or read from it; None where it did not."""
    try:
        for fields in json.rows_backward(transcript, b'"usage"', _LOOK_BYTES):
            usage, at = row.usage_of(fields), clock.parse_utc(row.timestamp_text_of(fields))
            if usage and at is not None:
                spent = row.Spent(fields)
                is_cached = spent.cache_read_tokens or spent.cache_written_tokens
                return Cache(at, spent.cache_lifetime_s, usage.model) if is_cached else None
    except OSError:
        pass
    return None


def expired_cache_text(cache: Cache, tokens: int, now: float, model: models.Model) -> str:
    """The sentence for the person. Pure."""
    since = _how_long_ago_text(now - cache.at - cache.lifetime_s)
    prices = model.prices_for_prompt(tokens)
    price = ""
    if prices:
        price = (
            f", about {format_dollars(tokens * prices.write_price(cache.lifetime_s) / _MILLION)}"
        )
    written = f"the next request writes {tokens:,} tokens again{price}"
    return f"brimline: The cache of this session expired {since}: {written}."


def tokens_left_by_compaction(transcript: str, tokens: int, settings: dict[str, Any]) -> int | None:
    """What a compaction without a model would leave, to a thousand; None where it makes none.

    The share of the characters that would go is that of the messages' tokens; the client's own
    instructions, which the first request shows, stay.
    """
    least = cold.SHARES.get(settings["compaction.inside"])
    try:
        rows = _rows_since_compaction(transcript) if least else []
        usages = map(row.usage_of, read.rows_of_file(transcript, read.MEASURED, length=_LOOK_BYTES))
        first_tokens = next((usage.prompt_tokens for usage in usages if usage), 0)
    except OSError:
        return None
    freed = _count_characters_to_free(rows, settings["offload.never"])
    share = freed / max(1, sum(map(row.characters_model_is_sent, rows)))
    if not least or share < least:
        return None
    messages_tokens = max(0, tokens - min(first_tokens, _MOST_OWN_TOKENS))
    return round((tokens - share * messages_tokens) / 1_000) * 1_000


def _rows_since_compaction(transcript: str) -> list[dict[str, Any]]:
    """The rows since the last compaction, oldest first, as far back as is read."""
    backward = json.rows_backward(transcript, b"{", _MOST_BYTES)
    rows = itertools.takewhile(lambda fields: not row.is_compaction_row(fields), backward)
    return [fields for fields in rows if not row.is_sidechain(fields)][::-1]


def _count_characters_to_free(rows: list[dict[str, Any]], never: list[str]) -> int:
    """Return how many characters of results a compaction would put lines in the place of."""
    session, kept = Session(), set()
    for fields in rows:
        session.read_row(fields)
        for call in row.main_thread_calls(fields):
            if judge.does_call_match_any(never, call.name, call.arguments):
                kept.add(call.id)
    calls = [call for call in session.calls.values() if call.tool and not call.cut_by_client]
    found = [call for call in cold.select_cold_result_calls(calls) if call.id not in kept]
    return sum((call.characters or 0) - _LINE_CHARACTERS for call in found)


def _how_long_ago_text(seconds: float) -> str:
    if seconds < _MINUTE_S:
        return "just now"
    for size, unit in ((_DAY_S, "days"), (_HOUR_S, "h")):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit} ago"
    return f"{seconds // _MINUTE_S:.0f} min ago"
