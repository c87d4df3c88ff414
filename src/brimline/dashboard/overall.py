"""How somebody is doing: what was sent and paid each day, what took most of it, what would help.

Pure: it takes what requests used and the rows of the index, and returns what the page shows.
"""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import models, output
from brimline.cost import bill
from brimline.dashboard import chart
from brimline.state.figures import percentiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.cost.spending import Spending

SPANS = (30, 90, 365)
_DAY_S = 86_400
_WEEK, _MOST_BARS = 7, 90
_TOP = 5
_SENT = ("input", "cache_write_5m", "cache_write_1h", "cache_read")
_USED = (*_SENT, "output")
_CHARACTERS_PER_TOKEN = 4
_MILLION = 1_000_000
# Where a figure is worth a sentence: shares of what was sent, paid, or came in.
_LOW_CACHE, _MUCH_COMPACTED, _MUCH_OF_ONE_TOOL, _MUCH_INJECTED = 0.85, 0.05, 0.4, 0.15
_MOST_ADVICE = 3


class Advice(NamedTuple):
    """What follows from a figure, and the command that helps."""

    share: float
    text: str
    command: str


def values(
    spendings: Sequence[Spending],
    rows: Sequence[dict[str, Any]],
    user_models: Sequence[dict[str, Any]],
    span: int,
) -> dict[str, Any]:
    """All that the page shows of the last days, counted from the last request."""
    times = [one.at for spending in spendings for one in spending.requests]
    last = max(times, default=0.0)
    first = max(min(times, default=0.0), last - (span - 1) * _DAY_S)
    bins = _bins(first, last, 1 if span <= _MOST_BARS else _WEEK)
    since = time.mktime(time.strptime(min(bins, default=_day(0.0)), "%Y-%m-%d"))
    total = bill.document(spendings, "day", user_models, since)["total"]
    daily = bill.grouped(spendings, ("day", "model"), user_models, since)
    compacted = [
        each | {"dollars": _compaction_dollars(each, user_models)}
        for each in compactions(rows)
        if since <= each["at"] and _day(each["at"]) in bins
    ]
    recent = [row for row in rows if row["last_at"] >= since]
    sizes = [each["summary_characters"] for each in compacted]
    tools = _summed(row["tools"] for row in recent)
    sent = sum(total[f"{name}_tokens"] for name in _SENT)
    return {
        "span": span,
        "until": _day(last),
        "unit": "day" if span <= _MOST_BARS else "week",
        "spans": SPANS,
        "sessions": sum(row["requests"] > 0 for row in recent),
        "total": total,
        "total_dollars": bill.dollars(total),
        "tokens": sum(total[f"{name}_tokens"] for name in _USED),
        "cache_share": total["cache_read_tokens"] / sent if sent else None,
        "compactions": compacted,
        "summaries": percentiles([size for size in sizes if size is not None]),
        "compaction_dollars": sum(each["dollars"] or 0.0 for each in compacted),
        "plots": _plots(daily, compacted, bins),
        "projects": _projects(spendings, user_models, since),
        "tools": tools.most_common(_TOP),
        "tool_tokens": tools.total(),
        "advice": _advice(total, sent, compacted, recent, tools),
    }


def session_values(
    spendings: Sequence[Spending], session_id: str, user_models: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """What one session cost, and each of its subagents, which have windows of their own."""
    own = [each for each in spendings if each.session_id == session_id and each.requests]
    rows = bill.grouped(own, ("session",), user_models)
    subagents = []
    for each in own:
        if each.is_subagent:
            (row,) = bill.grouped([each], ("session",), user_models)
            models_used = Counter(request.model for request in each.requests)
            subagents.append(
                row
                | {
                    "name": os.path.basename(each.path).removesuffix(".jsonl"),
                    "model": models_used.most_common(1)[0][0],
                    "peak": max(request.prompt_tokens for request in each.requests),
                    "at": each.requests[0].at,
                    "price": bill.dollars(row),
                }
            )
    cost = bill.dollars(rows[0]) if rows else None
    return {"cost": cost, "subagents": sorted(subagents, key=lambda each: float(each["at"]))}


def by_session(
    spendings: Sequence[Spending], user_models: Sequence[dict[str, Any]]
) -> dict[str, float | None]:
    """Dollars by session, for a list of them."""
    rows = bill.grouped(spendings, ("session",), user_models)
    return {row["session"]: row["dollars"] for row in rows}


def compactions(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every compaction once: a resumed session has copies of those before."""
    names = ("uuid", "at", "pre_tokens", "post_tokens", "summary_characters")
    distinct: dict[Any, dict[str, Any]] = {}
    for row in rows:
        for number, figures in enumerate(row["compacted"]):
            each = dict(zip(names, figures, strict=True)) | {"model": row["model"]}
            distinct.setdefault(each["uuid"] or (row["id"], number), each)
    return sorted(distinct.values(), key=lambda each: each["at"])


def _compaction_dollars(
    compaction: dict[str, Any], user_models: Sequence[dict[str, Any]]
) -> float | None:
    """About what it cost: the whole context read, a summary written, the new context cached."""
    before, after = compaction["pre_tokens"], compaction["post_tokens"]
    prices = models.lookup(compaction["model"], user_models).prices(before or 0)
    if prices is None or before is None:
        return None
    summary = (compaction["summary_characters"] or 0) / _CHARACTERS_PER_TOKEN
    paid = before * prices.read + summary * prices.output + (after or 0) * prices.write_5m
    return float(paid / _MILLION)


def _bins(first: float, last: float, length: int) -> dict[str, str]:
    """The days from one moment to another, each with the first day of its bar."""
    # From noon to noon: a day has 23 to 25 hours where clocks are changed.
    noon = time.mktime(time.strptime(_day(first), "%Y-%m-%d")) + _DAY_S / 2
    days = [_day(noon + number * _DAY_S) for number in range(int((last - first) / _DAY_S) + 2)]
    known = [day for day in days if day <= _day(last)]
    return {day: known[at - at % length] for at, day in enumerate(known)}


def _plots(
    daily: list[dict[str, Any]], compacted: list[dict[str, Any]], bins: dict[str, str]
) -> dict[str, list[chart.Plot]]:
    """Dollars and tokens by model, the share of the cache, and compactions, bar by bar."""
    spent, used = (defaultdict[str, defaultdict[str, float]](_counts) for _ in range(2))
    sent, read, times = _counts(), _counts(), _counts()
    for row in daily:
        bar, model = bins[row["day"]], row["model"]
        spent[model][bar] += row["dollars"] or 0.0
        used[model][bar] += sum(row[f"{name}_tokens"] for name in _USED)
        sent[bar] += sum(row[f"{name}_tokens"] for name in _SENT)
        read[bar] += row["cache_read_tokens"]
    for each in compacted:
        times[bins[_day(each["at"])]] += 1
    bars = list(dict.fromkeys(bins.values()))
    largest = sorted(used, key=lambda model: -sum(used[model].values()))
    shares = [100 * read[bar] / sent[bar] if sent[bar] else 0.0 for bar in bars]

    def stacked(by_model: dict[str, defaultdict[str, float]]) -> list[tuple[str, list[float]]]:
        return [(model, [by_model[model][bar] for bar in bars]) for model in largest]

    return {
        "dollars": chart.by_day(bars, stacked(spent), "$"),
        "tokens": chart.by_day(bars, stacked(used)),
        "cache": chart.by_day(bars, [("read from the cache, %", shares)]),
        "compactions": chart.by_day(bars, [("compactions", [times[bar] for bar in bars])]),
    }


def _counts() -> defaultdict[str, float]:
    return defaultdict(float)


def _projects(
    spendings: Sequence[Spending], user_models: Sequence[dict[str, Any]], since: float
) -> list[dict[str, Any]]:
    rows = bill.grouped(spendings, ("project",), user_models, since)
    return sorted(rows, key=lambda row: -(row["dollars"] or 0.0))[:_TOP]


def _advice(
    total: dict[str, Any],
    sent: int,
    compacted: list[dict[str, Any]],
    rows: list[dict[str, Any]],
    tools: Counter[str],
) -> list[Advice]:
    """The sentences that the figures call for, the one with the largest share first."""
    paid = total["dollars"] or 0.0
    written = 1 - total["cache_read_tokens"] / sent if sent else 0.0
    lost = sum(each["dollars"] or 0.0 for each in compacted)
    injected = sum(each[-1] for row in rows for each in row["injections"])
    came_in = injected + tools.total()
    tool, most = next(iter(tools.most_common(1)), ("", 0))
    causes = _summed(row["causes"] for row in rows)
    cause = next(iter(causes.most_common(1)), ("", 0))
    found = []
    if written > 1 - _LOW_CACHE:
        why = f"; most breaks were “{output.line(cause[0], 60)}”" if cause[1] else ""
        text = f"{written:.0%} of what was sent did not come from the cache{why}."
        found.append(Advice(written, text, "brimline history --cache"))
    if paid and lost / paid > _MUCH_COMPACTED:
        text = f"Compactions took about {bill.amount(lost)}, {lost / paid:.0%} of it all: "
        text += "purge a long session before you resume it."
        found.append(Advice(lost / paid, text, "brimline session purge --dry-run"))
    if came_in and most / came_in > _MUCH_OF_ONE_TOOL:
        text = f"Results of {output.line(tool, 40)} are {most / came_in:.0%} of what came in: "
        text += "see which calls are large."
        found.append(Advice(most / came_in, text, "brimline status --composition"))
    if came_in and injected / came_in > _MUCH_INJECTED:
        text = f"Hooks and the client added {injected / came_in:.0%} of what came in."
        found.append(Advice(injected / came_in, text, "brimline history --injections"))
    return sorted(found, reverse=True)[:_MOST_ADVICE]


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at))


def _summed(counts: Any) -> Counter[str]:
    summed = Counter[str]()
    for each in counts:
        summed.update(each)
    return summed
