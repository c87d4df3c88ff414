"""Leaves one line per session in a daily note; nothing else in the note is ever touched."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

from brimline.errors import StateError
from brimline.fast import io, json
from brimline.foreign import flatten

if TYPE_CHECKING:
    from brimline.carry.ledger import Ledger

_DAILY_NOTES = ".obsidian/daily-notes.json"
_TOKENS = {"YYYY": "%Y", "MM": "%m", "DD": "%d"}
_LARGEST_FILE_BYTES = 256 << 10
_LARGEST_NOTE_BYTES = 16 << 20


def append_session_line(record: Ledger, project_dir: str, daily_note: str) -> str | None:
    """Append a session's entry unless it is there; returns the note's path.

    Args:
        record: what is known of the session; without a message of the user it leaves nothing.
        project_dir: the session's project.
        daily_note: the folder of notes, or the note's path in `strftime` form.

    Raises:
        StateError: the folder, its date format or the note is not what it should be.
        OSError: the note cannot be read or written.
    """
    if not record.messages:
        return None
    note = _todays_note_path(os.path.expanduser(daily_note))
    mark = f"%% brimline {record.session} %%"
    before = _note_text_or_empty(note)
    if mark in before:
        return note
    line = f"- {time.strftime('%H:%M')} {_session_line_text(record, project_dir)} {mark}\n"
    data = (("" if not before or before.endswith("\n") else "\n") + line).encode("utf-8", "replace")
    os.makedirs(os.path.dirname(note), exist_ok=True)
    # A named pipe in the place of the note must not hold the session up.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK
    descriptor = os.open(note, flags, 0o644)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)
    return note


def _todays_note_path(place: str) -> str:
    """Today's note."""
    if os.path.isdir(place):
        vault = os.path.realpath(place)
        note = os.path.normpath(f"{vault}/{time.strftime(_obsidian_path_format(vault))}.md")
        if not os.path.realpath(note).startswith(vault + os.sep) or "\0" in note:
            raise StateError(f"the daily note {note} is outside of the vault {vault}")
        return note
    folder, date, _ = place.partition("%")
    if not date or not os.path.isabs(place) or not os.path.isdir(os.path.dirname(folder)):
        raise StateError(
            f"carry.daily_note is not a folder, nor a path with a date in one: {place}"
        )
    return time.strftime(place)


def _obsidian_path_format(vault: str) -> str:
    """Return where Obsidian keeps daily notes, in `strftime` form."""
    try:
        settings = json.parse_object(io.read_file(f"{vault}/{_DAILY_NOTES}", _LARGEST_FILE_BYTES))
    except (OSError, ValueError):
        settings = {}
    date, folder = settings.get("format") or "YYYY-MM-DD", settings.get("folder") or ""
    if not isinstance(date, str) or not isinstance(folder, str):
        raise StateError(f"{vault}/{_DAILY_NOTES} has no folder and format of the usual kind")
    form = re.sub("YYYY|MM|DD", lambda token: _TOKENS[token.group()], date.replace("%", "%%"))
    if re.search(r"[A-Za-z]", re.sub("%[YmdD%]", "", form)):
        raise StateError(
            f"the vault's date format {date!r} has more than YYYY, MM and DD in it: "
            f"set carry.daily_note to the note's path, such as '{vault}/%Y-%m-%d.md'"
        )
    return f"{folder.replace('%', '%%')}/{form}"


def _note_text_or_empty(note: str) -> str:
    try:
        return io.read_file(note, _LARGEST_NOTE_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def _session_line_text(record: Ledger, project_dir: str) -> str:
    """Project, what it was about in the user's own words, and what came of it."""
    counts = (
        (len(record.changed), "file changed", "files changed"),
        (len(record.commits), "commit", "commits"),
        (record.open_task_count(), "open task", "open tasks"),
    )
    results = [f"{count} {one if count == 1 else many}" for count, one, many in counts if count]
    subject = flatten(record.messages[0]["text"], 160).replace("%%", "% %")
    end = f" ({', '.join(results)})" if results else ""
    return f"brimline: {flatten(os.path.basename(project_dir))}: {subject}{end}"
