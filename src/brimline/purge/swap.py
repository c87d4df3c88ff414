"""Swaps a verified copy in for a session file, with a backup; no line is ever in neither file.

The order is always the same: copy, verify, record the way back, swap, settle. Why it is this one is
told in docs/explanation/rewriting-sessions.md.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from brimline.purge import backups, disk, recovery, splice
from brimline.purge import live as liveness
from brimline.purge.errors import PurgeError, RewrittenError
from brimline.purge.settle import settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO, Protocol

    from brimline.purge.chain import Chain, New
    from brimline.purge.journal import Old

    MakeNew = Callable[[BinaryIO, int, BinaryIO], None]
    Verify = Callable[[str, int, str], None]

    class WayBack(Protocol):
        """What makes a rewrite undoable: on record before the swap, gone where there was none."""

        def record(self) -> None: ...

        def forget(self) -> None: ...


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


def rewrite(  # noqa: PLR0913 - one per step of the order
    path: str,
    make_new: MakeNew,
    verify: Verify,
    *,
    home_dir: str,
    quiet_s: float = 1.0,
    live: bool = False,
    way_back: WayBack | None = None,
    may_end_torn: bool = False,
    progress: Callable[[int], None] | None = None,
    on_wait: Callable[[], None] | None = None,
) -> Rewritten:
    """Put `make_new`'s version of a session in its place.

    `make_new(old, length, new)` writes the new content for the first `length` bytes of `old`
    into `new`. `old` ends there, and `length` is after a line break, or at the end of a file whose
    last line is torn and has been so for `quiet_s`.

    `verify(old_path, length, new_path)` raises `PurgeError` where the copy is not sound: then
    nothing is swapped and nothing is left behind. Then `way_back` is put on record. Only with
    `may_end_torn` may the copy end within a line where the session does not.

    What others append meanwhile is added to the new file, in order, until the old one is closed
    or has been quiet for `quiet_s`. `progress` is told how many bytes of `old` were read, and
    `on_wait` is called when a program holds the old file open after the swap.

    Raises:
        LiveError: the session is in use and `live` is False.
        BusyError: another brimline command is rewriting it.
        RewrittenError: it was rewritten, but then interrupted, or the disk refused.
        PurgeError: it is no file to rewrite, the copy is not sound, or the disk refused.
    """
    session = os.path.realpath(path)
    if not os.path.exists(session):
        raise PurgeError(f"{path} is not there")
    order = _Order(session, home_dir, quiet_s, live, make_new, verify, way_back, progress, on_wait)
    order.may_end_torn = may_end_torn
    try:
        with recovery.opened(session) as chain:
            return _rewritten(order, chain)
    except (KeyboardInterrupt, PurgeError, OSError) as error:
        if order.has_swapped:
            raise _late(order, error) from error
        if isinstance(error, OSError):
            raise recovery.told(error, session) from error
        raise


@dataclass(slots=True)
class _Order:
    session: str
    home_dir: str
    quiet_s: float
    is_live: bool
    make_new: MakeNew
    verify: Verify
    way_back: WayBack | None
    progress: Callable[[int], None] | None
    on_wait: Callable[[], None] | None
    may_end_torn: bool = False
    has_swapped: bool = False


def _rewritten(order: _Order, chain: Chain) -> Rewritten:
    settle(chain, quiet_s=order.quiet_s, give_up_s=0)
    _require_fit(order, chain)
    length = _before_late_lines(chain, _snapshot(chain.descriptor, order.quiet_s))
    with (
        contextlib.closing(backups.Unfinished(order.session, chain.descriptor, length)) as backup,
        chain.copy() as new,
    ):
        _copy(order, chain.descriptor, length, new)
        done = Rewritten(order.session, None, length, new.size)
        if new.size == length and disk.same(chain.descriptor, 0, new.descriptor, 0, length):
            return replace(done, swapped=False)
        order.verify(order.session, length, new.path)
        if not order.may_end_torn:
            _require_whole(backup.descriptor, new, done)
        _require_unchanged(chain, backup.descriptor, new, done)
        with _recorded(order, new):
            done = replace(done, backup=_swapped(chain, new, length, backup))
    return _settled(order, chain, done)


@contextlib.contextmanager
def _recorded(order: _Order, new: New) -> Iterator[None]:
    """Put the way back on record; it is forgotten again where the swap did not happen."""
    way_back = order.way_back
    try:
        if way_back is not None:
            way_back.record()
        yield
        order.has_swapped = True
    except BaseException:
        order.has_swapped = disk.inode_at(order.session) == new.inode
        if way_back is not None and not order.has_swapped:
            way_back.forget()
        raise


def _settled(order: _Order, chain: Chain, done: Rewritten) -> Rewritten:
    """Add what others appended to the old file meanwhile."""
    settled = settle(chain, quiet_s=order.quiet_s, on_wait=order.on_wait)
    return replace(
        done,
        spliced_bytes=settled.size_bytes,
        spliced_lines=settled.lines,
        is_over=settled.is_over,
    )


def _late(order: _Order, error: BaseException) -> RewrittenError:
    """What says that it is too late for "nothing was changed", and how to undo what was."""
    undo = shlex.join(["brimline", "session", "restore", order.session])
    way = f"undo it with `{undo}`" if order.way_back else "its backup is beside it"
    if isinstance(error, KeyboardInterrupt):
        return RewrittenError(
            f"interrupted, but {order.session} was rewritten before: {way}. What others appended "
            "meanwhile is safe, and the next `brimline session` command adds it"
        )
    told = str(error)
    if isinstance(error, OSError):
        told = f"{order.session} was rewritten, but then: {error.strerror or error}"
    return RewrittenError(f"{told}; to have the session as it was, {way}")


def _require_fit(order: _Order, chain: Chain) -> None:
    """See that this is a session that can be rewritten, now."""
    if not order.is_live:
        liveness.require_idle(order.session, order.home_dir)
        chain.may_go_unnamed = True
    status = os.fstat(chain.descriptor)
    if status.st_nlink > 1:
        raise PurgeError(
            f"{order.session} has {status.st_nlink - 1} more name(s) elsewhere (hard links), which"
            " would keep the old content: remove them, or copy the session and rewrite the copy"
        )
    needed = 2 * status.st_size + _SPARE_BYTES
    free = shutil.disk_usage(os.path.dirname(order.session)).free
    if free < needed:
        raise PurgeError(
            f"rewriting {order.session} takes {needed >> 20} MB beside it, and only {free >> 20} MB"
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


def _copy(order: _Order, old: int, length: int, new: New) -> None:
    source = io.BufferedReader(disk.Source(old, length, order.progress), _BUFFER_BYTES)
    with source, io.BufferedWriter(disk.Sink(new.descriptor), _BUFFER_BYTES) as sink:
        order.make_new(source, length, sink)


def _require_whole(backup: int, new: New, done: Rewritten) -> None:
    """See that the copy does not end within a line, unless the session does."""
    if _ends_in_a_line_break(backup, done.bytes_before) and not _ends_in_a_line_break(
        new.descriptor, done.bytes_after
    ):
        raise PurgeError(
            f"the copy of {done.path} ends within a line, which the next one would be added to:"
            " nothing was swapped"
        )


def _require_unchanged(chain: Chain, backup: int, new: New, done: Rewritten) -> None:
    """See that neither the session nor the copy changed since the backup was made."""
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
        if disk.inode_at(chain.session) != new.inode:
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
