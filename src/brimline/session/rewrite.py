"""Puts a verified copy in the place of a session file, with a backup; no line is ever in neither.

The order is always the same: lock, backup, copy, verify, note the way back, swap, settle. Why it is
this one is told in docs/explanation/rewriting-sessions.md.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from brimline.session import disk, in_use, recovery, swap
from brimline.session.disk import Draft, Fingerprint, InUseError, RewriteError, RewrittenError
from brimline.state.session import SessionState
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from brimline.session.swap import Chain

# Others write to the disk too, the client among them; it must not find it full because of us.
_SPARE_BYTES = 16 << 20


class Rewritten(NamedTuple):
    """What one rewrite did."""

    path: str  # the session file that was swapped: the target where a link was named
    before: Fingerprint  # the snapshot that `make_new` was given
    after: Fingerprint  # what `make_new` wrote
    backup: str | None = None  # a copy of the snapshot; None when not `swapped`
    late_lines: int = 0  # appended to an old file after its rename, and carried over
    swapped: bool = True  # False when `make_new` wrote exactly the bytes it was given
    is_over: bool = True  # False when a program may still write to the old file


@dataclass(slots=True)
class Order:
    """What is to be done to a session.

    `make_new(old, length, new)` writes the new content for the first `length` bytes of `old`
    into `new`. There may be more by then. `length` is after a line break, or at the end of a file
    whose last line has been torn for `quiet_s`.

    `verify(new_path)` raises `RewriteError` where the copy is not sound: then nothing is swapped
    and nothing is left behind. Then `write_note(done)` puts the way back on the disk and returns
    its file; without it there is none.

    What others append meanwhile is added to the new file, in order, until the old one is closed
    or has been quiet for `quiet_s`.
    """

    path: str
    home_dir: str
    make_new: Callable[[BinaryIO, int, BinaryIO], None]
    verify: Callable[[str], None]
    write_note: Callable[[Rewritten], str] | None = None
    quiet_s: float = recovery.QUIET_S
    has_swapped: bool = False


def rewrite(order: Order) -> Rewritten:
    """Put `make_new`'s version of a session in its place.

    Raises:
        InUseError: the session is in use.
        BusyError: another brimline command is rewriting it.
        RewrittenError: it was rewritten, but then interrupted, or the disk refused.
        RewriteError: it is no file to rewrite, the copy is not sound, or the disk refused.
    """
    session = order.path = os.path.realpath(order.path)
    try:
        with swap.locked_chain(session) as chain:
            done = _copy_and_swap(order, chain)
            if not done.swapped:
                return done
            # What cannot be let go of is told wrongly until the session is resumed, no worse.
            with contextlib.suppress(OSError):
                SessionState(order.home_dir, find.session_id_of(session)).drop_fill_after_rewrite()
            recovery.merge_until_quiet(chain, order.quiet_s)
            return done._replace(late_lines=chain.late_lines, is_over=not chain.state.olds)
    except (KeyboardInterrupt, RewriteError, OSError) as error:
        if order.has_swapped:
            raise _failed_after_swap_error(order, error) from error
        if isinstance(error, OSError):
            raise recovery.disk_refusal_error(error, session) from error
        raise


def _failed_after_swap_error(order: Order, error: BaseException) -> RewrittenError:
    """What says that it is too late for "nothing was changed", and how to undo what was."""
    undo = shlex.join(["brimline", "session", "restore", order.path])
    way = f"undo it with `{undo}`" if order.write_note is not None else "its backup is beside it"
    told = "it was interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
    return RewrittenError(
        f"{order.path} was rewritten, but then: {told}; {way}. What others appended meanwhile is "
        "safe, and the next `brimline session` command adds it"
    )


def _copy_and_swap(order: Order, chain: Chain) -> Rewritten:
    _require_rewritable(order, chain)
    length = _snapshot_length(chain.descriptor, order.quiet_s)
    with Draft(disk.path_beside(order.path, "backup")) as backup, chain.create_draft() as new:
        disk.copy_and_count_lines(chain.descriptor, 0, length, backup)
        with (
            open(order.path, "rb", buffering=disk.BLOCK_BYTES) as source,
            io.BufferedWriter(new, disk.BLOCK_BYTES) as sink,
        ):
            order.make_new(source, length, sink)
        done = Rewritten(order.path, backup.fingerprint_so_far, new.fingerprint_so_far)
        if done.before == done.after:
            return done._replace(swapped=False)
        order.verify(new.path)
        # Both are read again: the session has to be what was copied, the copy what was written.
        before = disk.fingerprint_of(chain.descriptor, length)
        after = disk.fingerprint_of(new.descriptor, disk.file_size(new.descriptor))
        if (before, after) != (done.before, done.after):
            raise swap.changed_meanwhile_error(order.path)
        return done._replace(backup=_note_and_swap(order, chain, backup, new, done))


def _require_rewritable(order: Order, chain: Chain) -> None:
    """See that this is a session that can be rewritten, now."""
    recovery.merge_until_quiet(chain, order.quiet_s, give_up_s=0)
    for old in chain.state.olds:
        # Whether it is closed is asked before its length: what came late belongs before the rest.
        is_held = disk.has_no_writer(chain.former_descriptor(old)) is False
        if is_held or disk.file_size(chain.former_descriptor(old)) > old.carried:
            raise InUseError(
                f"{order.path} is in use: a program still has the file open that was this session"
                " before its last rewrite; end it first; nothing was changed"
            )
    in_use.require_idle(order.path)
    status = os.fstat(chain.descriptor)
    if status.st_nlink > 1:
        raise RewriteError(
            f"{order.path} has {status.st_nlink - 1} more name(s) elsewhere (hard links), which"
            " would keep the old content: remove them, or copy the session and rewrite the copy"
        )
    needed = 2 * status.st_size + _SPARE_BYTES
    free = shutil.disk_usage(os.path.dirname(order.path)).free
    if free < needed:
        raise RewriteError(
            f"rewriting {order.path} takes {needed >> 20} MB beside it, and only {free >> 20} MB"
            " are free: make room first; nothing was changed"
        )


def _snapshot_length(descriptor: int, quiet_s: float) -> int:
    """Up to where the session is taken: its end, or its last line break where it just grew."""
    status = os.fstat(descriptor)
    if 0 <= time.time() - status.st_mtime < quiet_s:
        return disk.last_line_end_offset(descriptor, 0, status.st_size)
    return status.st_size


def _note_and_swap(order: Order, chain: Chain, backup: Draft, new: Draft, done: Rewritten) -> str:
    """Make the copy the session; the note and the backup of what still stands go again."""
    kept = note = None
    try:
        kept = _sync_and_name_backup(order.path, backup)
        if order.write_note is not None:
            note = order.write_note(done)
        olds = [old._replace(place=new.length) for old in chain.state.olds]
        length = done.before.length
        chain.put_draft_in_place(new, olds, length, disk.bytes_before(backup.descriptor, length))
    except BaseException:
        order.has_swapped = disk.inode_and_size(order.path)[0] == new.inode
        for path in (kept, note):
            if path and not order.has_swapped:
                disk.remove(path)
        raise
    order.has_swapped = True
    return kept


def _sync_and_name_backup(session: str, backup: Draft) -> str:
    """See the backup on the disk and give it its name, which is returned."""
    disk.system.fsync(backup.descriptor)
    path, moment = backup.path, time.time()
    while os.path.lexists(path):  # several backups within a second take the next ones
        stamp = time.strftime("%Y%m%d_%H%M%S", time.localtime(moment))
        path = f"{session}.backup.{stamp}"
        moment += 1
    disk.system.replace(backup.path, path)
    disk.sync_folder_of(path)
    return path
