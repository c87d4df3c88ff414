"""Follows the files that were a session until nothing comes to them any more."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from brimline.purge import disk
from brimline.purge.errors import PurgeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from brimline.purge.chain import Chain
    from brimline.purge.journal import Old

# A program that holds a former file open and keeps writing is merged by later commands.
GIVE_UP_S = 30.0
_POLL_S = 0.005
# How often the lines of a program that holds a former file open are carried over.
_MERGE_EVERY_S = 1.0
_MERGE_SHARE = 5
# Whatever comes during so many merges in a row goes on coming.
_MERGES = 20
# Where the system cannot tell whether a file is open: nothing came to it for so long.
_FORGOTTEN_S = 86_400.0


class Settled(NamedTuple):
    """What was carried over, and whether more may come."""

    lines: int
    size_bytes: int
    is_over: bool


def settle(
    chain: Chain,
    *,
    quiet_s: float,
    give_up_s: float = GIVE_UP_S,
    on_wait: Callable[[], None] | None = None,
) -> Settled:
    """Merge late lines until every former file is closed, or has been quiet for `quiet_s`.

    With `give_up_s=0` nothing is waited for: how long a file has been quiet is told by its time.
    `on_wait` is called once, when the wait takes longer than it takes a file to be quiet.

    Raises:
        PurgeError: late lines could not be merged; they are safe in the former file.
    """
    try:
        settled = _settle(chain, _Watch(quiet_s, waits=give_up_s > 0), give_up_s, on_wait)
        chain.note()
    except OSError as error:
        kept = ", ".join([chain.path_of(old) for old in chain.state.olds])
        raise PurgeError(
            f"{chain.session} was rewritten, but what was appended meanwhile could not be added"
            f" ({error.strerror or error}): it is safe in {kept}, and the next"
            " `brimline session` command adds it"
        ) from error
    return settled


def _settle(
    chain: Chain, watch: _Watch, give_up_s: float, on_wait: Callable[[], None] | None
) -> Settled:
    begun = time.monotonic()
    next_merge_at = begun + _MERGE_EVERY_S
    lines = size_bytes = merges = 0
    while True:
        watch.look(chain)
        now = time.monotonic()
        is_calm = all(watch.is_calm(old) for old in chain.state.olds)
        is_late = now - begun >= give_up_s
        if is_calm or is_late or now > next_merge_at:
            merged = chain.merge(watch.is_calm)
            lines, size_bytes = lines + merged.lines, size_bytes + merged.size_bytes
            spent = time.monotonic() - now
            next_merge_at = time.monotonic() + max(_MERGE_EVERY_S, _MERGE_SHARE * spent)
            merges += 1
            if is_calm and merged.size_bytes and merges < _MERGES:
                continue
        if is_calm or is_late:
            break
        if on_wait and now - begun > watch.quiet_s:
            on_wait()
            on_wait = None
        time.sleep(_POLL_S)
    for old in chain.state.olds:
        if not old.name or watch.is_done(old):
            chain.drop(old)
    return Settled(lines, size_bytes, not chain.state.olds)


class _Watch:
    """When something last came to each former file."""

    def __init__(self, quiet_s: float, *, waits: bool) -> None:
        self.quiet_s = quiet_s
        self._waits = waits
        self._sizes: dict[int, int] = {}
        self._changed_at: dict[int, float] = {}
        self._age_s: dict[int, float] = {}
        self._is_closed: dict[int, bool | None] = {}

    def look(self, chain: Chain) -> None:
        """Take the present sizes; whether a file is closed is asked before its size is read."""
        now = time.monotonic()
        for old in chain.state.olds:
            descriptor = chain.former(old)
            self._is_closed[old.inode] = disk.nobody_writes(descriptor)
            status = os.fstat(descriptor)
            self._age_s[old.inode] = time.time() - status.st_mtime
            if self._sizes.get(old.inode) != status.st_size:
                first = old.inode not in self._sizes
                rested = 0 if self._waits or not first else max(0.0, self._age_s[old.inode])
                self._changed_at[old.inode] = now - rested
                self._sizes[old.inode] = status.st_size

    def is_calm(self, old: Old) -> bool:
        """Whether nothing can come any more, or nothing came for long enough."""
        if old.inode not in self._sizes:
            return False
        rested = time.monotonic() - self._changed_at[old.inode]
        return self._is_closed[old.inode] is True or rested >= self.quiet_s

    def is_done(self, old: Old) -> bool:
        """Whether the file can go: nobody has it open, or nobody can tell and it is forgotten."""
        closed = self._is_closed.get(old.inode)
        if closed is None:
            return self._age_s.get(old.inode, 0) > _FORGOTTEN_S
        return closed
