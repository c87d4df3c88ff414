"""What a session read from the prompt cache and wrote into it, and what broke its prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from brimline.transcript.typed import Request

# A prefix counts as broken when so much of the request before was not found again.
_LEAST_TOKENS, _LEAST_SHARE = 2_000, 0.05
_MOST_KINDS = 3
# A line about an edit is written when the answer has ended, a row a moment later or earlier.
_SLACK_S = 5.0


class Break(NamedTuple):
    """A request that had to write again what the cache had held."""

    at: float
    tokens: int
    cause: str
    request: int  # its number


def cache_breaks(requests: Iterable[Request], edits: Mapping[float, str]) -> list[Break]:
    """Return what broke the prefix between the requests of a session.

    Args:
        requests: all of them, the first first.
        edits: when a gateway edited what had been sent, and why.
    """
    found: list[Break] = []
    last = None
    seen: set[str | None] = set()
    for now in requests:
        if now.id and now.id in seen:
            continue  # its row stands there again
        seen.add(now.id)
        if last:
            found += _break_between(last, now, edits)
        last = now
    return found


def _break_between(last: Request, now: Request, edits: Mapping[float, str]) -> list[Break]:
    """What the cache held after a request and did not give to the next; nothing where it did."""
    held = last.spent.cache_read_tokens + last.spent.cache_written_tokens
    lost = held - now.spent.cache_read_tokens
    is_broken = lost > max(_LEAST_TOKENS, _LEAST_SHARE * held)
    return [Break(now.at, lost, _cause_of_break(last, now, edits), now.number)] if is_broken else []


def _cause_of_break(last: Request, now: Request, edits: Mapping[float, str]) -> str:
    if now.segment > last.segment:
        return "compaction"
    if now.model != last.model:
        return "another model"
    if now.at - last.at > last.spent.cache_lifetime_s:
        return "expired"
    reasons = [why for when, why in edits.items() if last.at <= when <= now.at + _SLACK_S]
    if reasons:
        return f"gateway, {reasons[0]}"
    kinds = [kind for kind, _ in now.attached.most_common(_MOST_KINDS)] if now.attached else []
    return f"unknown, after {', '.join(kinds)}" if kinds else "unknown"
