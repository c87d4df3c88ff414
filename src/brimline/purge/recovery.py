"""Opens a session under its lock, and finishes what an earlier command could not.

A command that was killed leaves at most: a copy in the making, a lock that nobody holds, and the
file that was the session until the rename. `recover` clears the first two away and merges what
came to the third. It runs at the start of every `session` command and of every session.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from brimline import fastio
from brimline.purge import disk, journal, locks, names, splice
from brimline.purge.chain import Chain
from brimline.purge.errors import BusyError, PurgeError
from brimline.purge.journal import Old, State
from brimline.purge.settle import settle

if TYPE_CHECKING:
    from collections.abc import Iterator

_QUIET_S = 1.0
_FORGOTTEN_S = 86_400.0


class Recovered(NamedTuple):
    """What was done for one session that an earlier command left behind."""

    session: str
    lines: int = 0
    is_over: bool = True
    problem: str | None = None


def recover(target: str, *, most_bytes: int | None = None) -> list[Recovered]:
    """Finish interrupted rewrites of a session, or of every session in a folder.

    Sessions that another command is rewriting right now are left to it, and those larger than
    `most_bytes` to the next command: merging a line copies the session. Cheap where there is
    nothing to do: the folder is listed once.
    """
    target = os.path.realpath(target)
    folder, only = (target, None) if os.path.isdir(target) else os.path.split(target)
    left = {names.session_of(name) for name in _listed(folder)} - {None}
    wanted = sorted([name for name in left if name and only in (None, name)])
    sessions = [os.path.join(folder, name) for name in wanted]
    if most_bytes is not None:
        sessions = [path for path in sessions if disk.inode_and_size_at(path)[1] <= most_bytes]
    done = [_recovered(session) for session in sessions]
    return [one for one in done if one is not None]


@contextmanager
def opened(session: str) -> Iterator[Chain]:
    """A session under its lock, with its former files known and in their places.

    Raises:
        BusyError: another command is rewriting it.
        PurgeError: it is not there, no plain file, or cannot be read.
        OSError: the disk refused.
    """
    with locks.held(session):
        descriptor = _open_plain_file(session)
        try:
            state, adrift = _load(session, descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        chain = Chain(session, descriptor, state)
        try:
            if adrift:
                _put_in_place(chain, adrift)
            yield chain
        finally:
            chain.close()


def told(error: OSError, session: str) -> PurgeError:
    """What the disk refused, in one sentence."""
    folder = os.path.dirname(session)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return PurgeError(
            f"there is no room for a copy of {session} beside it: free some space; nothing was"
            " changed"
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return PurgeError(
            f"{folder} and the files in it cannot be written ({error.strerror}): nothing was"
            " changed"
        )
    return PurgeError(f"{session}: {error.strerror or error}; nothing was changed")


def _listed(folder: str) -> list[str]:
    try:
        return fastio.names_in(folder)
    except OSError:
        return []


def _recovered(session: str) -> Recovered | None:
    try:
        if not os.path.lexists(session):
            _sweep_orphans(session)
            return None
        with opened(session) as chain:
            settled = settle(chain, quiet_s=_QUIET_S, give_up_s=0)
        return Recovered(session, settled.lines, settled.is_over)
    except BusyError:
        return None
    except PurgeError as error:
        return Recovered(session, is_over=False, problem=str(error))
    except OSError as error:
        return Recovered(session, is_over=False, problem=str(told(error, session)))


def _sweep_orphans(session: str) -> None:
    """The session was removed: what we kept for it goes too, a day after the last line."""
    folder, base = os.path.split(session)
    ours = [os.path.join(folder, n) for n in _listed(folder) if names.session_of(n) == base]
    with locks.held(session):
        ages = [time.time() - os.lstat(path).st_mtime for path in ours]
        if min(ages, default=0.0) > _FORGOTTEN_S and not os.path.lexists(session):
            for path in ours:
                disk.remove(path)


def _open_plain_file(session: str) -> int:
    try:
        descriptor = disk.open_for_reading(session)
    except FileNotFoundError:
        raise PurgeError(f"{session} is not there (any more)") from None
    except OSError as error:
        raise PurgeError(f"{session} cannot be read: {error.strerror or error}") from error
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    kind = "a folder" if stat.S_ISDIR(mode) else "no plain file"
    raise PurgeError(f"{session} is {kind}: name a session's .jsonl file")


def _load(session: str, descriptor: int) -> tuple[State, list[Old]]:
    """The present state, and the former files whose place in the session is not known."""
    for leftover in (names.new(session), names.unfinished_backup(session)):
        disk.remove(leftover)
    disk.remove(names.journal(session) + "-new")
    inode = os.fstat(descriptor).st_ino
    note = journal.read(session)
    if note is None:
        return State(inode), []
    if inode == note.before.inode != note.after.inode:
        _unlink_unused(session, inode, note.after)
        state = note.before
    else:
        state = replace(note.after, inode=inode)
    folder = os.path.dirname(session)
    there = [
        old for old in state.olds if disk.inode_at(os.path.join(folder, old.name)) == old.inode
    ]
    is_ours = inode in (note.before.inode, note.after.inode)
    return State(inode, tuple(there)), [
        old
        for old in there
        if not (is_ours and _is_anchored(os.path.join(folder, old.name), old, descriptor))
    ]


def _unlink_unused(session: str, inode: int, after: State) -> None:
    """The rename did not come: take the second name of the session away again."""
    second = os.path.join(os.path.dirname(session), after.olds[-1].name)
    if disk.inode_at(second) == inode:
        disk.remove(second)


def _is_anchored(path: str, old: Old, session: int) -> bool:
    descriptor = disk.open_for_reading(path)
    try:
        return splice.is_anchored(old, descriptor, session)
    finally:
        os.close(descriptor)


def _put_in_place(chain: Chain, adrift: list[Old]) -> None:
    """Others rewrote the session meanwhile: add the lines that it does not hold, at its end."""
    placed = [old for old in chain.state.olds if old not in adrift]
    size = disk.size(chain.descriptor)
    point = splice.point_at(chain.descriptor, disk.after_last_line_break(chain.descriptor, 0, size))
    with chain.copy() as new:
        disk.copy(chain.descriptor, 0, point.offset, new.descriptor)
        for old in adrift:
            former = chain.former(old)
            end = disk.after_last_line_break(former, old.start, disk.size(former))
            for begin, stop in splice.missing(old, former, end, chain.descriptor):
                disk.copy(former, begin, stop, new.descriptor)
            there = replace(old, start=end, carried=end, anchor=new.size)
            placed.append(splice.marked(there, new.descriptor))
        if new.size > point.offset:
            chain.exchange(new, placed, point)
            return
    chain.state = replace(chain.state, olds=tuple(placed))
    chain.note()
