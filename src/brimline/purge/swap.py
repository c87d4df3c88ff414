"""Swaps a verified copy in for a session file, with a backup; no line is ever in neither file."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from brimline.purge import backups, disk, recovery, splice
from brimline.purge import live as liveness
from brimline.purge.errors import PurgeError
from brimline.purge.settle import settle

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from brimline.purge.chain import Chain, New
    from brimline.purge.journal import Old

    MakeNew = Callable[[BinaryIO, int, BinaryIO], None]
    Verify = Callable[[str, int, str], None]

_BUFFER_BYTES = 1 << 20
_POLL_S = 0.005
# Others write to the disk too, the client among them; it must not find it full because of us.
_SPARE_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What one rewrite did."""

    path: str  # the session file that was swapped: the target where a link was named
    backup: str | None  # a copy of the first `bytes_before` bytes; None when not `swapped`
    bytes_before: int  # the length of the snapshot that `make_new` was given
    bytes_after: int  # what `make_new` wrote
    spliced_bytes: int = 0  # appended to the old file after the rename, and carried over
    spliced_lines: int = 0
    swapped: bool = True  # False when `make_new` wrote exactly the bytes it was given
    is_over: bool = True  # False when a program may still write to the old file


def rewrite(
    path: str,
    make_new: MakeNew,
    verify: Verify,
    *,
    home_dir: str,
    quiet_s: float = 1.0,
    live: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Rewritten:
    """Put `make_new`'s version of a session in its place.

    `make_new(old, length, new)` writes the new content for the first `length` bytes of `old`
    into `new`. `old` ends there, and `length` is after a line break, or at the end of a file whose
    last line is torn and has been so for `quiet_s`.

    `verify(old_path, length, new_path)` raises `PurgeError` where the copy is not sound: then
    nothing is swapped and nothing is left behind.

    What others append meanwhile is added to the new file, in order, until the old one is closed
    or has been quiet for `quiet_s`. `progress` is told how many bytes of `old` were read.

    Raises:
        LiveError: the session is in use and `live` is False.
        BusyError: another brimline command is rewriting it.
        PurgeError: it is no file to rewrite, the copy is not sound, or the disk refused.
    """
    session = os.path.realpath(path)
    if not os.path.exists(session):
        raise PurgeError(f"{path} is not there")
    job = _Job(session, home_dir, quiet_s, live)
    try:
        with recovery.opened(session) as chain:
            return _rewritten(job, chain, make_new, verify, progress)
    except OSError as error:
        raise recovery.told(error, session) from error


@dataclass(frozen=True, slots=True)
class _Job:
    session: str
    home_dir: str
    quiet_s: float
    is_live: bool


def _rewritten(
    job: _Job,
    chain: Chain,
    make_new: MakeNew,
    verify: Verify,
    progress: Callable[[int], None] | None,
) -> Rewritten:
    settle(chain, quiet_s=job.quiet_s, give_up_s=0)
    _require_fit(job, chain)
    length = _before_late_lines(chain, _snapshot(chain.descriptor, job.quiet_s))
    with (
        contextlib.closing(backups.Unfinished(job.session, chain.descriptor, length)) as backup,
        chain.copy() as new,
    ):
        _make(make_new, chain.descriptor, length, new, progress)
        done = Rewritten(job.session, None, length, new.size)
        if new.size == length and disk.same(chain.descriptor, 0, new.descriptor, 0, length):
            return replace(done, swapped=False)
        verify(job.session, length, new.path)
        _require_unchanged(chain, backup.descriptor, new, done)
        done = replace(done, backup=_swapped(chain, new, length, backup))
    settled = settle(chain, quiet_s=job.quiet_s)
    return replace(
        done,
        spliced_bytes=settled.size_bytes,
        spliced_lines=settled.lines,
        is_over=settled.is_over,
    )


def _require_fit(job: _Job, chain: Chain) -> None:
    """See that this is a session that can be rewritten, now."""
    if not job.is_live:
        liveness.require_idle(job.session, job.home_dir)
        chain.may_go_unnamed = True
    status = os.fstat(chain.descriptor)
    if status.st_nlink > 1:
        raise PurgeError(
            f"{job.session} has {status.st_nlink - 1} more name(s) elsewhere (hard links), which"
            " would keep the old content: remove them, or copy the session and rewrite the copy"
        )
    needed = 2 * status.st_size + _SPARE_BYTES
    free = shutil.disk_usage(os.path.dirname(job.session)).free
    if free < needed:
        raise PurgeError(
            f"rewriting {job.session} takes {needed >> 20} MB beside it, and only {free >> 20} MB"
            " are free: make room first; nothing was changed"
        )


def _snapshot(descriptor: int, quiet_s: float) -> int:
    """Up to where the session is taken: its last line break, or its end where nothing comes."""
    size = disk.size(descriptor)
    if disk.after_last_line_break(descriptor, 0, size) < size and _rests(descriptor, size, quiet_s):
        return size
    return disk.after_last_line_break(descriptor, 0, disk.size(descriptor))


def _rests(descriptor: int, size: int, quiet_s: float) -> bool:
    """Whether a file stays as long as it is for a while, counted from its last change."""
    begun = time.monotonic()
    while time.monotonic() - begun < quiet_s:
        status = os.fstat(descriptor)
        if status.st_size != size:
            return False
        if time.time() - status.st_mtime >= quiet_s:
            return True
        time.sleep(_POLL_S)
    return disk.size(descriptor) == size


def _before_late_lines(chain: Chain, length: int) -> int:
    """Stop before the place of lines that are still to be merged; what follows is left as it is.

    A former file to which nothing came by now has no such place: whoever writes to it later has
    not written to the present file yet, so its lines belong behind all of this.
    """
    late = [old for old in chain.state.olds if disk.size(chain.former(old)) > old.carried]
    return min([length, *[old.position for old in late]])


def _make(
    make_new: MakeNew,
    old: int,
    length: int,
    new: New,
    progress: Callable[[int], None] | None,
) -> None:
    source = io.BufferedReader(disk.Source(old, length, progress), _BUFFER_BYTES)
    with source, io.BufferedWriter(disk.Sink(new.descriptor), _BUFFER_BYTES) as sink:
        make_new(source, length, sink)


def _require_unchanged(chain: Chain, backup: int, new: New, done: Rewritten) -> None:
    """See that neither the session nor the copy changed since the backup was made."""
    if _ends_in_a_line_break(backup, done.bytes_before) and not _ends_in_a_line_break(
        new.descriptor, done.bytes_after
    ):
        raise PurgeError(
            f"the copy of {done.path} ends within a line, which the next one would be added to:"
            " nothing was swapped"
        )
    is_same = disk.same(chain.descriptor, 0, backup, 0, done.bytes_before)
    if not is_same or new.size != done.bytes_after:
        raise PurgeError(
            f"{done.path} was changed by another program while it was being copied: nothing was"
            " swapped, try again"
        )


def _ends_in_a_line_break(descriptor: int, size: int) -> bool:
    return size == 0 or disk.read_at(descriptor, 1, size - 1) == b"\n"


def _swapped(chain: Chain, new: New, length: int, backup: backups.Unfinished) -> str:
    """Finish the backup and make the copy the session; a backup of what still stands goes again."""
    path = backup.finish()
    try:
        olds, point = _carry_tail(chain, new, splice.point_at(backup.descriptor, length))
        _keep_time(chain, new)
        chain.exchange(new, olds, point)
    except BaseException:
        if chain.state.inode != new.inode:
            disk.remove(path)
        raise
    return path


def _keep_time(chain: Chain, new: New) -> None:
    """The client and `brimline` take the session written last: a rewrite does not count."""
    moment = os.fstat(chain.descriptor).st_mtime_ns
    os.utime(new.path, ns=(moment, moment))


def _carry_tail(chain: Chain, new: New, point: splice.Point) -> tuple[list[Old], splice.Point]:
    """Copy the session from a point on, as far as former files have their places in there."""
    end, shift = new.size, new.size - point.offset
    stop = max([point.offset, *[old.position for old in chain.state.olds]])
    if stop > point.offset:
        disk.copy(chain.descriptor, point.offset, stop, new.descriptor)
        point = splice.point_at(chain.descriptor, stop)
    olds = [
        replace(old, start=old.carried, anchor=max(end, old.position + shift))
        for old in chain.state.olds
    ]
    return [splice.marked(old, new.descriptor) for old in olds], point
