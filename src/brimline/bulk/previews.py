"""What of a session's results is ours: previews, with what each stands for, and what was put back.

Any program can print a reference, with the key of something else. So a result counts as a preview
only if the session's own record has it: this call's result was stored under this key, and the text
is the one that was put in its place. A fork's calls are on record in the session that made them.
Likewise a reminder of the client's at a result's end is one that a compaction of ours put there, or
it is the result's own.
"""

from __future__ import annotations

from brimline.bulk import layout, put, stub
from brimline.fast import io, json, paths
from brimline.state.session import SPOOL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# The number of a first line, and how a reference begins.
_HEAD_CHARACTERS = 40
# A session goes on from one of late.
_MOST_ORIGINS = 30
_OPENING, _CLOSING = "<system-reminder>", "</system-reminder>"


class Original(io.Record):
    """What a preview stands for."""

    key: str
    size_bytes: int
    # What the result says besides the preview, such as standard error.
    beside: str


class Previews:
    """Those that a session was shown."""

    def __init__(self, home_dir: str, session_id: str, transcript: str | None = None) -> None:
        """Nothing is read before somebody asks.

        Args:
            home_dir: the data folder.
            session_id: whose record counts.
            transcript: the session's file, where it is known.
        """
        self._home_dir = home_dir
        self._sessions = _session_then_others_of_its_project(session_id, transcript)
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._put_back: set[str] = set()

    def original_of(self, call_id: str, text: str) -> Original | None:
        """What the result of a call stands for; None where it is not a preview, or that is gone.

        Raises:
            OSError: the session's record cannot be read.
        """
        if stub.BEGINNINGS[0] not in text[:_HEAD_CHARACTERS]:
            return None
        while call_id not in self._rows and self._has_read_another_session():
            pass
        lines = text.split("\n")
        found = (self._original_shown_by(lines, fields) for fields in self._rows.get(call_id, ()))
        return next(filter(None, found), None)

    def without_reminders_put_back(self, text: str) -> str:
        """A result as the tool gave it."""
        own = text
        while own.rstrip().endswith(_CLOSING) and (start := own.rfind(_OPENING)) >= 0:
            mark = fingerprint(own[start:].rstrip())
            while mark not in self._put_back and self._has_read_another_session():
                pass
            if mark not in self._put_back:
                break
            own = own[:start].rstrip()
        return own

    def _has_read_another_session(self) -> bool:
        """Read one more record; False after the last. What cannot be read says nothing."""
        session = next(self._sessions, "")
        path = f"{paths.session_dir(self._home_dir, session)}/{SPOOL}"
        try:
            for fields in json.read_lines(path, containing=b'"Offloaded"') if session else ():
                self._rows.setdefault(str(fields.get("call")), []).append(fields)
            for fields in json.read_lines(path, containing=b'"beside"') if session else ():
                marks = fields.get("beside")
                self._put_back.update(map(str, marks if isinstance(marks, list) else ()))
        except OSError:
            pass
        return bool(session)

    def _original_shown_by(self, lines: list[str], fields: dict[str, Any]) -> Original | None:
        """What a preview on record stands for, where a text begins with it and that is stored."""
        from brimline.bulk import contents

        key, count = fields.get("key"), fields.get("lines")
        if not isinstance(key, str) or not isinstance(count, int):
            return None
        if put.fingerprint_of_lines(lines[:count]) != fields.get("text"):
            return None
        digest = key.removeprefix(layout.PREFIX)
        size_bytes = layout.is_digest(digest) and contents.length_of_content(self._home_dir, digest)
        if not size_bytes:
            return None
        beside = "\n".join(lines[count:]).strip()
        return Original(key=key, size_bytes=size_bytes, beside=beside)


def fingerprint(text: str) -> str:
    """Return what tells a text from any other one, as it is on record."""
    return put.fingerprint_of_lines(text.split("\n"))


def _session_then_others_of_its_project(session_id: str, transcript: str | None) -> Iterator[str]:
    """A session, and those that it may have gone on from: a fork's rows do not say which."""
    yield session_id
    path = transcript or paths.transcript_of_session(session_id)
    folder = path.rpartition("/")[0]
    beside = [name for name in io.list_names(folder) if name.endswith(".jsonl")] if path else []
    beside.sort(key=lambda name: -io.file_time(f"{folder}/{name}"))
    others = [name.removesuffix(".jsonl") for name in beside]
    yield from [each for each in others if each != session_id][:_MOST_ORIGINS]
