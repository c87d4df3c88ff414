"""Purges a session: surveys it, plans, writes the copy, proves it, and has it swapped in."""

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
from brimline.store import scan
from brimline.transcript import find, records

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
    plan = planning.make(survey, options, scan.pinned(home_dir))
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
) -> Rewritten:
    """Do it.

    Raises:
        LiveError: the session is in use and `live` is False.
        BusyError: another command is rewriting it.
        PurgeError: the copy is not sound, or the session changed; nothing was changed.
        OSError: something could not be stored.
    """
    job = _Job(prepared, home_dir, compression)
    try:
        done = swap.rewrite(
            prepared.path,
            job.make_new,
            job.verify,
            home_dir=home_dir,
            quiet_s=quiet_s,
            live=live,
            progress=progress,
        )
    except BaseException:
        job.forget()
        raise
    if not done.swapped:
        job.forget()
    return done


class _Job:
    def __init__(self, prepared: Prepared, home_dir: str, compression: str) -> None:
        self.path = prepared.path
        self.plan = prepared.plan
        self.survey = prepared.survey
        self.home_dir = home_dir
        self.compression = compression
        self.record: Record | None = None

    def make_new(self, old: BinaryIO, length: int, new: BinaryIO) -> None:
        """Write the copy, and store what it lacks."""
        session = find.session_id_of(self.path)
        store = Store(self.home_dir, session, self.compression)
        writer = Writer(self.plan, store, new)
        before, after = writer.copy(old, length)
        self.record = restore_record.Record(
            session, self.path, time.time(), before, after, store.chunks, writer.steps
        )

    def verify(self, old_path: str, length: int, new_path: str) -> None:
        """See that the copy is sound and can be undone, then put the way back on record."""
        if self.record is None:
            raise PurgeError("the copy was not made: nothing was changed")
        dropped = frozenset(self.plan.drops.names)
        with (
            open(old_path, "rb", buffering=_BUFFER_BYTES) as old,
            open(new_path, "rb", buffering=_BUFFER_BYTES) as new,
        ):
            verify_copy.prove(old, length, new, self.record, self.home_dir)
            _take_rest(old, self.survey.ended_length, length, self.survey.facts)
        soundness.require_links(self.survey.facts, dropped)
        try:
            restore_record.write(self.home_dir, self.record)
        except OSError as error:
            raise PurgeError(
                f"the record of the purge cannot be written in {self.home_dir} "
                f"({error.strerror or error}): nothing was changed"
            ) from error

    def forget(self) -> None:
        """Remove the record of a purge that did not happen."""
        if self.record is not None and self.record.file:
            restore_record.remove(self.record)


def _take_rest(old: BinaryIO, start: int, length: int, facts: soundness.Facts) -> None:
    """Add what came after the survey, or had no line end then, to what the survey gathered."""
    old.seek(start)
    for line in records.read(old, length - start):
        for record in line.records:
            facts.take(record.value)
