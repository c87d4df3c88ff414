"""A prompt cache that has expired: since when, and what the next request costs because of it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from brimline import models
from brimline.bulk import cold, judge
from brimline.fast import clock, io, json
from brimline.figures import LEAST_TOKENS
from brimline.figures.bill import format_dollars
from brimline.output import count_text
from brimline.settings import config
from brimline.transcript import measuring, read, row
from brimline.transcript.typed import Session

if TYPE_CHECKING:
    from typing import Any

    from brimline.hooks.turn import Turn

_LOOK_BYTES = 4 << 20
# So much of a conversation is read to see what a compaction would leave of it.
_MOST_BYTES = 8 << 20
# The client's instructions and tools take less; a first request of more goes on from something.
_MOST_OWN_TOKENS = 40_000
# Of a line that stands in for a result, with what it says of it.
_LINE_CHARACTERS = 250
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


class Offer(NamedTuple):
    """A compaction without a model while the cache is cold, and what the next request takes."""

    cache: Cache
    model: models.Model
    tokens: int
    left_tokens: int
    # Thinking that a model would be sent again otherwise.
    thoughts: int

    def text(self, now: float) -> str:
        """Return the sentences for the person. Pure."""
        since = _how_long_ago_text(now - self.cache.at - self.cache.lifetime_s)
        cost, left = map(self._price_text, (self.tokens, self.left_tokens))
        gone = f", and lets go of {count_text(self.thoughts, 'thought')}" if self.thoughts else ""
        return (
            f"brimline: The cache of this session expired {since}: the next request writes "
            f"{self.tokens:,} tokens again{cost and ', about '}{cost}. `/compact` first makes it "
            f"about {self.left_tokens:,}{left and ', '}{left}, without a model{gone}."
        )

    def saving_text(self) -> str:
        """Return what it saves, for who has set that it be made. Pure."""
        was, now = self._price_text(self.tokens), self._price_text(self.left_tokens)
        cost = f": the next request costs about {now} in place of {was}" if now else ""
        gone = f"; {count_text(self.thoughts, 'thought')} went" if self.thoughts else ""
        return f"The cache had expired{cost}{gone}."

    def _price_text(self, tokens: int) -> str:
        prices = self.model.prices_for_prompt(tokens)
        if not prices:
            return ""
        dollars = tokens * prices.write_price(self.cache.lifetime_s) / _MILLION
        return format_dollars(dollars)


def claim_pause(turn: Turn, offer: Offer) -> bool:
    """Tell whether the person is yet to be told of an expired cache, which is so once per pause."""
    return io.create_exclusively(f"{turn.state.folder}/{_TOLD}{int(offer.cache.at)}", b"")


def offer_of_compaction(turn: Turn) -> Offer | None:
    """Return what a compaction would save; None where the cache lives or nothing would be freed."""
    cache = cache_of_large_context(turn)
    if cache is None or cache.left_s() >= 0:
        return None
    tokens, transcript = turn.reading.projected_tokens or 0, turn.event.transcript
    left_tokens = tokens_left_by_compaction(transcript, tokens, turn.values)
    if left_tokens is None:
        return None
    model = models.lookup_model(cache.model, config.user_model_rows(turn.home))
    rows = _rows_since_compaction(transcript) if model.binds_thinking else []
    thoughts = sum(len(row.thinking_blocks(fields)) for fields in rows)
    return Offer(cache, model, tokens, left_tokens, thoughts)


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
                spent = row.spent_of(fields)
                is_cached = spent.cache_read_tokens or spent.cache_written_tokens
                return Cache(at, spent.cache_lifetime_s, usage.model) if is_cached else None
    except OSError:
        pass
    return None


def tokens_left_by_compaction(transcript: str, tokens: int, settings: dict[str, Any]) -> int | None:
    """What a compaction without a model would leave, to a thousand; None where it makes none.

    The share of the characters that would go is that of the messages' tokens; the client's own
    instructions, which the first request shows, stay.
    """
    rule = cold.RULES.get(settings["compaction.inside"])
    if rule is None:
        return None
    try:
        rows = _rows_since_compaction(transcript)
        usages = map(
            row.usage_of, read.rows_of_file(transcript, (measuring.USAGE,), length=_LOOK_BYTES)
        )
        first_tokens = next((usage.prompt_tokens for usage in usages if usage), 0)
    except OSError:
        return None
    freed = _count_characters_to_free(rows, rule, settings["offload.never"])
    share = freed / max(1, sum(map(row.characters_model_is_sent, rows)))
    if share < rule.share:
        return None
    messages_tokens = max(0, tokens - min(first_tokens, _MOST_OWN_TOKENS))
    return round((tokens - share * messages_tokens) / 1_000) * 1_000


def _rows_since_compaction(transcript: str) -> list[dict[str, Any]]:
    """The rows since the last compaction, oldest first, as far back as is read."""
    backward = json.rows_backward(transcript, b"{", _MOST_BYTES)
    rows = itertools.takewhile(lambda fields: not row.is_compaction_row(fields), backward)
    return [fields for fields in rows if not row.is_sidechain(fields)][::-1]


def _count_characters_to_free(rows: list[dict[str, Any]], rule: cold.Rule, never: list[str]) -> int:
    """Return how many characters of results a compaction would put lines in the place of."""
    session, kept = Session(), set()
    texts: dict[str, str] = {}
    for fields in rows:
        session.read_row(fields)
        texts |= {result.call_id: result.text for result in row.main_thread_results(fields)}
        for call in row.main_thread_calls(fields):
            if judge.does_call_match_any(never, call.name, call.arguments):
                kept.add(call.id)
    calls = [call for call in session.calls.values() if call.tool]
    found = [gone.call for gone in cold.select_cold_results(calls, texts, rule)]
    freed = [call for call in found if call.id not in kept and not call.cut_by_client]
    return sum((call.characters or 0) - _LINE_CHARACTERS for call in freed)


def _how_long_ago_text(seconds: float) -> str:
    if seconds < _MINUTE_S:
        return "just now"
    for size, unit in ((_DAY_S, "days"), (_HOUR_S, "h")):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit} ago"
    return f"{seconds // _MINUTE_S:.0f} min ago"
