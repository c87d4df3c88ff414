"""One day: which sessions there were, what they were about, what they changed and cost."""

from __future__ import annotations

import time
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from brimline import output
from brimline.fast import clock
from brimline.figures import bill
from brimline.transcript import clienttools, read, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.figures.spending import Spending

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT_ID = 8
_CALLS = (b'"tool_use"',)


def parse_day(text: str, today: date) -> date | None:
    """The day that is meant by a date, `today`, `yesterday` or the last such weekday, or None."""
    word = text.lower()
    if word in ("today", "yesterday"):
        return today - timedelta(word == "yesterday")
    if word in _WEEKDAYS:
        return today - timedelta((today.weekday() - _WEEKDAYS.index(word)) % len(_WEEKDAYS))
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def document(
    day: date, spendings: Sequence[Spending], user_rows: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """The sessions that asked for something on a day, the first first.

    Raises:
        OSError: one of them cannot be read.
    """
    begun, end = (time.mktime((day + timedelta(n)).timetuple()) for n in (0, 1))
    own = [each for each in spendings if begun <= each.at < end]
    paths: dict[str, list[str]] = {}
    for each in own:
        if each.path not in paths.setdefault(each.session_id, []):
            paths[each.session_id].append(each.path)
    rows = bill.bill_rows_by_group(own, ("session",), user_rows)
    for found in rows:
        changed = [_changed_files(path, begun, end) for path in paths[found["session"]]]
        found["changed_files"] = sorted(set().union(*changed))
    total = bill.bill_rows_by_group(own, (), user_rows)
    return {
        "day": str(day),
        "dollars": total[0]["dollars"] if total else 0.0,
        "sessions": sorted(rows, key=lambda found: found["first_at"]),
    }


def _changed_files(path: str, begun: float, end: float) -> set[str]:
    """The files that a session edited or wrote in a stretch of time."""
    return {
        clienttools.file_of_call(call.arguments)
        for fields in read.rows_of_file(path, _CALLS)
        if begun <= (clock.parse_utc(row.timestamp_text_of(fields)) or 0.0) < end
        for call in row.any_thread_calls(fields)
        if call.name in clienttools.EDITING
    } - {""}


def text(document: dict[str, Any]) -> str:
    """The day for a person."""
    rows = document["sessions"]
    if not rows:
        return f"No session asked for anything on {document['day']}."
    shown = [
        [
            f"{_local_time(each['first_at'])}–{_local_time(each['last_at'])}",
            bill.row_dollars_text(each),
            str(len(each["changed_files"])),
            output.one_line((each["project"] or "unknown").rstrip("/").rpartition("/")[2], 16),
            f"{each['session'][:_SHORT_ID]} {output.one_line(each['title'])}".rstrip(),
        ]
        for each in rows
    ]
    head = ["when", "cost", "files", "project", "session"]
    count = output.count_text(len(rows), "session")
    dollars = bill.format_dollars(document["dollars"] or 0.0)
    title = f"{document['day']}: {count}, {dollars} at list price; files are those that changed"
    return f"{title}\n{output.table_text(head, shown, right={1, 2})}"


def _local_time(timestamp: str) -> str:
    return time.strftime("%H:%M", time.localtime(clock.parse_utc(timestamp)))
