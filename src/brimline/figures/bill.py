"""Dollars at list price, by session, day, project or model, from what requests used. Pure.

    rows = bill.bill_rows_by_group(spendings, ("day", "model"), user_rows)  # newest first
    document = bill.document(spendings, "day", user_rows)            # as `brimline cost --json`

A row has the names it is grouped by, `dollars` (None where nobody knows a price), `is_assumed`
(a model newer than the table), `subagent_dollars`, `requests`, tokens by kind, first and last time.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from brimline import models, output
from brimline.fast import clock
from brimline.figures.spending import TOKENS
from brimline.gauge.wording import short_token_count_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from brimline.figures.spending import Spending

GROUPS = ("session", "day", "week", "month", "block", "project", "model")
# Their rows follow each other in time; those of the others go by what they cost.
TIMES = ("day", "week", "month", "block")
# The client counts what a subscription allows by blocks of so many hours, from a full hour on.
_BLOCK_S, _HOUR_S = 5 * 3_600, 3_600
_LEAST_PACE_S = 600
_MILLION = 1_000_000
_CENT, _LEAST_SHOWN = 0.01, 0.0001
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
    rows = bill_rows_by_group(spendings, (by,), user_rows, since)
    if by not in TIMES:
        rows.sort(key=lambda row: row["dollars"] or 0.0, reverse=True)
    models_used = bill_rows_by_group(spendings, ("model",), user_rows, since)
    made = {
        "by": by,
        "since": clock.format_utc(since) if since else None,
        "total": (bill_rows_by_group(spendings, (), user_rows, since) or [_Group({}).row()])[0],
        "rows": rows,
        "unpriced": {
            row["model"]: row["unpriced_requests"] for row in models_used if row["dollars"] is None
        },
    }
    return made | ({"running": _running_block(rows, clock.now_s())} if by == "block" else {})


def bill_rows_by_group(
    spendings: Iterable[Spending],
    by: Sequence[str],
    user_rows: Sequence[dict[str, Any]] = (),
    since: float = 0.0,
) -> list[dict[str, Any]]:
    """A row for each group, the one that was heard of last first."""
    lookup = cache(partial(models.lookup_model, user_rows=user_rows))
    groups: dict[tuple[str, ...], _Group] = {}
    namers = _NAMERS | {"block": _Blocks().name}
    for spending in sorted(spendings, key=lambda each: each.at):
        if spending.at < since:
            continue
        names = {name: namers[name](spending) for name in by}
        key = tuple(names.values())
        group = groups.get(key) or groups.setdefault(key, _Group(names))
        group.add(spending, lookup(spending.model))
    ordered = sorted(groups.values(), key=lambda group: group.last_at, reverse=True)
    return [group.row() for group in ordered]


class _Blocks:
    """Tells the block that requests belong to, asked in the order of time."""

    def __init__(self) -> None:
        self._begun_at = float("-inf")

    def name(self, spending: Spending) -> str:
        """When the block began."""
        if spending.at >= self._begun_at + _BLOCK_S:
            self._begun_at = spending.at // _HOUR_S * _HOUR_S
        return clock.format_utc(self._begun_at)


def _running_block(rows: Sequence[dict[str, Any]], now: float) -> dict[str, Any] | None:
    """The block that is not over, with what it will come to at its pace; None without one."""
    if not rows or (begun := clock.parse_utc(rows[0]["block"])) is None or now >= begun + _BLOCK_S:
        return None
    dollars, passed_s = rows[0]["dollars"] or 0.0, now - begun
    pace = round(dollars * _BLOCK_S / passed_s, 6) if passed_s >= _LEAST_PACE_S else None
    left_s = round(begun + _BLOCK_S - now)
    return {"left_seconds": left_s, "dollars": dollars, "dollars_at_this_pace": pace}


def dollars_of_spending(spending: Spending, model: models.Model) -> float | None:
    """Return what requests cost; None where nobody knows their model's prices."""
    prices = model.prices_for_prompt(
        spending.largest_prompt_tokens, clock.format_utc(spending.at)[:10]
    )
    if prices is None:
        return None
    tokens = (
        spending.input_tokens * prices.input
        + spending.cache_write_5m_tokens * prices.write_5m
        + spending.cache_write_1h_tokens * prices.write_1h
        + spending.cache_read_tokens * prices.read
        + spending.output_tokens * prices.output
    ) / _MILLION
    return tokens * model.times(spending.kind) + spending.searches * models.SEARCH_DOLLARS


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
    title: str = ""
    project: str = ""
    by_model: Counter[str] = field(default_factory=Counter)

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
        self.title, self.project = self.title or spending.title, self.project or spending.project
        self.by_model[spending.model] += sum(spending.tokens)

    def row(self) -> dict[str, Any]:
        is_known = self.requests > self.unpriced_requests or not self.requests
        about = {
            "title": self.title,
            "project": self.project,
            "models": [name for name, _ in self.by_model.most_common()],
        }
        return {
            **(about if "session" in self.names else {}),
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
    "week": lambda spending: _week_of(time.localtime(spending.at)),
    "month": lambda spending: time.strftime("%Y-%m", time.localtime(spending.at)),
    "project": lambda spending: spending.project or _UNKNOWN,
    "model": lambda spending: spending.model or _UNKNOWN,
}


def _week_of(day: time.struct_time) -> str:
    """The Monday with which the week of a day began."""
    return str(date(*day[:3]) - timedelta(day.tm_wday))


def text(document: dict[str, Any]) -> str:
    """The document for a person."""
    total, rows, by = document["total"], document["rows"], document["by"]
    if not rows:
        return "No request was recorded" + (" since then." if document["since"] else " yet.")
    names = {"session": ("last", "tokens", "model", "project", "title")}
    head = ("cost", *names.get(by, ("requests", "tokens", "from cache", by)))
    names_of_projects = output.folder_names(row.get("project", "") for row in rows)
    own = partial(_session_cells, names_of_projects)
    cells = own if by == "session" else partial(_group_cells, by)
    shown = [[row_dollars_text(row), *cells(row)] for row in rows[:_SHOWN_ROWS]]
    right = [0, *[at for at, name in enumerate(head) if name in _RIGHT]]
    lines = [output.table_text(head, shown, right=right)]
    if others := rows[_SHOWN_ROWS:]:
        dollars = format_dollars(sum(row["dollars"] or 0.0 for row in others))
        lines.append(f"… and {len(others):,} more, {dollars}: --json has them all")
    requests = output.count_text(total["requests"], "request")
    lines += ["", f"{row_dollars_text(total)} at list price for {requests}."]
    if total["subagent_dollars"]:
        lines.append(f"Of that {format_dollars(total['subagent_dollars'])} for subagents.")
    if total["is_assumed"]:
        lines.append("About: a model is newer than the table of prices.")
    lines += _unpriced_lines(document.get("unpriced", {}))
    lines += _running_block_lines(document.get("running"))
    lines.append("What the client does not record, such as titles and its summaries, is not in it.")
    return "\n".join(lines)


# At the end of a model's name.
_DATE = re.compile(r"-\d{8}$")
_RIGHT = ("requests", "tokens", "from cache")


def _session_cells(names: Mapping[str, str], row: dict[str, Any]) -> list[str]:
    """When it was active last, how many tokens, which model, where, and what it is called."""
    return [
        (row["last_at"] or "")[:10],
        short_token_count_text(tokens_of_row(row)),
        output.one_line(short_model_name(row["models"][0] if row["models"] else ""), 12),
        output.one_line(output.Path(names[row["project"]]), 14),
        f"{row['session'][:_SHORT_ID]} {output.one_line(row['title'])}".rstrip(),
    ]


def short_model_name(name: str) -> str:
    """What a model is called, without its maker and its day."""
    return _DATE.sub("", name.removeprefix("claude-"))


def _group_cells(by: str, row: dict[str, Any]) -> list[str]:
    """How much was sent and received, how much of it from the cache, and what the group is."""
    name = output.utc_minute_text(row[by]) if by == "block" else output.one_line(row[by])
    name = output.Path(row[by]) if by == "project" else name
    tokens = short_token_count_text(tokens_of_row(row))
    return [f"{row['requests']:,}", tokens, _cache_share_text(row), name]


def _unpriced_lines(unpriced: dict[str, int]) -> list[str]:
    """Which models have no price, and the lines by which they get one."""
    if not unpriced:
        return []
    each = [f"{output.count_text(n, 'request')} of {model}" for model, n in unpriced.items()]
    lines = [f"No price for {', '.join(map(output.one_line, each))}. In config.toml:"]
    prices = ", ".join(f"{name} = 0.0" for name in models.PRICE_NAMES)
    for model in unpriced:
        quoted = json.dumps(output.one_line(model.lower(), 80))
        lines += ["  [[models]]", f"  families = [{quoted}]", f"  prices = {{ {prices} }}"]
    return lines


def _running_block_lines(running: dict[str, Any] | None) -> list[str]:
    """How the block that is not over stands."""
    if running is None:
        return []
    left, pace = output.duration_text(running["left_seconds"]), running["dollars_at_this_pace"]
    told = f"This block: {format_dollars(running['dollars'])} so far, {left} left"
    return [f"{told}; at this pace {format_dollars(pace)}." if pace is not None else f"{told}."]


def row_dollars_text(row: dict[str, Any]) -> str:
    """A row's dollars, `about` where a price is assumed."""
    if row["dollars"] is None:
        return _UNKNOWN
    return f"{'about ' if row['is_assumed'] else ''}{format_dollars(row['dollars'])}"


def format_dollars(value: float) -> str:
    """Dollars to the cent, smaller ones to two digits."""
    if value >= _CENT or not value:
        return f"${value:,.2f}"
    return f"${value:.2g}" if value >= _LEAST_SHOWN else f"under ${_LEAST_SHOWN:.4f}"


def _cache_share_text(row: dict[str, Any]) -> str:
    """Return how much of what was sent came from the cache."""
    sent = sent_tokens_of_row(row)
    return f"{row['cache_read_tokens'] / sent:.0%}" if sent else "–"


def tokens_of_row(row: dict[str, Any]) -> int:
    """Return what the requests of a row sent and received."""
    return sum(row[name] for name in TOKENS)


def sent_tokens_of_row(row: dict[str, Any]) -> int:
    """Return what the requests of a row sent, from the cache or not."""
    return sum(row[name] for name in TOKENS[:-1])
