"""What a session leaves in a daily note: its words, and its place among the others. Pure."""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from typing import TYPE_CHECKING

from brimline.carry import items, moment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from brimline.carry.items import Ledger

TEMPLATE = """\
- {time} **{project}**: {goal}
  - open: {open}
  - done: {done}
  - files: {files}"""
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_GOAL_CHARACTERS = 160
_TASK_CHARACTERS = 80
_MOST_NAMED = 3
_MOST_FILES = 5
_VARIABLE = re.compile(r"\{\{\s*(title|date|time)\s*(?::([^{}]*))?\}\}", re.IGNORECASE)
_VARIABLE_FORMATS = {"date": "YYYY-MM-DD", "time": "HH:mm"}


def entry(ledger: Ledger, project_dir: str, at: datetime, template: str = TEMPLATE) -> str:
    """The entry of a session; a line of which nothing is known is left out."""
    values = _values(ledger, project_dir, at)
    lines = []
    for line in template.replace("\r\n", "\n").strip("\n").split("\n"):
        named = [name for name in _PLACEHOLDER.findall(line) if name in values]
        if not named or any(values[name] for name in named):
            lines.append(_PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), line))
    return "\n".join(lines)


def marked(text: str, session_id: str) -> str:
    """An entry between marks that tell whose it is, and whether somebody has changed it since."""
    first, line_break, rest = text.partition("\n")
    return (
        f"{first} <!-- brimline {session_id} {_digest(text)} -->{line_break}{rest}"
        f" <!-- /brimline {session_id} -->"
    )


def with_entry(note: str, text: str, session_id: str) -> str | None:
    """A note in which an entry has taken the place of the session's earlier one.

    Everything else stays as it was.

    Returns:
        None where the note has no entry of the session yet. The same note where it has one that
        somebody has changed by hand: what people write is theirs.
    """
    found = _entry_in(session_id).search(note)
    if found is None:
        return None if f"<!-- brimline {session_id} " not in note else note
    before, digest, after = found["first"], found["digest"], found["rest"]
    if _digest(f"{before}{after}") != digest:
        return note
    new = marked(text, session_id).replace("\n", line_break(note))
    return note[: found.start()] + new + note[found.end() :]


def appended(note: str, text: str, session_id: str) -> str:
    """What has to be written after a note so that an entry stands on lines of its own."""
    end = line_break(note)
    begin = "" if not note or note.endswith("\n") else end
    return begin + marked(text, session_id).replace("\n", end) + end


def filled(template: str, title: str, at: datetime) -> str:
    """A template for daily notes with its title, date and time filled in."""

    def value(match: re.Match[str]) -> str:
        name = match[1].lower()
        if name == "title":
            return title
        return moment.formatted(at, (match[2] or _VARIABLE_FORMATS[name]).strip())

    return _VARIABLE.sub(value, template)


def line_break(note: str) -> str:
    """How the lines of a note end."""
    return "\r\n" if "\r\n" in note else "\n"


def _entry_in(session_id: str) -> re.Pattern[str]:
    name = re.escape(session_id)
    return re.compile(
        rf"^(?P<first>[^\r\n]*?) <!-- brimline {name} (?P<digest>[0-9a-f]{{8}}) -->"
        rf"(?P<rest>(?:(?!<!-- brimline )[\s\S])*?) <!-- /brimline {name} -->",
        re.MULTILINE,
    )


def _digest(text: str) -> str:
    """Of the words alone: programs that sync notes change line breaks and blanks at their ends."""
    words = " ".join(text.split())
    return blake2b(words.encode("utf-8", "replace"), digest_size=4).hexdigest()


def _values(ledger: Ledger, project_dir: str, at: datetime) -> dict[str, str]:
    goals = [item.text for item in ledger.of(items.GOAL)]
    open_tasks = [item.text for item in ledger.of(items.TASK, status=items.OPEN)]
    done_tasks = [item.text for item in ledger.of(items.TASK, status=items.DONE)]
    return {
        "date": moment.formatted(at, "YYYY-MM-DD"),
        "time": moment.formatted(at, "HH:mm"),
        "project": _plain(os.path.basename(project_dir.rstrip("/")) or project_dir, 80),
        "session": ledger.session,
        "goal": _plain(goals[-1], _GOAL_CHARACTERS) if goals else "",
        "open": _listed(open_tasks),
        "done": _listed(done_tasks),
        "files": _files(ledger),
    }


def _listed(texts: Sequence[str]) -> str:
    named = [_plain(text, _TASK_CHARACTERS) for text in texts[-_MOST_NAMED:]]
    more = len(texts) - len(named)
    return "; ".join(named) + (f"; and {more} more" if more else "")


def _files(ledger: Ledger) -> str:
    changed = [item.text for item in ledger.of(items.FILE) if item.extra.get("did") != "read"]
    names = [os.path.basename(path.rstrip("/")) for path in changed[-_MOST_FILES:]]
    more = len(changed) - len(names)
    shown = ", ".join(f"`{_plain(name, _TASK_CHARACTERS)}`" for name in names)
    return shown + (f" and {more} more" if more else "")


def _plain(text: str, most: int) -> str:
    """On one line, and unable to open or close a comment."""
    plain = " ".join(text.split()).replace("<!--", "<! --").replace("-->", "-- >")
    plain = "".join([character for character in plain if character.isprintable()])
    return plain if len(plain) <= most else plain[: most - 1].rstrip() + "…"
