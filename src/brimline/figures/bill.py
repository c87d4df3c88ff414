"""Dollars at list price, by session, day, project or model, from what requests used. Pure.

    rows = bill.bill_rows_by_group(spendings, ("day", "model"), user_rows)  # newest first
    document = bill.document(spendings, "day", user_rows)            # as `brimline cost --json`

A row has the names it is grouped by, `dollars` (None where nobody knows a price), `is_assumed`
(a model newer than the table), `subagent_dollars`, `requests`, tokens by kind, first and last time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from brimline import models, output
from brimline.fast import clock
from brimline.figures.spending import TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from brimline.figures.spending import Spending

GROUPS = ("session", "day", "project", "model")
_MILLION = 1_000_000
_SHOWN_ROWS = 30
_SHORT_ID = 8
_UNKNOWN = "unknown"


def document(
    spendings: Sequence[Spending],
    by: str = "session",
    user_rows: Sequence[dict[str, Any]] = (),
    since: float = 0.0,
) -> dict[str, Any]:
    """Return what was spent since a moment, in groups of one kind and in all."""
    return {
        "by": by,
        "since": clock.format_utc(since) if since else None,
        "total": (bill_rows_by_group(spendings, (), user_rows, since) or [_Group({}).row()])[0],
        "rows": bill_rows_by_group(spendings, (by,), user_rows, since),
    }


def bill_rows_by_group(
    spendings: Iterable[Spending],
    by: Sequence[str],
    user_rows: Sequence[dict[str, Any]] = (),
    since: float = 0.0,
) -> list[dict[str, Any]]:
    """A row for each group, the one that was heard of last first."""
    lookup = cache(partial(models.lookup_model, user_rows=user_rows))
    groups: dict[tuple[str, ...], _Group] = {}
    for spending in spendings:
        if spending.at < since:
            continue
        names = {name: _NAMERS[name](spending) for name in by}
        key = tuple(names.values())
        group = groups.get(key) or groups.setdefault(key, _Group(names))
        group.add(spending, lookup(spending.model))
    ordered = sorted(groups.values(), key=lambda group: group.last_at, reverse=True)
    return [group.row() for group in ordered]


def dollars_of_spending(spending: Spending, model: models.Model) -> float | None:
    """Return what requests cost; None where nobody knows their model's prices."""
    prices = model.prices_for_prompt(spending.largest_prompt_tokens)
    if prices is None:
        return None
    return (
        spending.input_tokens * prices.input
        + spending.cache_write_5m_tokens * prices.write_5m
        + spending.cache_write_1h_tokens * prices.write_1h
        + spending.cache_read_tokens * prices.read
        + spending.output_tokens * prices.output
    ) / _MILLION


@dataclass
class _Group:
    names: dict[str, str]
    dollars: float = 0.0
    subagent_dollars: float = 0.0
    requests: int = 0
    unpriced_requests: int = 0
    is_assumed: bool = False
    tokens: Sequence[int] = (0,) * len(TOKENS)
    first_at: float = 1e12
    last_at: float = 0.0

    def add(self, spending: Spending, model: models.Model) -> None:
        dollars = dollars_of_spending(spending, model)
        self.requests += spending.requests
        self.unpriced_requests += spending.requests * (dollars is None)
        self.dollars += dollars or 0.0
        self.subagent_dollars += (dollars or 0.0) * spending.is_subagent
        self.is_assumed |= model.is_assumed
        self.tokens = [held + new for held, new in zip(self.tokens, spending.tokens, strict=True)]
        self.first_at = min(self.first_at, spending.at)
        self.last_at = max(self.last_at, spending.last_at)

    def row(self) -> dict[str, Any]:
        is_known = self.requests > self.unpriced_requests or not self.requests
        return {
            **self.names,
            "dollars": round(self.dollars, 6) if is_known else None,
            "subagent_dollars": round(self.subagent_dollars, 6),
            "is_assumed": self.is_assumed,
            "requests": self.requests,
            "unpriced_requests": self.unpriced_requests,
            **dict(zip(TOKENS, self.tokens, strict=True)),
            "first_at": clock.format_utc(self.first_at) if self.requests else None,
            "last_at": clock.format_utc(self.last_at) if self.requests else None,
        }


_NAMERS: dict[str, Callable[[Spending], str]] = {
    "session": lambda spending: spending.session_id or _UNKNOWN,
    "day": lambda spending: time.strftime("%Y-%m-%d", time.localtime(spending.at)),
    "project": lambda spending: spending.project or _UNKNOWN,
    "model": lambda spending: spending.model or _UNKNOWN,
}


def text(document: dict[str, Any]) -> str:
    """The document for a person."""
    total, rows, by = document["total"], document["rows"], document["by"]
    if not rows:
        return "No request was recorded" + (" since then." if document["since"] else " yet.")
    shown = [
        [
            row_dollars_text(row),
            f"{row['requests']:,}",
            _cache_share_text(row),
            row[by][:_SHORT_ID] if by == "session" else output.one_line(row[by]),
        ]
        for row in rows[:_SHOWN_ROWS]
    ]
    lines = [output.table_text(("cost", "requests", "from cache", by), shown, right=(0, 1, 2))]
    if len(rows) > _SHOWN_ROWS:
        lines.append(f"… and {len(rows) - _SHOWN_ROWS:,} more: --json has them all")
    requests = output.count_text(total["requests"], "request")
    lines += ["", f"{row_dollars_text(total)} at list price for {requests}."]
    if total["subagent_dollars"]:
        lines.append(f"Of that {format_dollars(total['subagent_dollars'])} for subagents.")
    if total["is_assumed"]:
        lines.append("About: a model is newer than the table of prices.")
    if total["unpriced_requests"]:
        unpriced = output.count_text(total["unpriced_requests"], "request")
        lines.append(f"Not in it: {unpriced} of models without a known price.")
    lines.append("What the client does not record, such as titles and its summaries, is not in it.")
    return "\n".join(lines)


def row_dollars_text(row: dict[str, Any]) -> str:
    """A row's dollars, `about` where a price is assumed."""
    if row["dollars"] is None:
        return _UNKNOWN
    return f"{'about ' if row['is_assumed'] else ''}{format_dollars(row['dollars'])}"


def format_dollars(value: float) -> str:
    """Dollars to the cent, smaller ones to two digits."""
    return f"${value:,.2f}" if value >= 0.01 or not value else f"${value:.2g}"  # noqa: PLR2004


def _cache_share_text(row: dict[str, Any]) -> str:
    """Return how much of what was sent came from the cache."""
    sent = sent_tokens_of_row(row)
    return f"{row['cache_read_tokens'] / sent:.0%}" if sent else "–"


def sent_tokens_of_row(row: dict[str, Any]) -> int:
    """Return what the requests of a row sent, from the cache or not."""
    return sum(row[name] for name in TOKENS[:-1])
