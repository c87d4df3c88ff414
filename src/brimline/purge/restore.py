"""Puts a purged session back to what it was, and keeps whatever was appended since."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from brimline.purge import restore_record, restore_undo, swap
from brimline.purge.errors import PurgeError
from brimline.purge.plan_apply import Hasher
from brimline.store.errors import StoreError
from brimline.transcript import find, records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import BinaryIO

    from brimline.purge.restore_record import Content, Record
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
    lost_steps: int = 0
    """How many of its changes are not known again."""
    stale: list[Record] = field(default_factory=list)
    """Records of purges that never came to their end, or were undone by other means."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to put back."""
        return not self.undone and self.altered is None

    @property
    def known_steps(self) -> int:
        """How many changes of a session that others changed since can be undone."""
        return len(self.altered.steps) - self.lost_steps if self.altered else 0

    @property
    def original(self) -> Content | None:
        """What the session will begin with; None where that cannot be promised."""
        return self.undone[-1].before if self.undone and self.altered is None else None


def plan(path: str, home_dir: str, progress: Callable[[int], None] | None = None) -> Restoration:
    """Find out which purges of a session can be undone; changes nothing.

    Raises:
        PurgeError: a record cannot be read.
        StoreError: what was taken out is gone.
        OSError: the session cannot be read.
    """
    found = Restoration(os.path.realpath(path), home_dir)
    unknown: list[Record] = []
    for record in restore_record.read_all(home_dir, find.session_id_of(found.path)):
        lengths = (record.after.length, record.before.length)
        with open(found.path, "rb", buffering=_BUFFER_BYTES) as file:
            after, before = _prefixes(restored(file, found), lengths, progress)
        if after == record.after:
            found.undone.append(record)
        elif before == record.before:
            found.stale.append(record)
        else:
            unknown.append(record)
    for record in [] if found.undone else unknown:
        lost = _count_lost(found, record)
        if lost < len(record.steps):
            found.altered, found.lost_steps = record, lost
            break
    return found


def restore(
    restoration: Restoration,
    *,
    live: bool = False,
    quiet_s: float = 1.0,
    progress: Callable[[int], None] | None = None,
    on_wait: Callable[[], None] | None = None,
) -> Rewritten:
    """Put the session back, and forget the purges that were undone.

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
        progress=progress,
        on_wait=on_wait,
    )
    for record in [*restoration.undone, *restoration.stale]:
        restore_record.remove(record)
    if restoration.altered:
        restore_record.remove(restoration.altered)
    return done


def restored(source: Source, restoration: Restoration) -> Iterator[bytes]:
    """The session as it was before the purges that are to be undone, in blocks."""
    if restoration.altered:
        record = restoration.altered
        fetcher = restore_undo.Fetcher(restoration.home_dir, record.chunks)
        lines = (line.raw for line in records.read(cast("BinaryIO", source)))
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


def _count_lost(restoration: Restoration, record: Record) -> int:
    known: set[int] = set()
    fetcher = restore_undo.Fetcher(restoration.home_dir, record.chunks)
    with open(restoration.path, "rb", buffering=_BUFFER_BYTES) as file:
        lines = (line.raw for line in records.read(file))
        with suppress(StoreError):
            for _ in restore_undo.undo_where_known(lines, record, fetcher, known):
                pass
    return len(record.steps) - len(known)


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
