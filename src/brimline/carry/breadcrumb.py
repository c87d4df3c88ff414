"""Leaves one entry per session in a daily note, beside whatever else is written there.

A new entry is appended in a single write. Only a session that was resumed has its own entry
replaced: in a copy that takes the note's place, unless the note was changed in the meantime.
"""

from __future__ import annotations

import json
import os
import stat
import time
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline import clock, fastio
from brimline.carry import crumbtext, moment
from brimline.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from brimline.carry.items import Ledger
    from brimline.carry.session import Session

DATE_FORMAT = "YYYY-MM-DD"
_DAILY_NOTES = ".obsidian/daily-notes.json"
_LARGEST_NOTE_BYTES = 16 << 20
_LARGEST_FILE_BYTES = 256 << 10
_TRIES = 4
_WAITS, _WAIT_S = 10, 0.05


class DailyNotes(NamedTuple):
    """Where a vault keeps its daily notes."""

    folder: str = ""
    date_format: str = DATE_FORMAT
    template: str = ""


def leave(session: Session, ledger: Ledger, *, now: Callable[[], float] = clock.now) -> str | None:
    """Leave or renew a session's entry; returns the note's path, None with nothing to say.

    Args:
        session: the session that ended.
        ledger: what is known of it.
        now: the time; local to the machine.

    Raises:
        StateError: the vault or the note is not what it should be.
        OSError: the note cannot be read or written.
    """
    if not ledger.items:
        return None
    vault = _vault(session.values["carry.vault"])
    at = datetime.fromtimestamp(now()).astimezone()
    daily = daily_notes(vault)
    note = note_path(vault, daily, at)
    template = session.values.get("carry.breadcrumb") or crumbtext.TEMPLATE
    text = crumbtext.entry(ledger, session.project_dir, at, template)
    if text.strip():
        write(note, text, ledger.session, beginning=lambda: _beginning(vault, daily, note, at))
    return note


def daily_notes(vault: str) -> DailyNotes:
    """What Obsidian's own settings say; its defaults where they say nothing."""
    try:
        raw = fastio.read_file(f"{vault}/{_DAILY_NOTES}", _LARGEST_FILE_BYTES)
        found = json.loads(raw.decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return DailyNotes()
    told = found if isinstance(found, dict) else {}
    return DailyNotes(
        _text(told.get("folder")),
        _text(told.get("format")) or DATE_FORMAT,
        _text(told.get("template")),
    )


def note_path(vault: str, daily: DailyNotes, at: datetime) -> str:
    """The daily note of a day.

    Raises:
        StateError: it would not be in the vault.
    """
    name = moment.formatted(at, daily.date_format).strip("/")
    path = os.path.normpath(f"{vault}/{daily.folder}/{name}.md")
    if not path.startswith(f"{vault}/") or "\0" in path:
        raise StateError(f"the daily note {path} is outside of the vault {vault}")
    return path


def write(
    note: str, text: str, session_id: str, *, beginning: Callable[[], str] = lambda: ""
) -> None:
    """Put an entry into a note.

    Args:
        note: its path; one that is not there is begun.
        text: the entry.
        session_id: whose entry it is.
        beginning: what a note begins with that is made for it.

    Raises:
        StateError: the note is no text file, or changes all the time.
        OSError: it cannot be read or written.
    """
    os.makedirs(os.path.dirname(note), exist_ok=True)
    with _alone_in(os.path.dirname(os.path.realpath(note))):
        if not os.path.lexists(note):
            _begin(note, beginning())
        for _ in range(_TRIES):
            before = _read(note)
            after = crumbtext.with_entry(before, text, session_id)
            if after is None:
                _append(note, crumbtext.appended(before, text, session_id))
                return
            if after == before or _replace(note, before, after):
                return
    raise StateError(f"{note} was changed by something else each time: the entry was not renewed")


@contextmanager
def _alone_in(folder: str) -> Iterator[None]:
    """Keep other sessions that end now from writing there, for half a second at most.

    Notes are not locked against the editor, which knows no locks: it is the copy that is compared
    with the note before it takes its place.
    """
    descriptor = -1
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        _wait_for(descriptor)
    except (OSError, ImportError):
        pass  # a file system or a platform without locks
    try:
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _wait_for(descriptor: int) -> None:
    import fcntl

    for _ in range(_WAITS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_WAIT_S)
        else:
            return


def _vault(path: str) -> str:
    vault = os.path.realpath(os.path.expanduser(path))
    if not os.path.isdir(vault):
        raise StateError(f"carry.vault is no folder: {path}")
    return vault


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _beginning(vault: str, daily: DailyNotes, note: str, at: datetime) -> str:
    """The user's template for daily notes, as Obsidian would have filled it in."""
    path = os.path.normpath(f"{vault}/{daily.template}")
    if not daily.template or not path.startswith(f"{vault}/"):
        return ""
    for name in (path, f"{path}.md"):
        try:
            raw = fastio.read_file(name, _LARGEST_FILE_BYTES)
        except OSError:
            continue
        title = os.path.basename(note).removesuffix(".md")
        return crumbtext.filled(_decoded(raw, name), title, at)
    return ""


def _begin(note: str, text: str) -> None:
    """Make a note; if somebody else just did, theirs stays."""
    try:
        descriptor = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return
    _write_and_close(descriptor, text)


def _read(note: str) -> str:
    if os.path.isdir(note):
        raise StateError(f"{note} is a folder: the daily note cannot be written")
    raw = fastio.read_file(note, _LARGEST_NOTE_BYTES + 1)
    if len(raw) > _LARGEST_NOTE_BYTES:
        raise StateError(f"{note} is larger than 16 MB: no entry was added")
    return _decoded(raw, note)


def _decoded(raw: bytes, name: str) -> str:
    if b"\0" in raw:
        raise StateError(f"{name} is no text in UTF-8: no entry was added")
    return raw.decode("utf-8", "surrogateescape")


def _append(note: str, text: str) -> None:
    _write_and_close(os.open(note, os.O_WRONLY | os.O_APPEND), text)


def _replace(note: str, before: str, after: str) -> bool:
    """Swap a note for a copy with another entry; False where it changed meanwhile."""
    target = os.path.realpath(note)
    folder, name = os.path.split(target)
    temporary = f"{folder}/.{name}.brimline-{os.getpid()}-{time.monotonic_ns()}.tmp"
    mode = stat.S_IMODE(os.stat(target).st_mode)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        _write_and_close(descriptor, after)
        os.chmod(temporary, mode)
        if _read(target) != before:
            return False
        os.replace(temporary, target)
    finally:
        fastio.remove(temporary)
    return True


def _write_and_close(descriptor: int, text: str) -> None:
    """Write all of it, or nothing of it.

    Raises:
        OSError: it did not fit.
    """
    data = text.encode("utf-8", "surrogateescape")
    try:
        size = os.fstat(descriptor).st_size
        written = os.write(descriptor, data)
        if written != len(data):
            if os.fstat(descriptor).st_size == size + written:
                os.ftruncate(descriptor, size)
            raise OSError("only part of it fitted on the disk")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
