"""Mends a session: finds what is wrong, writes the copy, proves it, and has it swapped in.

How a rewrite keeps every line is told in docs/explanation/rewriting-sessions.md.
"""

from __future__ import annotations

import os
import shlex
import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from brimline.purge import faults, faults_find, restore_record, restore_undo, swap
from brimline.purge.errors import PurgeError, RewrittenError
from brimline.purge.plan_apply import Store
from brimline.purge.repair_write import Writer
from brimline.transcript import find, read

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from brimline.purge.faults import Fault, Findings
    from brimline.purge.restore_record import Record

    Progress = Callable[[int], None]

_BUFFER_BYTES = 1 << 20
_MOST_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Report:
    """What a repair found and did."""

    path: str
    before: Findings
    after: Findings | None = None
    """None where nothing was changed."""
    backup: str | None = None
    cut_key: str | None = None
    """Under which a torn last line is in the store."""
    refused: tuple[Fault, ...] = ()
    """Faults with one mend that could not be made without losing bytes."""
    is_over: bool = True
    """False when a program may still write to the file that was replaced."""
    later: tuple[Fault, ...] = ()
    """What could be mended once other faults were; lines are counted as they were then."""

    @property
    def mended(self) -> list[Fault]:
        """What was mended, or would be."""
        first = [fault for fault in self.before.mendable if fault not in self.refused]
        return [*first, *self.later]

    @property
    def after_mendable(self) -> list[Fault]:
        """What can still be mended."""
        refused = {fault.kind for fault in self.refused}
        found = self.after.mendable if self.after else []
        return [fault for fault in found if fault.kind not in refused]

    def then(self, other: Report) -> Report:
        """This repair and one that came after it."""
        return replace(
            self,
            after=other.after or self.after,
            cut_key=self.cut_key or other.cut_key,
            refused=other.refused,
            is_over=other.is_over,
            later=(*self.later, *other.mended),
        )

    @property
    def left_alone(self) -> list[Fault]:
        """What was not, because more than one mend is possible."""
        found = self.after or self.before
        return [*found.left_alone, *self.refused]


def examine(path: str, progress: Progress | None = None) -> Findings:
    """Say what is wrong with a session; changes nothing.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb", buffering=_BUFFER_BYTES) as file:
        return _findings(file, os.fstat(file.fileno()).st_size, progress)


def repair(
    path: str,
    *,
    home_dir: str,
    dry_run: bool = False,
    live: bool = False,
    quiet_s: float = 1.0,
    progress: Progress | None = None,
    on_wait: Callable[[], None] | None = None,
) -> Report:
    """Mend what has exactly one mend; a sound session is not touched.

    `progress` is told how many bytes were read: all of them once, and twice more to mend.

    Raises:
        LiveError: the session is in use and `live` is False.
        BusyError: another command is rewriting it.
        RewrittenError: it was done, but the work after the swap was cut short.
        PurgeError: the copy is not sound, or the session changed; nothing was changed.
        OSError: the session cannot be read, or something could not be stored.
    """
    session = os.path.realpath(path)
    found = examine(session, progress)
    if live:
        _leave_last_line(found)
    if dry_run or not found.mendable:
        return Report(session, found)
    mend = partial(
        _mend, session, home_dir, live=live, quiet_s=quiet_s, progress=progress, on_wait=on_wait
    )
    report = mend()
    for _ in range(_MOST_ROUNDS):
        # What was doubtful may be certain once its neighbours are mended.
        if not report.after or not report.after_mendable:
            break
        try:
            report = report.then(mend())
        except (KeyboardInterrupt, PurgeError) as error:
            reason = str(error) or "interrupted"
            raise RewrittenError(
                f"{session} was mended in part ({reason}): repair it again, or undo it with "
                f"`{shlex.join(['brimline', 'session', 'restore', session])}`"
            ) from error
    return report


def _mend(
    session: str,
    home_dir: str,
    *,
    live: bool,
    quiet_s: float,
    progress: Progress | None,
    on_wait: Callable[[], None] | None,
) -> Report:
    mended = _MendedCopy(session, home_dir, live=live)
    done = swap.rewrite(
        session,
        mended.make_new,
        mended.verify,
        home_dir=home_dir,
        quiet_s=quiet_s,
        live=live,
        way_back=mended,
        progress=progress,
        on_wait=on_wait,
    )
    found, refused = mended.before, mended.refused
    if not done.swapped:
        # Sound by now: whoever wrote to it meanwhile put it right.
        return Report(session, found, refused=refused)
    return Report(session, found, mended.after, done.backup, mended.cut_key, refused, done.is_over)


class _MendedCopy:
    """The steps of a repair in the order in which `swap.rewrite` takes them."""

    def __init__(self, path: str, home_dir: str, *, live: bool) -> None:
        self.path = path
        self.is_live = live
        self.home_dir = home_dir
        self.before = faults_find.find(())
        self.after: Findings | None = None
        self.refused: tuple[Fault, ...] = ()
        self.cut_key: str | None = None
        self._rows = 0
        self._way_back: Record | None = None

    def make_new(self, old: BinaryIO, length: int, new: BinaryIO) -> None:
        """Look at the session as it is now, and write the mended copy."""
        self.before = _findings(old, length)
        if self.is_live:
            _leave_last_line(self.before)
        old.seek(0)
        session = find.session_id_of(self.path)
        store = Store(self.home_dir, session)
        writer = Writer(self.before, self.home_dir, store, new)
        writer.copy(old, length)
        self.cut_key = writer.cut_key
        self.refused = tuple(
            fault for fault in self.before.mendable if fault.place in writer.refused
        )
        self._rows = self.before.rows + writer.added - writer.dropped
        before, after = writer.read.content, writer.written.content
        if before == after and writer.cut_key is None and self._is_mendable:
            raise PurgeError("the faults could not be mended: nothing was changed; please report")
        self._way_back = restore_record.Record(
            session, self.path, time.time(), before, after, store.chunks, writer.steps
        )

    def verify(self, old_path: str, length: int, new_path: str) -> None:
        """See that the copy is sound and can be undone."""
        if self._way_back is None or length < self._way_back.before.length:
            raise PurgeError("the copy was not made: nothing was changed")
        self._require_undoable(self._way_back, old_path, new_path)
        self.after = examine(new_path)
        if self.is_live:
            _leave_last_line(self.after)
        if not _is_better(self.after, self.before) or self.after.rows != self._rows:
            raise PurgeError(
                "the mended copy is not sound: nothing was changed; please report this"
            )

    def record(self) -> None:
        """Put the way back on the disk."""
        if self._way_back is not None and self._way_back.steps:
            restore_record.write(self.home_dir, self._way_back)

    @property
    def _is_mendable(self) -> bool:
        return any(fault not in self.refused for fault in self.before.mendable)

    def _require_undoable(self, record: Record, old_path: str, new_path: str) -> None:
        """Undo the copy and compare every byte."""
        fetcher = restore_undo.Fetcher(self.home_dir, record.chunks)
        left = record.before.length
        with (
            open(old_path, "rb", buffering=_BUFFER_BYTES) as old,
            open(new_path, "rb", buffering=_BUFFER_BYTES) as new,
        ):
            for raw in restore_undo.undo(new, record, fetcher):
                left -= len(raw)
                if old.read(len(raw)) != raw:
                    break
            else:
                if not left:
                    return
        raise PurgeError("the copy cannot be undone byte for byte: nothing was changed")

    def forget(self) -> None:
        """Remove the record of a repair that did not happen."""
        if self._way_back is not None and self._way_back.file:
            restore_record.remove(self._way_back)


def _is_better(after: Findings, before: Findings) -> bool:
    """Whether there are fewer faults of some kind; a mend may bring others to light."""
    left = Counter(fault.kind for fault in after.mendable)
    return bool(Counter(fault.kind for fault in before.mendable) - left)


def _leave_last_line(found: Findings) -> None:
    """While a session is in use, what looks torn may be a line in the making."""
    found.faults = [
        replace(fault, mend=None, detail="it may still be being written")
        if fault.kind == faults.TORN
        else fault
        for fault in found.faults
    ]


def _findings(stream: BinaryIO, length: int, progress: Progress | None = None) -> Findings:
    finder = faults_find.Finder()
    for line in read.lines(stream, length):
        finder.take(line)
        if progress:
            progress(len(line.raw))
    return finder.close()
