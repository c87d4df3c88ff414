"""One day: which sessions there were, what they were about, what they changed, lost and cost."""

from __future__ import annotations

import contextlib
import time
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from brimline import output
from brimline.carry import commands
from brimline.fast import clock
from brimline.figures import aftermath, bill, history, lookback
from brimline.masking import mask
from brimline.transcript import clienttools, read, row, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.figures.spending import Spending
    from brimline.figures.store import Store

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT_ID = 8
# Of a longer first prompt no more is shown, or looked through for secrets.
_PROMPT_CHARACTERS, _MASKED_CHARACTERS = 300, 10_000
_SHOWN = 6


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


def sessions_of_day(spendings: Sequence[Spending], day: date) -> list[Spending]:
    """What was spent on a day."""
    begun, end = _span(day)
    return [each for each in spendings if begun <= each.at < end]


def document(
    found: Store,
    day: date | None,
    spendings: Sequence[Spending],
    user_rows: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """The sessions that asked for something on a day, the first first.

    Args:
        found: the figures.
        day: None for the last one on which something was asked.
        spendings: what all requests used.
        user_rows: the user's own rows of the table of models.
    """
    active = sorted({date(*time.localtime(each.at)[:3]) for each in spendings})
    day = day or (active or [date.today()])[-1]  # noqa: DTZ011 - days are those of this machine
    own = sessions_of_day(spendings, day)
    rows = bill.bill_rows_by_group(own, ("session",), user_rows)
    for each in rows:
        files = {one.path for one in own if one.session_id == each["session"]}
        each.update(_what_was_done(found, each["session"], files, _span(day), user_rows))
    total = bill.bill_rows_by_group(own, (), user_rows)
    return {
        "day": str(day),
        "before": next((str(one) for one in reversed(active) if one < day), None),
        "after": next((str(one) for one in active if one > day), None),
        "dollars": total[0]["dollars"] if total else 0.0,
        "sessions": sorted(rows, key=lambda each: each["first_at"]),
    }


def _span(day: date) -> tuple[float, float]:
    begun, end = (time.mktime((day + timedelta(n)).timetuple()) for n in (0, 1))
    return begun, end


def _what_was_done(
    found: Store,
    name: str,
    files: set[str],
    span: tuple[float, float],
    user_rows: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """The first prompt of a session in a stretch of time, what it changed, and its compactions."""
    main = [each.path for each in found.transcripts_of(name)]
    work, compactions = _Work(*span), list[dict[str, Any]]()
    for path in dict.fromkeys([*main, *sorted(files)]):
        with contextlib.suppress(OSError):  # it went away meanwhile
            work.read_file(path)
    with contextlib.suppress(OSError):
        figures = history.read_session(found, name, main).figures
        figures.compactions = [one for one in figures.compactions if span[0] <= one.at < span[1]]
        compactions = lookback.compaction_documents(name, figures)
    aftermath.fill_in_dollars(compactions, user_rows)
    for path in main if compactions else ():
        with contextlib.suppress(OSError):
            aftermath.fill_in_what_summary_lost(compactions, path)
    return {
        "first_prompt": work.first_prompt,
        "changed_files": sorted(work.changed_files - {""}),
        "commits": work.commits,
        "compactions": compactions,
    }


class _Work:
    """What some files tell of a stretch of time; lines of other days are not parsed."""

    def __init__(self, begun: float, end: float) -> None:
        self.first_prompt = ""
        self.changed_files: set[str] = set()
        self.commits: list[list[str]] = []
        self._begun, self._end = begun, end
        self._commands: dict[str, str] = {}

    def read_file(self, path: str) -> None:
        """Take in one file.

        Raises:
            OSError: it cannot be read.
        """
        days = range(int(self._begun // 86_400), int(self._end // 86_400) + 1)
        marks = [f'"{clock.format_utc(86_400 * day)[:10]}T'.encode() for day in days]
        for fields in read.rows_of_file(path, tuple(marks)):
            at = clock.parse_utc(row.timestamp_text_of(fields)) or 0.0
            if self._begun <= at < self._end:
                self._read_row(fields)

    def _read_row(self, fields: dict[str, Any]) -> None:
        if not self.first_prompt:
            said = words.users_own_message(fields)[:_MASKED_CHARACTERS]
            self.first_prompt = mask(said)[:_PROMPT_CHARACTERS]
        for call in row.any_thread_calls(fields):
            if call.name in clienttools.EDITING:
                self.changed_files.add(clienttools.file_of_call(call.arguments))
            elif call.name == "Bash":
                self._commands[call.id] = str(call.arguments.get("command"))
        for result in row.main_thread_results(fields):
            command = self._commands.pop(result.call_id, "")
            made = commands.commits_in_output(result.text) if "commit" in command else []
            if made and "--amend" in command:
                del self.commits[-1:]
            self.commits += [one for one in made if one not in self.commits]


def text(document: dict[str, Any]) -> str:
    """The day for a person."""
    rows = document["sessions"]
    if not rows:
        return f"No session asked for anything on {document['day']}."
    names = output.folder_names(each["project"] for each in rows)
    count, dollars = output.count_text(len(rows), "session"), document["dollars"]
    lines = [f"{document['day']}: {count}, {bill.format_dollars(dollars or 0.0)} at list price"]
    for each in rows:
        when = f"{_local_time(each['first_at'])}–{_local_time(each['last_at'])}"
        place = output.Path(names[each["project"]])
        about = f"{bill.row_dollars_text(each)}  {output.one_line(place, 30)}"
        title = output.one_line(each["title"] or each["first_prompt"], 200)
        head = f"{when}  {about}  {each['session'][:_SHORT_ID]} {title}".rstrip()
        lines += ["", output.wrapped_text(head, "", "  ")]
        lines += [output.wrapped_text(line, "  ", "    ") for line in lines_of_work(each)]
    return "\n".join(lines)


def lines_of_work(each: dict[str, Any]) -> list[str]:
    """What a session was asked first on the day, changed and committed, and what was compacted."""
    lines = []
    prompt = output.one_line(each["first_prompt"], 200)
    if prompt and not each["title"].startswith(prompt[:40]):
        lines.append(f"“{prompt}”")
    names = output.folder_names(each["changed_files"])
    files = [output.one_line(output.Path(names[path])) for path in each["changed_files"]]
    lines += _listed("file", files)
    lines += _listed(
        "commit", [f"{name} {output.one_line(what)}" for name, what in each["commits"]]
    )
    compactions = each["compactions"]
    told = [f"{_local_time(one['at'])} {aftermath.short_account(one)}" for one in compactions]
    return lines + told


def _listed(noun: str, names: list[str]) -> list[str]:
    if not names:
        return []
    more = [f"{len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else []
    return [f"{output.count_text(len(names), noun)}: {', '.join([*names[:_SHOWN], *more])}"]


def _local_time(timestamp: str) -> str:
    return time.strftime("%H:%M", time.localtime(clock.parse_utc(timestamp)))
