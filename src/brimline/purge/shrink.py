"""Purges a session: surveys it, plans, writes the copy, proves it, and has it swapped in.

How a rewrite keeps every line is told in docs/explanation/rewriting-sessions.md.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from brimline.purge import plan as planning
from brimline.purge import plan_survey, restore_record, strategies, swap, verify_copy
from brimline.purge import verify as soundness
from brimline.purge.errors import PurgeError
from brimline.purge.plan_apply import Store, Writer
from brimline.purge.stubbing import KEPT_BYTES
from brimline.store import pins
from brimline.transcript import find, read

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from brimline.purge.plan import Options, Plan
    from brimline.purge.plan_items import Survey
    from brimline.purge.restore_record import Record
    from brimline.purge.swap import Rewritten

_BUFFER_BYTES = 1 << 20


class Prepared(NamedTuple):
    """A session that was looked at, and what is to be done to it."""

    path: str
    survey: Survey
    plan: Plan


def prepare(
    path: str, options: Options, home_dir: str, progress: Callable[[int], None] | None = None
) -> Prepared:
    """Look at a session and decide; changes nothing, neither the file nor the store.

    Raises:
        StoreError: the pins cannot be read.
        OSError: the session cannot be read.
    """
    session = os.path.realpath(path)
    cuts = not strategies.CUTTING.isdisjoint(options.strategies)
    with open(session, "rb", buffering=_BUFFER_BYTES) as file:
        survey = plan_survey.survey(
            file,
            os.fstat(file.fileno()).st_size,
            threshold_bytes=options.threshold_bytes,
            thinking=options.remove_thinking,
            head_bytes=KEPT_BYTES if cuts else 0,
            progress=progress,
        )
    plan = planning.make(survey, options, pins.pinned(home_dir))
    survey.forget_details()
    return Prepared(session, survey, plan)


def shrink(
    prepared: Prepared,
    home_dir: str,
    *,
    live: bool = False,
    quiet_s: float = 1.0,
    compression: str = "auto",
    progress: Callable[[int], None] | None = None,
    on_wait: Callable[[], None] | None = None,
) -> Rewritten:
    """Do it; `on_wait` is called when a program goes on writing to the old file.

    Raises:
        LiveError: the session is in use and `live` is False.
        BusyError: another command is rewriting it.
        RewrittenError: it was done, but the work after the swap was cut short.
        PurgeError: the copy is not sound, or the session changed; nothing was changed.
        OSError: something could not be stored.
    """
    purged = _PurgedCopy(prepared, home_dir, compression)
    return swap.rewrite(
        prepared.path,
        purged.make_new,
        purged.verify,
        home_dir=home_dir,
        quiet_s=quiet_s,
        live=live,
        way_back=purged,
        progress=progress,
        on_wait=on_wait,
    )


class _PurgedCopy:
    """The steps of a purge in the order in which `swap.rewrite` takes them."""

    def __init__(self, prepared: Prepared, home_dir: str, compression: str) -> None:
        self.path = prepared.path
        self.plan = prepared.plan
        self.survey = prepared.survey
        self.home_dir = home_dir
        self.compression = compression
        self._way_back: Record | None = None

    def make_new(self, old: BinaryIO, length: int, new: BinaryIO) -> None:
        """Write the copy, and store what it lacks."""
        session = find.session_id_of(self.path)
        store = Store(self.home_dir, session, self.compression)
        writer = Writer(self.plan, store, new)
        before, after = writer.copy(old, length)
        self._way_back = restore_record.Record(
            session, self.path, time.time(), before, after, store.chunks, writer.steps
        )
        self._way_back.context_tokens = self.plan.context_tokens

    def verify(self, old_path: str, length: int, new_path: str) -> None:
        """See that the copy is sound and can be undone."""
        if self._way_back is None:
            raise PurgeError("the copy was not made: nothing was changed")
        dropped = frozenset(self.plan.drops.names)
        with (
            open(old_path, "rb", buffering=_BUFFER_BYTES) as old,
            open(new_path, "rb", buffering=_BUFFER_BYTES) as new,
        ):
            verify_copy.prove(old, length, new, self._way_back, self.home_dir)
            _take_rest(old, self.survey.ended_length, length, self.survey.facts)
        soundness.require_links(self.survey.facts, dropped)

    def record(self) -> None:
        """Put the way back on the disk."""
        if self._way_back is None:
            raise PurgeError("the copy was not made: nothing was changed")
        try:
            restore_record.write(self.home_dir, self._way_back)
        except OSError as error:
            raise PurgeError(
                f"the record of the purge cannot be written in {self.home_dir} "
                f"({error.strerror or error}): nothing was changed"
            ) from error

    def forget(self) -> None:
        """Remove the record of a purge that did not happen."""
        if self._way_back is not None and self._way_back.file:
            restore_record.remove(self._way_back)


def _take_rest(old: BinaryIO, start: int, length: int, facts: soundness.Facts) -> None:
    """Add what came after the survey, or had no line end then, to what the survey gathered."""
    old.seek(start)
    for line in read.lines(old, length - start):
        for record in line.records:
            facts.take(record.value)
