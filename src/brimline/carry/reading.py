"""Brings a session's ledger up to date with its transcript, reading only what is new.

The place reached is kept inside the ledger's own file, so the two cannot part: whichever of two
processes writes last leaves a ledger that is sound, and rows that are read again change nothing.
"""

from __future__ import annotations

import time

from brimline import fastio, fastjson, paths
from brimline.carry import items
from brimline.carry.bounds import bound
from brimline.carry.fold import fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO

    from brimline.carry.items import Ledger

LEDGER_FILE = "ledger.json"
# What a hook may read of a session that has no ledger yet.
HOOK_BUDGET_BYTES = 8 << 20
_LONGEST_LINE = 8 << 20
_FINGERPRINT_BYTES = 2_048
_ROWS_BETWEEN_BOUNDS = 400
_LARGEST_LEDGER = 4 << 20
# Once time is up, this much of the end is still read: what was said last matters most.
_LAST_BYTES = 256 << 10
_WANTED = (b'"type":"user"', b'"type":"assistant"', b'"type":"attachment"', b'"type":"system"')
_SPACED = tuple(mark.replace(b":", b": ") for mark in _WANTED)


def folder_of(home_dir: str, session_id: object) -> str:
    """Where the ledger, the checkpoint and the card of a session are kept."""
    return f"{home_dir}/carry/{paths.safe_session_id(session_id)}"


def load(home_dir: str, session_id: str) -> Ledger:
    """The ledger as it was last saved; an empty one where there is none, or a damaged one."""
    try:
        data = fastio.read_file(f"{folder_of(home_dir, session_id)}/{LEDGER_FILE}", _LARGEST_LEDGER)
        document = fastjson.loads(data.decode("utf-8", "surrogatepass"))
    except (OSError, ValueError):
        document = None
    return items.from_document(document, session_id)


def save(home_dir: str, ledger: Ledger) -> None:
    """Put the ledger in its place, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    text = fastjson.dumps(items.to_document(ledger))
    path = f"{folder_of(home_dir, ledger.session)}/{LEDGER_FILE}"
    fastio.replace_file(path, text.encode("utf-8", "surrogatepass"))


def bring_up_to_date(
    home_dir: str,
    session_id: str,
    transcript: str | None,
    *,
    budget_s: float | None = None,
    budget_bytes: int | None = None,
    unsaved: Callable[[OSError], object] | None = None,
) -> Ledger:
    """Read what a transcript has gained since last time into the ledger, and save it.

    Args:
        home_dir: brimline's data folder.
        session_id: the session.
        transcript: its file; one that is not there changes nothing.
        budget_s: after so long only the end is still read; None for all the time it takes.
        budget_bytes: at most so much of the end is read; None for all of it.
        unsaved: told where the ledger cannot be saved, which then is no reason to do without it.

    Raises:
        OSError: the ledger cannot be saved, and nobody wants to be told.
    """
    ledger = load(home_dir, session_id)
    try:
        file = open(transcript or "", "rb")  # noqa: SIM115 - closed below
    except OSError:
        return ledger
    with file:
        reader = _Reader(file, ledger, budget_s, budget_bytes)
        if reader.read():
            try:
                save(home_dir, reader.ledger)
            except OSError as error:
                if unsaved is None:
                    raise
                unsaved(error)
    return reader.ledger


class _Reader:
    """Reads the complete lines of a file from where the ledger left off."""

    def __init__(
        self, file: BinaryIO, ledger: Ledger, budget_s: float | None, budget_bytes: int | None
    ) -> None:
        self.file = file
        self.ledger = ledger
        self.budget_bytes = budget_bytes
        self.deadline = None if budget_s is None else time.monotonic() + budget_s
        self.size = file.seek(0, 2)

    def read(self) -> bool:
        """Fold the new lines; False where there were none."""
        start = self._start()
        if start >= self.size and self._cursor().get("offset") == start:
            return False
        end = self._fold_from(start)
        bound(self.ledger)
        self.ledger.state["cursor"] = {
            "offset": end,
            "print": _fingerprint(self.file, end),
        }
        return True

    def _cursor(self) -> dict[str, Any]:
        cursor = self.ledger.state.get("cursor")
        return cursor if isinstance(cursor, dict) else {}

    def _start(self) -> int:
        cursor = self._cursor()
        offset = cursor.get("offset")
        known = isinstance(offset, int) and 0 <= offset <= self.size
        if known and _fingerprint(self.file, offset) == cursor.get("print"):
            start = offset
        else:
            # Rewritten since, or never read. Where only the end may be read, what was known before
            # is worth more than a clean slate.
            start = 0
            if self.budget_bytes is None:
                self.ledger = items.Ledger(self.ledger.session, previous=self.ledger.previous)
        if self.budget_bytes is not None and self.size - start > self.budget_bytes:
            start = self._skip_to(start, self.size - self.budget_bytes)
        return start

    def _skip_to(self, start: int, target: int) -> int:
        """The first line that begins at or after a target; what is passed over is noted."""
        self.file.seek(target - 1)
        self._skip_line()
        reached = self.file.tell()
        unread = self.ledger.state.get("unread_bytes", 0)
        self.ledger.state["unread_bytes"] = unread + reached - start
        return reached

    def _skip_line(self) -> bool:
        """Go to the end of the line; False where the file ends first."""
        while True:
            piece = self.file.readline(1 << 20)
            if not piece.endswith(b"\n"):
                if not piece:
                    return False
                continue
            return True

    def _fold_from(self, start: int) -> int:
        """Fold line by line; returns the end of the last complete one."""
        self.file.seek(start)
        end = start
        lines = 0
        while end < self.size:
            line = self.file.readline(_LONGEST_LINE)
            if not line.endswith(b"\n"):
                if len(line) < _LONGEST_LINE:
                    self._fold(line)  # not ended yet: read again next time
                    break
                if not self._skip_line():
                    break
                end = self.file.tell()
                continue
            self._fold(line)
            end += len(line)
            lines += 1
            if lines % _ROWS_BETWEEN_BOUNDS == 0:
                bound(self.ledger)
                if self._is_late() and self.size - end > _LAST_BYTES:
                    end = self._skip_to(end, self.size - _LAST_BYTES)
        return end

    def _is_late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def _fold(self, line: bytes) -> None:
        # Quotes inside JSON texts are escaped, so only real keys can match.
        if b'"isSidechain":true' in line:
            return
        if any(mark in line for mark in _WANTED) or any(mark in line for mark in _SPACED):
            for row in fastjson.loads_all(line.decode("utf-8", "replace")):
                fold(self.ledger, row)


def _fingerprint(file: BinaryIO, offset: int) -> str:
    """Stands for the beginning of a file and for what comes right before a place in it."""
    from _blake2 import blake2b

    file.seek(0)
    digest = blake2b(file.read(min(offset, _FINGERPRINT_BYTES)), digest_size=12)
    file.seek(max(0, offset - _FINGERPRINT_BYTES))
    digest.update(file.read(min(offset, _FINGERPRINT_BYTES)))
    return digest.hexdigest()
