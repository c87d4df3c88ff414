"""Puts a purged session back to what it was, and keeps whatever was appended since.

A record belongs to the path at which the purge was made. A copy elsewhere may use it, but only its
own session, or one that was moved, uses it up.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from brimline.errors import StoreError
from brimline.purge import restore_record, restore_undo, swap
from brimline.purge.errors import PurgeError
from brimline.purge.plan_apply import Hasher
from brimline.purge.restore_record import Content
from brimline.transcript import find, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import BinaryIO

    from brimline.errors import BrimlineError
    from brimline.purge.restore_record import Record
    from brimline.purge.restore_undo import Source
    from brimline.purge.swap import Rewritten

_BUFFER_BYTES = 1 << 20


@dataclass(slots=True)
class Restoration:
    """What a restore would undo."""

    path: str
    home_dir: str
    undone: list[Record] = field(default_factory=list)
    """Purges that can be undone byte for byte, the newest first."""
    altered: Record | None = None
    """A purge after which others changed the session; what is known again is put back."""
    known: frozenset[int] = frozenset()
    """The numbers of its changes that are known again."""
    stale: list[Record] = field(default_factory=list)
    """Records of purges that never came to their end, or were undone by other means."""
    problems: list[BrimlineError] = field(default_factory=list)
    """Why purges cannot be undone: a record or stored content is damaged or gone."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to put back."""
        return not self.undone and self.altered is None

    @property
    def known_steps(self) -> int:
        """How many changes of a session that others changed since can be undone."""
        return len(self.known)

    @property
    def lost_steps(self) -> int:
        """How many cannot."""
        return len(self.altered.steps) - len(self.known) if self.altered else 0

    @property
    def original(self) -> Content | None:
        """What the session will begin with; None where that cannot be promised."""
        return self.undone[-1].before if self.undone and self.altered is None else None


def plan(path: str, home_dir: str, progress: Callable[[int], None] | None = None) -> Restoration:
    """Find out which purges of a session can be undone; changes nothing.

    Raises:
        PurgeError: no purge can be undone, as a record cannot be read.
        StoreError: no purge can be undone, as what was taken out is gone.
        OSError: the session cannot be read.
    """
    found = Restoration(os.path.realpath(path), home_dir)
    made, damaged = restore_record.read_each(home_dir, find.session_id_of(found.path))
    found.problems += damaged
    unknown = _take_fitting(found, made, progress)
    for record in [] if found.undone else unknown:
        known = _known(found, record)
        if known:
            found.altered, found.known = record, known
            break
    if found.is_empty and found.problems:
        raise found.problems[0]
    return found


def _take_fitting(
    found: Restoration, made: list[Record], progress: Callable[[int], None] | None
) -> list[Record]:
    """Take what can be undone; returns the file's own records after which others changed it."""
    unknown = []
    for number, record in enumerate(made):
        lengths = (record.after.length, record.before.length)
        with open(found.path, "rb", buffering=_BUFFER_BYTES) as file:
            after, before = _prefixes(restored(file, found), lengths, progress)
        is_own = restore_record.belongs_to(record, found.path)
        if after == record.after:
            if not is_own and _has_own(made[number + 1 :], after, found.path):
                continue
            problem = _problem(found, record)
            if problem is not None:
                found.problems.append(problem)
                break
            found.undone.append(record)
        elif before == record.before:
            if record.path == found.path:
                found.stale.append(record)
        elif is_own:
            unknown.append(record)
    return unknown


def _has_own(made: list[Record], after: Content, path: str) -> bool:
    return any(record.after == after and restore_record.belongs_to(record, path) for record in made)


def _problem(found: Restoration, record: Record) -> BrimlineError | None:
    """What stands in the way of undoing one more purge; older ones cannot be undone without it."""
    further = replace(found, undone=[*found.undone, record])
    try:
        with open(found.path, "rb", buffering=_BUFFER_BYTES) as file:
            for _ in restored(file, further):
                pass
    except (PurgeError, StoreError) as error:
        return error
    return None


def restore(
    restoration: Restoration,
    *,
    live: bool = False,
    quiet_s: float = 1.0,
    forgets: bool = True,
    progress: Callable[[int], None] | None = None,
    on_wait: Callable[[], None] | None = None,
) -> Rewritten:
    """Put the session back and, unless told otherwise, forget the purges that were undone.

    Raises:
        LiveError: the session is in use and `live` is False.
        PurgeError: it changed meanwhile, or the disk refused; nothing was changed.
        StoreError: what was taken out is gone; nothing was changed.
    """
    written = Hasher()

    def make_new(old: BinaryIO, length: int, new: BinaryIO) -> None:
        del length  # it is where `old` ends
        for block in restored(old, restoration):
            new.write(block)
            written.update(block)

    def verify(_old_path: str, _length: int, new_path: str) -> None:
        _verify(written, new_path)

    done = swap.rewrite(
        restoration.path,
        make_new,
        verify,
        home_dir=restoration.home_dir,
        quiet_s=quiet_s,
        live=live,
        may_end_torn=True,
        progress=progress,
        on_wait=on_wait,
    )
    if forgets:
        _forget(restoration)
    return done


def _forget(restoration: Restoration) -> None:
    """Remove the records that are used up; of a purge undone in part, the rest stays on record."""
    altered = restoration.altered
    if altered is not None:
        lost = [s for number, s in enumerate(altered.steps) if number not in restoration.known]
        if lost:
            # No file begins with what this purge left any more.
            rest = replace(altered, after=Content(0, ""), steps=lost)
            restore_record.write(restoration.home_dir, rest)
        restore_record.remove(altered)
    for record in [*restoration.undone, *restoration.stale]:
        if restore_record.belongs_to(record, restoration.path):
            restore_record.remove(record)


def restored(source: Source, restoration: Restoration) -> Iterator[bytes]:
    """The session as it was before the purges that are to be undone, in blocks."""
    if restoration.altered:
        record = restoration.altered
        fetcher = restore_undo.Fetcher(restoration.home_dir, record.chunks)
        lines = (line.raw for line in read.lines(cast("BinaryIO", source)))
        yield from restore_undo.undo_where_known(lines, record, fetcher, set())
        return
    for record in restoration.undone:
        fetcher = restore_undo.Fetcher(restoration.home_dir, record.chunks)
        undone = restore_undo.undo(source, record, fetcher)
        source = restore_undo.Blocks(_checked(undone, record.before))
    while block := source.read(restore_undo.BLOCK_BYTES):
        yield block


def _prefixes(
    blocks: Iterable[bytes], lengths: Sequence[int], progress: Callable[[int], None] | None
) -> list[Content]:
    """What some blocks begin with, at each of some lengths."""
    hashers = [Hasher() for _ in lengths]
    with suppress(PurgeError):
        for block in blocks:
            for hasher, length in zip(hashers, lengths, strict=True):
                if hasher.length < length:
                    hasher.update(block[: length - hasher.length])
            if progress:
                progress(len(block))
    return [hasher.content for hasher in hashers]


def _known(restoration: Restoration, record: Record) -> frozenset[int]:
    known: set[int] = set()
    fetcher = restore_undo.Fetcher(restoration.home_dir, record.chunks)
    with open(restoration.path, "rb", buffering=_BUFFER_BYTES) as file:
        lines = (line.raw for line in read.lines(file))
        with suppress(StoreError):
            for _ in restore_undo.undo_where_known(lines, record, fetcher, known):
                pass
    return frozenset(known)


def _checked(blocks: Iterable[bytes], expected: Content) -> Iterator[bytes]:
    """Pass blocks on, and see that they begin with what is expected, byte for byte."""
    hasher = Hasher()
    for block in blocks:
        if hasher.length < expected.length:
            hasher.update(block[: expected.length - hasher.length])
            if hasher.length == expected.length and hasher.content != expected:
                break
        yield block
    if hasher.content != expected:
        raise PurgeError(
            "the session would not be what it was before the purge: nothing was changed; its "
            "backup holds what it was"
        )


def _verify(written: Hasher, new_path: str) -> None:
    """See that the copy on the disk is what was written."""
    with open(new_path, "rb", buffering=_BUFFER_BYTES) as file:
        (found,) = _prefixes(_blocks(file), (written.length + 1,), None)
    if found != written.content:
        raise PurgeError("the copy was not written as meant: nothing was changed, try again")


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(_BUFFER_BYTES):
        yield block
