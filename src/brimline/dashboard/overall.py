"""How somebody is doing: what was sent and paid each day, and what took most of it.

Pure: it takes what requests used and the rows of the index, and returns what the page shows.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from brimline.dashboard import chart
from brimline.figures import aftermath, bill, savings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from brimline.figures.spending import Spending

SPANS = (30, 90)
_TOP = 5


def overall_page_values(
    spendings: Sequence[Spending],
    rows: Sequence[dict[str, Any]],
    user_models: Sequence[dict[str, Any]],
    span: int,
) -> dict[str, Any]:
    """All that the page shows of the last days, counted from the last request."""
    days = _days_up_to_last_request(spendings, span)
    since = time.mktime(date.fromisoformat(days[0]).timetuple())
    compacted = [each for each in distinct_compactions(rows) if str(_local_day(each["at"])) in days]
    aftermath.fill_in_dollars(compacted, user_models)
    recent = [row for row in rows if row["last_at"] >= since]
    total = bill.document(spendings, "day", user_models, since)["total"]
    daily = bill.bill_rows_by_group(spendings, ("day", "model"), user_models, since)
    projects = bill.bill_rows_by_group(spendings, ("project",), user_models, since)
    sent = bill.sent_tokens_of_row(total)
    return {
        "span": span,
        "until": days[-1],
        "spans": SPANS,
        "sessions": sum(row["requests"] > 0 for row in recent),
        "requests": total["requests"],
        "saved": savings.sum_savings(savings.Saved(*row["saved"]) for row in recent),
        "dollars": bill.row_dollars_text(total),
        "tokens": sent + total["output_tokens"],
        "cache_percent": 100 * total["cache_read_tokens"] / sent if sent else 100.0,
        "compactions": len(compacted),
        "compaction_dollars": sum(each["dollars"] or 0.0 for each in compacted),
        "plots": _period_plots(daily, compacted, days),
        "projects": sorted(projects, key=lambda row: -(row["dollars"] or 0.0))[:_TOP],
    }


def distinct_compactions(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every compaction once: a resumed session has copies of those before."""
    distinct: dict[Any, dict[str, Any]] = {}
    for row in rows:
        for number, figures in enumerate(row["compacted"]):
            each = figures | {"model": row["model"], "dollars": None}
            distinct.setdefault(each["uuid"] or (row["id"], number), each)
    return sorted(distinct.values(), key=lambda each: each["at"])


def _days_up_to_last_request(spendings: Sequence[Spending], span: int) -> list[str]:
    last = _local_day(max((each.last_at for each in spendings), default=0.0))
    first = _local_day(min((each.at for each in spendings), default=0.0))
    first = max(first, last - timedelta(span - 1))
    return [str(first + timedelta(number)) for number in range((last - first).days + 1)]


def _period_plots(
    daily: list[dict[str, Any]], compacted: list[dict[str, Any]], days: list[str]
) -> dict[str, list[chart.Plot]]:
    """Dollars and tokens by model, the share of the cache, and compactions, day by day."""
    spent, used = defaultdict[tuple[str, str], float](float), Counter[tuple[str, str]]()
    by_model, sent, read = (Counter[str]() for _ in range(3))
    for row in daily:
        day, model = row["day"], row["model"]
        tokens = bill.sent_tokens_of_row(row) + row["output_tokens"]
        spent[model, day] += row["dollars"] or 0.0
        used[model, day] += tokens
        by_model[model] += tokens
        sent[day] += bill.sent_tokens_of_row(row)
        read[day] += row["cache_read_tokens"]
    times = Counter(str(_local_day(each["at"])) for each in compacted)
    shares = [100 * read[day] / sent[day] if sent[day] else 0.0 for day in days]

    def amounts_by_model(amounts: Mapping[tuple[str, str], float]) -> list[tuple[str, list[float]]]:
        largest = by_model.most_common()
        return [(model, [amounts[model, day] for day in days]) for model, _ in largest]

    counts = [("compactions", [times[day] for day in days])]
    return {
        "dollars": chart.daily_bar_plots(days, amounts_by_model(spent), "$"),
        "tokens": chart.daily_bar_plots(days, amounts_by_model(used)),
        "cache": chart.daily_bar_plots(days, [("read from the cache, %", shares)]),
        "compactions": chart.daily_bar_plots(days, counts),
    }


def _local_day(at: float) -> date:
    return date(*time.localtime(at)[:3])
