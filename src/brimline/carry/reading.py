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
from brimline.carry.lines import Lines, fingerprint, is_said, is_wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO

    from brimline.carry.items import Ledger

LEDGER_FILE = "ledger.json"
_FILE_KIND, _REGULAR_FILE = 0o170000, 0o100000
# Of what is read under a budget, so much of the end is read whole; of what comes before it only
# what people said and what became of tasks, which costs a tenth.
_WHOLE_BYTES = 1 << 20
_ROWS_BETWEEN_BOUNDS = 400
_LARGEST_LEDGER = 4 << 20
# Once time is up, this much of the end is still read: what was said last matters most.
_LAST_BYTES = 256 << 10


def load(home_dir: str, session_id: str) -> Ledger:
    """The ledger as it was last saved; an empty one where there is none, or a damaged one."""
    path = f"{paths.carry_session_dir(home_dir, session_id)}/{LEDGER_FILE}"
    try:
        data = fastio.read_file(path, _LARGEST_LEDGER)
        ledger = items.from_document(
            fastjson.loads(data.decode("utf-8", "surrogatepass")), session_id
        )
    except (OSError, ValueError):
        return items.Ledger(session_id)
    return ledger if _is_sound(ledger) else items.Ledger(session_id)


def save(home_dir: str, ledger: Ledger) -> None:
    """Put the ledger in its place, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    text = fastjson.dumps(items.to_document(ledger))
    path = f"{paths.carry_session_dir(home_dir, ledger.session)}/{LEDGER_FILE}"
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
        budget_bytes: at most so much of the end is read, 0 for nothing; None for all of it.
        unsaved: told where the ledger cannot be saved, which then is no reason to do without it.

    Raises:
        OSError: the ledger cannot be saved, and nobody wants to be told.
    """
    ledger = load(home_dir, session_id)
    if not transcript or budget_bytes == 0:
        return ledger
    try:
        if not _is_regular(transcript):
            return ledger
        file = open(transcript, "rb")  # noqa: SIM115 - closed below
    except (OSError, ValueError):
        return ledger
    with file:
        reader = _Reader(file, ledger, budget_s, budget_bytes)
        if reader.read():
            _try_to_save(home_dir, reader.ledger, unsaved)
    return reader.ledger


def _try_to_save(
    home_dir: str, ledger: Ledger, unsaved: Callable[[OSError], object] | None
) -> None:
    try:
        save(home_dir, ledger)
    except OSError as error:
        if unsaved is None:
            raise
        unsaved(error)


def _is_sound(ledger: Ledger) -> bool:
    """Whether a ledger that was read can be gone on with: files get damaged and edited."""
    state = ledger.state
    if not isinstance(state, dict) or not isinstance(ledger.folded, dict):
        return False
    if not isinstance(ledger.compactions, int):
        return False
    if not all(isinstance(state.get(name, {}), dict) for name in ("calls", "early", "refrains")):
        return False
    if not isinstance(state.get("seen", []), list) or not isinstance(
        state.get("forgotten", ""), str
    ):
        return False
    return all(
        isinstance(item.text, str)
        and isinstance(item.extra, dict)
        and isinstance(item.weight, int | float)
        and item.kind in items.KINDS
        and item.status in items.STATES
        for item in ledger.items.values()
    )


def _is_regular(path: str) -> bool:
    """Whether it is a plain file: opening a named pipe would wait for whoever writes to it."""
    return fastio.system.stat(fastio.to_bytes(path)).st_mode & _FILE_KIND == _REGULAR_FILE


class _Reader:
    """Folds the lines of a file from where the ledger left off."""

    def __init__(
        self, file: BinaryIO, ledger: Ledger, budget_s: float | None, budget_bytes: int | None
    ) -> None:
        self.file = file
        self.ledger = ledger
        self.budget_bytes = budget_bytes
        self.deadline = None if budget_s is None else time.monotonic() + budget_s
        self.lines = Lines(file)

    def read(self) -> bool:
        """Fold the new lines; False where there were none."""
        start = self._start()
        if start >= self.lines.size and start == self._cursor().get("offset"):
            return False
        whole_from = start
        if self.budget_bytes is not None:
            whole_from = max(start, self.lines.size - _WHOLE_BYTES)
        self._fold_from(start, whole_from)
        bound(self.ledger)
        end = self.lines.end
        self.ledger.state["cursor"] = {"offset": end, "print": fingerprint(self.file, end)}
        return True

    def _cursor(self) -> dict[str, Any]:
        cursor = self.ledger.state.get("cursor")
        return cursor if isinstance(cursor, dict) else {}

    def _start(self) -> int:
        start = self._known_until()
        if start is None:
            start = 0
            # Where only the end may be read, what was known of a file that was rewritten since is
            # worth more than a clean slate.
            if self.budget_bytes is None:
                self.ledger = items.Ledger(self.ledger.session, previous=self.ledger.previous)
        if self.budget_bytes is not None and self.lines.size - start > self.budget_bytes:
            start = self._skip(start, self.lines.size - self.budget_bytes)
        return start

    def _known_until(self) -> int | None:
        """Where the ledger left off; None where the file is not the one that it was."""
        cursor = self._cursor()
        offset = cursor.get("offset")
        if not isinstance(offset, int) or not 0 <= offset <= self.lines.size:
            return None
        return offset if fingerprint(self.file, offset) == cursor.get("print") else None

    def _skip(self, start: int, target: int) -> int:
        """Go to the first line at or after a target, noting how much is passed over."""
        reached = self.lines.next_start(target)
        unread = self.ledger.state.get("unread_bytes", 0)
        self.ledger.state["unread_bytes"] = unread + reached - start
        return reached

    def _fold_from(self, start: int, whole_from: int) -> None:
        for count, line in enumerate(self.lines.read_from(start), 1):
            wanted = is_wanted if self.lines.end >= whole_from else is_said
            if wanted(line):
                for row in fastjson.loads_all(line.decode("utf-8", "replace")):
                    fold(self.ledger, row)
            if count % _ROWS_BETWEEN_BOUNDS == 0:
                bound(self.ledger)
                self._hurry()

    def _hurry(self) -> None:
        """Once time is up, pass over all but the end."""
        if self.deadline is None or time.monotonic() < self.deadline:
            return
        target = self.lines.size - _LAST_BYTES
        if self.lines.end < target:
            self._skip(self.lines.end, target)
        self.deadline = None
