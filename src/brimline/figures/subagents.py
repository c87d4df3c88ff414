"""The subagents of a session: what each was for, with a window, tokens and a cost of its own.

Clients keep a file for each; older ones have them in the session's own, in rows on its progress.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from brimline import models, output
from brimline.fast import clock
from brimline.figures import bill
from brimline.figures.spending import Spending
from brimline.gauge.window import window_proved_by_occupancy
from brimline.gauge.wording import short_token_count_text
from brimline.transcript import clienttools, find, read, row

if TYPE_CHECKING:
    from collections.abc import Sequence

_MARKS = (row.SUBAGENT_MARK, *[f'"{name}"'.encode() for name in clienttools.DELEGATING])
_FILE_PREFIX = "agent-"
_SHORT_ID = 8
# Nobody says that one has ended: it is running as long as it was heard of a moment ago.
_RUNNING_S = 60.0


def document(
    spendings: Sequence[Spending], path: str, user_rows: Sequence[dict[str, Any]] = ()
) -> list[dict[str, Any]]:
    """The subagents of a session, the first first.

    Args:
        spendings: what requests used, of this session or of more.
        path: of the session's own file.
        user_rows: the user's own rows of the table of models.

    Raises:
        OSError: the file cannot be read.
    """
    name, reader = find.session_id_of(path), _Reader(path)
    for offset, value in read.rows_with_offsets(path, _MARKS):
        reader.read_row(value, offset)
    used: dict[str, list[Spending]] = {}
    for each in spendings:
        if each.session_id == name and find.is_subagent_file(each.path):
            agent = find.session_id_of(each.path).removeprefix(_FILE_PREFIX)
            used.setdefault(agent, []).append(each)
    used = {agent: list(each.values()) for agent, each in reader.used.items()} | used
    rows = [_row(agent, own, reader.told, user_rows) for agent, own in used.items()]
    return sorted(rows, key=lambda each: each["first_at"])


def _row(
    agent: str,
    own: Sequence[Spending],
    told: dict[str, str],
    user_rows: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    (spent,) = bill.bill_rows_by_group(own, (), user_rows)
    times = Counter[str]()
    for each in own:
        times[each.model] += each.requests
    model = times.most_common(1)[0][0]
    peak = max(each.largest_prompt_tokens for each in own)
    window = models.lookup_model(model, user_rows).window_tokens
    return {
        "agent": agent,
        "about": told.get(agent, ""),
        "model": model,
        "tokens": bill.tokens_of_row(spent),
        "peak_tokens": peak,
        "window_tokens": max(window, window_proved_by_occupancy(peak) or 0),
        "is_running": any(map(_is_running, own)),
        **{name: spent[name] for name in ("requests", "dollars", "is_assumed", "first_at")},
    }


def _is_running(spent: Spending) -> bool:
    """Tell whether a subagent was heard of a moment ago, by its file where it has one."""
    if find.is_subagent_file(spent.path):
        return is_written_now(spent.path)
    return clock.now_s() - spent.last_at < _RUNNING_S


def is_written_now(path: str) -> bool:
    """Tell whether a transcript grew a moment ago."""
    return clock.now_s() - find.modified_at(path) < _RUNNING_S


class _Reader:
    """Takes the rows of a session that tell of subagents."""

    def __init__(self, path: str) -> None:
        self.told: dict[str, str] = {}
        """What each was for."""
        self.used: dict[str, dict[str, Spending]] = {}
        """What the session's own file has of their requests, by subagent and reply."""
        self._path = path
        self._calls: dict[str, str] = {}

    def read_row(self, value: dict[str, Any], offset: int) -> None:
        """Look at the next row."""
        for call in row.main_thread_calls(value):
            if call.name in clienttools.DELEGATING:
                self._calls[call.id] = clienttools.subject_of_call(call.arguments)
        agent = row.subagent_told_of(value)
        for result in row.main_thread_results(value):
            if agent and result.call_id in self._calls:
                self.told[agent] = self._calls[result.call_id]
        reply = row.reply_in_progress(value) or value
        costs = row.costs_of(reply)
        if costs and (agent := agent or row.subagent_id_of(value)):
            kind, searches, *tokens = costs
            at = clock.parse_utc(row.timestamp_text_of(reply)) or 0.0
            about = (self._path, "", "", "", True, row.model_of(reply), kind, at, at, 1)
            spent = Spending(*about, sum(tokens[:-1]), searches, *tokens)
            self.used.setdefault(agent, {})[row.message_id(reply) or str(offset)] = spent


def running_text(rows: Sequence[dict[str, Any]]) -> str:
    """The running ones in a sentence, each with its window and cost; empty without any."""
    return "; ".join(
        f"{_name(each)}: {each['peak_tokens']:,} of {each['window_tokens']:,} tokens,"
        f" {bill.row_dollars_text(each)}"
        for each in rows
        if each["is_running"]
    )


def _name(row: dict[str, Any]) -> str:
    return output.one_line(row["about"] or row["agent"][:_SHORT_ID])


def lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The subagents for a person; nothing where there were none."""
    if not rows:
        return []
    head = ["subagent", "requests", "tokens", "fullest", "cost", "for"]
    cells = [
        [
            each["agent"][:_SHORT_ID],
            f"{each['requests']:,}",
            short_token_count_text(each["tokens"]),
            f"{each['peak_tokens']:,} ({each['peak_tokens'] / each['window_tokens']:.0%})",
            bill.row_dollars_text(each),
            output.one_line(each["about"] or bill.short_model_name(each["model"]))
            + ", running" * each["is_running"],
        ]
        for each in rows
    ]
    table = output.table_text(head, cells, right=range(1, 5))
    return ["", "Subagents, each with a window of its own", table]
