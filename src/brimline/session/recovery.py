"""Opens a session under its lock, and finishes what an earlier rewrite could not.

A command that was killed leaves at most: a copy in the making, a lock that nobody holds, and the
file that was the session until the rename. The first two go, and what came to the third is merged.
It happens at the start of every `session` command and of every session.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from brimline.fast import io
from brimline.session import disk
from brimline.session.disk import BusyError, RewriteError
from brimline.session.swap import Chain, Merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from brimline.session.swap import Old

# A program that holds a former file open and keeps writing is merged by later commands.
GIVE_UP_S = 30.0
QUIET_S = 1.0
_POLL_S = 0.005
# Whatever comes during so many merges in a row goes on coming.
_MERGES = 20
# Where the system cannot tell whether a file is open: nothing came to it for so long.
_FORGOTTEN_S = 86_400.0


class Recovered(NamedTuple):
    """What was done for one session that an earlier command left behind."""

    session: str
    lines: int = 0
    problem: str | None = None


def recover(target: str, *, most_bytes: int | None = None) -> list[Recovered]:
    """Finish interrupted rewrites of a session, or of every session in a folder.

    Sessions that another command is rewriting right now are left to it, and those larger than
    `most_bytes` to the next command: merging a line copies the session. Cheap where there is
    nothing to do: the folder is listed once.
    """
    target = os.path.realpath(target)
    folder, only = (target, None) if os.path.isdir(target) else os.path.split(target)
    left = {disk.session_of(name) for name in _listed(folder)} - {None}
    sessions = [os.path.join(folder, name) for name in sorted(filter(None, left))]
    done = [
        _recovered(session)
        for session in sessions
        if only in (None, os.path.basename(session))
        and (most_bytes is None or disk.identity(session)[1] <= most_bytes)
    ]
    return [one for one in done if one is not None]


def _recovered(session: str) -> Recovered | None:
    try:
        if not os.path.lexists(session):
            _sweep_orphans(session)
            return None
        with locked_chain(session) as chain:
            merged = settle(chain, QUIET_S, give_up_s=0)
        return Recovered(session, merged.lines)
    except BusyError:
        return None
    except RewriteError as error:
        return Recovered(session, problem=str(error))
    except OSError as error:
        return Recovered(session, problem=str(told(error, session)))


def _sweep_orphans(session: str) -> None:
    """The session was removed: what we kept for it goes too, a day after the last line."""
    folder, base = os.path.split(session)
    ours = [os.path.join(folder, n) for n in _listed(folder) if disk.session_of(n) == base]
    with disk.locked(session):
        ages = [time.time() - os.lstat(path).st_mtime for path in ours]
        if min(ages, default=0.0) > _FORGOTTEN_S and not os.path.lexists(session):
            for path in ours:
                disk.remove(path)


def _listed(folder: str) -> list[str]:
    try:
        return io.names_in(folder)
    except OSError:
        return []


def told(error: OSError, session: str) -> RewriteError:
    """What the disk refused, in one sentence."""
    place = os.fsdecode(error.filename or os.path.dirname(session))
    reason = f"{session} cannot be rewritten ({place}: {error.strerror or error})"
    return RewriteError(f"{reason}; nothing was changed")


@contextmanager
def locked_chain(session: str) -> Iterator[Chain]:
    """A session under its lock, with its former files known and in their places.

    Raises:
        BusyError: another command is rewriting it.
        RewriteError: it is not there, no plain file, or cannot be read.
        OSError: the disk refused.
    """
    with disk.locked(session):
        chain = Chain(session, _open_plain_file(session))
        try:
            chain.load()
            yield chain
        finally:
            chain.close()


def _open_plain_file(session: str) -> int:
    try:
        descriptor = disk.open_for_reading(session)
    except OSError as error:
        raise RewriteError(f"{session} cannot be read: {error.strerror or error}") from error
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise RewriteError(f"{session} is no plain file: name a session's .jsonl file")


def settle(
    chain: Chain,
    quiet_s: float,
    give_up_s: float = GIVE_UP_S,
    on_wait: Callable[[], None] | None = None,
) -> Merged:
    """Merge late lines until every former file is closed, or has been quiet for `quiet_s`.

    With `give_up_s=0` nothing is waited for: how long a file has been quiet is told by its time.
    `on_wait` is called once, when the wait takes longer than it takes a file to be quiet.

    Raises:
        RewriteError: late lines could not be merged; they are safe in the former file.
    """
    try:
        merged = _settle(chain, _Watch(chain, quiet_s, waits=give_up_s > 0), give_up_s, on_wait)
        chain.note()
    except OSError as error:
        kept = ", ".join([chain.path_of(old) for old in chain.state.olds])
        raise RewriteError(
            f"{chain.session} was rewritten, but what was appended meanwhile could not be added"
            f" ({error.strerror or error}): it is safe in {kept}, and the next"
            " `brimline session` command adds it"
        ) from error
    return merged


def _settle(
    chain: Chain, watch: _Watch, give_up_s: float, on_wait: Callable[[], None] | None
) -> Merged:
    begun = time.monotonic()
    lines = size_bytes = merges = 0
    while True:
        watch.look()
        spent = time.monotonic() - begun
        is_calm = all(watch.is_calm(old) for old in chain.state.olds)
        if is_calm or spent >= give_up_s:
            merged = chain.merge(watch.is_calm)
            lines, size_bytes = lines + merged.lines, size_bytes + merged.size_bytes
            merges += 1
            if not is_calm or not merged.size_bytes or merges == _MERGES:
                break
            continue
        if on_wait and spent > watch.quiet_s:
            on_wait()
            on_wait = None
        time.sleep(_POLL_S)
    for old in chain.state.olds:
        if watch.is_done(old):
            chain.drop(old)
    return Merged(lines, size_bytes, not chain.state.olds)


class _Watch:
    """Whether something can still come to each former file, and when something last came."""

    def __init__(self, chain: Chain, quiet_s: float, *, waits: bool) -> None:
        self.quiet_s = quiet_s
        self._chain = chain
        self._not_before = time.time() if waits else 0.0
        self._seen: dict[int, tuple[bool | None, os.stat_result]] = {}

    def look(self) -> None:
        """Look at all of them; whether a file is closed is asked before what is in it."""
        for old in self._chain.state.olds:
            descriptor = self._chain.descriptor_of(old)
            is_closed = disk.nobody_writes(descriptor)
            self._seen[old.inode] = is_closed, os.fstat(descriptor)

    def is_calm(self, old: Old) -> bool:
        """Whether nothing can come any more, or nothing came for long enough."""
        if old.inode not in self._seen:
            return False
        is_closed, status = self._seen[old.inode]
        rested = time.time() - max(status.st_mtime, self._not_before)
        return is_closed is True or rested >= self.quiet_s

    def is_done(self, old: Old) -> bool:
        """Whether the file can go: nobody has it open, or nobody can tell and it is forgotten."""
        if not old.name or old.inode not in self._seen:
            return not old.name  # without a name nobody finds it later
        is_closed, status = self._seen[old.inode]
        if is_closed is None:
            # It got its second name when it was replaced, which counts as a change.
            return time.time() - max(status.st_mtime, status.st_ctime) > _FORGOTTEN_S
        return is_closed
