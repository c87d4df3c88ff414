"""How somebody is doing: what was sent and paid each day, what took most of it, what would help.

Pure: it takes what requests used and the rows of the index, and returns what the page shows.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import output
from brimline.dashboard import chart
from brimline.figures import aftermath, bill, savings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from brimline.figures.spending import Spending

SPANS = (30, 90, 365)
_WEEK, _MOST_BARS = 7, 90
_TOP = 5
# Where a figure is worth a sentence: shares of what was sent, paid, or came in.
_LOW_CACHE, _MUCH_COMPACTED, _MUCH_OF_ONE_TOOL, _MUCH_INJECTED = 0.85, 0.05, 0.4, 0.15
_MOST_ADVICE = 3


class Advice(NamedTuple):
    """What follows from a figure, and the command that helps."""

    share: float
    text: str
    command: str


@dataclass
class Period:
    """What is known of the days that are shown."""

    total: dict[str, Any]
    """The bill of all requests."""
    rows: list[dict[str, Any]]
    """Sessions of the index that were active."""
    compactions: list[dict[str, Any]]
    tools: Counter[str]
    """Tokens of results."""

    @property
    def sent_tokens(self) -> int:
        """What requests sent, from the cache or not."""
        return bill.sent_tokens_of_row(self.total)

    @property
    def cache_share(self) -> float:
        """How much of that came from the cache."""
        return self.total["cache_read_tokens"] / self.sent_tokens if self.sent_tokens else 1.0

    @property
    def compaction_dollars(self) -> float:
        """What compactions cost, about."""
        return sum(each["dollars"] or 0.0 for each in self.compactions)

    @property
    def injected_tokens(self) -> int:
        """What hooks and the client added."""
        return sum(row["injected_tokens"] for row in self.rows)

    def ratio_to_tokens_brought_in(self, tokens: int) -> float:
        """Tokens as a share of what tools, hooks and the client brought in."""
        return tokens / max(1, self.injected_tokens + self.tools.total())


def overall_page_values(
    spendings: Sequence[Spending],
    rows: Sequence[dict[str, Any]],
    user_models: Sequence[dict[str, Any]],
    span: int,
) -> dict[str, Any]:
    """All that the page shows of the last days, counted from the last request."""
    bins = _first_day_of_bar_by_day(spendings, span)
    since = time.mktime(date.fromisoformat(min(bins)).timetuple())
    compacted = [each for each in distinct_compactions(rows) if str(_local_day(each["at"])) in bins]
    aftermath.fill_in_dollars(compacted, user_models)
    recent = [row for row in rows if row["last_at"] >= since]
    total = bill.document(spendings, "day", user_models, since)["total"]
    daily = bill.bill_rows_by_group(spendings, ("day", "model"), user_models, since)
    projects = bill.bill_rows_by_group(spendings, ("project",), user_models, since)
    period = Period(total, recent, compacted, _sum_counts(row["tools"] for row in recent))
    return {
        "span": span,
        "until": max(bins),
        "unit": "day" if span <= _MOST_BARS else "week",
        "spans": SPANS,
        "sessions": sum(row["requests"] > 0 for row in recent),
        "period": period,
        "saved": savings.sum_savings(savings.Saved(*row["saved"]) for row in recent),
        "total_dollars": bill.row_dollars_text(total),
        "tokens": period.sent_tokens + total["output_tokens"],
        "plots": _period_plots(daily, compacted, bins),
        "projects": sorted(projects, key=lambda row: -(row["dollars"] or 0.0))[:_TOP],
        "tools": period.tools.most_common(_TOP),
        "advice": advice_with_largest_shares(period),
    }


def advice_with_largest_shares(period: Period) -> list[Advice]:
    """The sentences that the figures call for, the one with the largest share first."""
    given = [adviser(period) for adviser in _ADVISERS]
    return sorted(filter(None, given), reverse=True)[:_MOST_ADVICE]


def _advise_on_cache(period: Period) -> Advice | None:
    missed = 1 - period.cache_share
    if missed <= 1 - _LOW_CACHE:
        return None
    text = f"{missed:.0%} of what was sent did not come from the cache"
    causes = _sum_counts(row["causes"] for row in period.rows)
    for cause, _ in causes.most_common(1):
        text += f"; most breaks were “{output.one_line(cause, 60)}”"
    return Advice(missed, f"{text}.", "brimline dashboard")


def _advise_on_compactions(period: Period) -> Advice | None:
    # What summaries took is not in the bill, so it may be less than they cost.
    share = min(1.0, period.compaction_dollars / (period.total["dollars"] or 1.0))
    if share <= _MUCH_COMPACTED:
        return None
    dollars = bill.format_dollars(period.compaction_dollars)
    text = f"Compactions took about {dollars}, {share:.0%} of it all: purge a long session before "
    text += "you resume it, such as the one with most of them."
    most = max(period.rows, key=lambda row: len(row["compacted"]))
    return Advice(share, text, f"brimline session purge {most['id'][:8]} --dry-run")


def _advise_on_tools(period: Period) -> Advice | None:
    for tool, tokens in period.tools.most_common(1):
        share = period.ratio_to_tokens_brought_in(tokens)
        if share > _MUCH_OF_ONE_TOOL:
            text = f"Results of {output.one_line(tool, 40)} are {share:.0%} of what came in: "
            largest = max(period.rows, key=lambda row: row["tools"].get(tool, 0))
            command = f"brimline session inspect {largest['id'][:8]}"
            return Advice(share, f"{text}see which calls were large where it had most.", command)
    return None


def _advise_on_injections(period: Period) -> Advice | None:
    share = period.ratio_to_tokens_brought_in(period.injected_tokens)
    if share <= _MUCH_INJECTED:
        return None
    text = f"Hooks and the client added {share:.0%} of what came in."
    return Advice(share, text, "brimline dashboard")


_ADVISERS = (_advise_on_cache, _advise_on_compactions, _advise_on_tools, _advise_on_injections)


def distinct_compactions(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every compaction once: a resumed session has copies of those before."""
    distinct: dict[Any, dict[str, Any]] = {}
    for row in rows:
        for number, figures in enumerate(row["compacted"]):
            each = figures | {"model": row["model"], "dollars": None}
            distinct.setdefault(each["uuid"] or (row["id"], number), each)
    return sorted(distinct.values(), key=lambda each: each["at"])


def _first_day_of_bar_by_day(spendings: Sequence[Spending], span: int) -> dict[str, str]:
    """The days up to the last request, each with the first day of its bar."""
    last = _local_day(max((each.last_at for each in spendings), default=0.0))
    first = _local_day(min((each.at for each in spendings), default=0.0))
    first = max(first, last - timedelta(span - 1))
    days = [first + timedelta(number) for number in range((last - first).days + 1)]
    length = 1 if span <= _MOST_BARS else _WEEK
    return {str(day): str(days[at - at % length]) for at, day in enumerate(days)}


def _period_plots(
    daily: list[dict[str, Any]], compacted: list[dict[str, Any]], bins: dict[str, str]
) -> dict[str, list[chart.Plot]]:
    """Dollars and tokens by model, the share of the cache, and compactions, bar by bar."""
    spent, used = defaultdict[tuple[str, str], float](float), Counter[tuple[str, str]]()
    by_model, sent, read = (Counter[str]() for _ in range(3))
    for row in daily:
        bar, model = bins[row["day"]], row["model"]
        tokens = bill.sent_tokens_of_row(row) + row["output_tokens"]
        spent[model, bar] += row["dollars"] or 0.0
        used[model, bar] += tokens
        by_model[model] += tokens
        sent[bar] += bill.sent_tokens_of_row(row)
        read[bar] += row["cache_read_tokens"]
    times = Counter(bins[str(_local_day(each["at"]))] for each in compacted)
    bars = list(dict.fromkeys(bins.values()))
    shares = [100 * read[bar] / sent[bar] if sent[bar] else 0.0 for bar in bars]

    def amounts_by_model(amounts: Mapping[tuple[str, str], float]) -> list[tuple[str, list[float]]]:
        largest = by_model.most_common()
        return [(model, [amounts[model, bar] for bar in bars]) for model, _ in largest]

    address = "/day?day={}" + ("" if len(bars) == len(bins) else f"&days={_WEEK}")
    counts = [("compactions", [times[bar] for bar in bars])]
    return {
        "dollars": chart.daily_bar_plots(bars, amounts_by_model(spent), "$", address),
        "tokens": chart.daily_bar_plots(bars, amounts_by_model(used), "", address),
        "cache": chart.daily_bar_plots(bars, [("read from the cache, %", shares)], "", address),
        "compactions": chart.daily_bar_plots(bars, counts, "", address),
    }


def _local_day(at: float) -> date:
    return date(*time.localtime(at)[:3])


def _sum_counts(counts: Iterable[dict[str, int]]) -> Counter[str]:
    return sum(map(Counter, counts), Counter())
