"""A session file and the files it was before, and the one step that changes which is which.

Every change of ours is a whole new file that takes the session's name; we never write into a file
that others may be writing. So a file holds what we gave it, then what others appended, and the
order of all lines is the order of the files: what was appended to an older one comes first.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from brimline.purge import disk, journal, names, splice
from brimline.purge.errors import PurgeError
from brimline.purge.journal import Journal, Old, State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Each round follows a write of somebody else; a hundred in a row within microseconds is a flood.
_ROUNDS = 100


class Merged(NamedTuple):
    """What was carried over from older files."""

    lines: int = 0
    size_bytes: int = 0


class New:
    """A copy in the making, beside the session; it goes away unless it becomes the session."""

    def __init__(self, session: str, like: os.stat_result) -> None:
        self.path = names.new(session)
        disk.remove(self.path)
        self.descriptor = disk.create(self.path)
        self.inode = os.fstat(self.descriptor).st_ino
        try:
            _take_after(self.descriptor, like)
        except BaseException:
            self.close()
            raise

    @property
    def size(self) -> int:
        """How long it is so far."""
        return disk.size(self.descriptor)

    def close(self) -> None:
        """Give up the descriptor, and the file where it still has its temporary name."""
        os.close(self.descriptor)
        if disk.inode_at(self.path) == self.inode:
            disk.remove(self.path)


class Chain:
    """The session and its former files; only for the process that holds the session's lock."""

    def __init__(self, session: str, descriptor: int, state: State) -> None:
        self.session = session
        self.descriptor = descriptor
        self.state = state
        # Where there are no hard links: a former file is then held by nothing but this process.
        self.may_go_unnamed = False
        self._former: dict[int, int] = {}

    def close(self) -> None:
        """Close every file."""
        for descriptor in (self.descriptor, *self._former.values()):
            os.close(descriptor)
        self._former.clear()

    def former(self, old: Old) -> int:
        """A descriptor of a file that was the session."""
        if old.inode not in self._former:
            self._former[old.inode] = disk.open_for_reading(self.path_of(old))
        return self._former[old.inode]

    def path_of(self, old: Old) -> str:
        """Where a file that was the session is kept."""
        return os.path.join(os.path.dirname(self.session), old.name)

    @contextmanager
    def copy(self) -> Iterator[New]:
        """A new file for the session."""
        new = New(self.session, os.fstat(self.descriptor))
        try:
            yield new
        finally:
            new.close()

    def merge(self, takes_torn: Callable[[Old], bool]) -> Merged:
        """Carry over what came to former files, complete lines only unless `takes_torn`."""
        tails = [(old, self._end(old, torn=takes_torn(old))) for old in self.state.olds]
        size_bytes = sum(end - old.carried for old, end in tails)
        if not size_bytes:
            return Merged()
        lines = sum(disk.count_lines(self.former(old), old.carried, end) for old, end in tails)
        with self.copy() as new:
            parts = [splice.Part(old, self.former(old), end) for old, end in tails]
            moved, point = splice.compose(self.descriptor, parts, new.descriptor)
            self._keep_time(new, tails)
            self.exchange(new, moved, point)
        return Merged(lines, size_bytes)

    def exchange(self, new: New, olds: list[Old], point: splice.Point) -> None:
        """Make a copy the session; the present file is in it up to a point.

        What is appended while this runs goes along, up to the moment of the rename.

        Raises:
            PurgeError: the session was changed by others in a way that cannot be followed.
            OSError: the disk refused. The session is what it was.
        """
        kept = names.next_old(self.session)
        anchor = new.size
        mark = disk.checksum_before(new.descriptor, anchor)
        start, inode = point.offset, self.state.inode
        replaced = Old(os.path.basename(kept), inode, start, start, anchor, mark)
        after = State(new.inode, (*olds, replaced))
        disk.sync(new.descriptor)
        reader = disk.open_for_reading(new.path)
        stamp = journal.write(self.session, Journal(self.state, after))
        try:
            is_named = self._keep_linked(kept)
            carried = self._follow_and_rename(new, point, stamp)
        except BaseException:
            os.close(reader)
            stamp.close()
            # An interrupt may come after the rename: then the journal tells the next command.
            if disk.inode_at(self.session) != new.inode:
                self._undo(kept)
            raise
        self._former[self.state.inode] = self.descriptor
        self.descriptor = reader
        name = replaced.name if is_named else ""
        replaced = replace(replaced, carried=carried, name=name)
        self.state = State(new.inode, (*olds, replaced))
        try:
            stamp.close()
            disk.sync(new.descriptor)
            disk.sync_folder(self.session)
        except OSError as error:
            raise PurgeError(
                f"{self.session} was rewritten, but the disk does not say that it holds it"
                f" ({error.strerror or error}): what it was is still beside it"
            ) from error

    def drop(self, old: Old) -> None:
        """Let go of a former file to which nothing can come any more."""
        if old.name:
            disk.remove(self.path_of(old))
        descriptor = self._former.pop(old.inode, None)
        if descriptor is not None:
            os.close(descriptor)
        self.state = replace(self.state, olds=tuple([o for o in self.state.olds if o != old]))

    def note(self) -> None:
        """Write down the present state; without former files there is nothing to write."""
        if self.state.olds:
            journal.write(self.session, Journal(self.state, self.state)).close()
        else:
            disk.remove(names.journal(self.session))

    def _end(self, old: Old, *, torn: bool) -> int:
        descriptor = self.former(old)
        size = max(disk.size(descriptor), old.carried)
        return size if torn else disk.after_last_line_break(descriptor, old.carried, size)

    def _keep_time(self, new: New, tails: list[tuple[Old, int]]) -> None:
        """A session is as old as its last line, not as its last merge."""
        sources = [self.descriptor, *[self.former(o) for o, end in tails if end > o.carried]]
        moment = max(os.fstat(source).st_mtime_ns for source in sources)
        os.utime(new.path, ns=(moment, moment))

    def _keep_linked(self, kept: str) -> bool:
        """Give the file a name that outlasts the rename; False where there are no such names."""
        if disk.link(self.session, kept):
            if disk.inode_at(kept) != self.state.inode:
                raise _replaced(self.session)
            return True
        if not self.may_go_unnamed:
            raise PurgeError(
                f"{self.session} is in use, and no hard links can be made here, without which late"
                " lines could be lost: end the client first"
            )
        return False

    def _follow_and_rename(self, new: New, point: splice.Point, stamp: journal.Stamp) -> int:
        """Copy what is appended until a moment with nothing to copy, which is the rename's."""
        carried = point.offset
        for _ in range(_ROUNDS):
            size = disk.size(self.descriptor)
            if size < carried or not self._is_as_copied(new, point, carried):
                raise PurgeError(
                    f"{self.session} was changed by another program while it was being copied:"
                    " nothing was swapped, try again"
                )
            end = disk.after_last_line_break(self.descriptor, carried, size)
            if end > carried:
                disk.copy(self.descriptor, carried, end, new.descriptor)
                carried = end
                continue
            stamp.write(carried)
            # Asked by name: others write to what has the name, not to what we opened.
            inode, size_now = disk.inode_and_size_at(self.session)
            if inode != self.state.inode:
                raise _replaced(self.session)
            if size_now != size:
                continue
            disk.replace(new.path, self.session)
            return carried
        raise PurgeError(
            f"{self.session} is being written faster than it can be followed: end the program that"
            " writes it"
        )

    def _is_as_copied(self, new: New, point: splice.Point, carried: int) -> bool:
        """Whether the end of what was copied is unchanged: clients take their last rows back."""
        copied = min(carried - point.offset, splice.TAIL_BYTES)
        return point.tail == splice.point_at(self.descriptor, point.offset).tail and disk.same(
            self.descriptor, carried - copied, new.descriptor, new.size - copied, copied
        )

    def _undo(self, kept: str) -> None:
        """Take the second name away, whichever file got it, as long as it is a second one."""
        if disk.inode_at(kept) == disk.inode_at(self.session):
            disk.remove(kept)
        self.note()


def _take_after(descriptor: int, like: os.stat_result) -> None:
    """Keep mode and owner; an owner we may not give is ours instead, and that is fine."""
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, stat.S_IMODE(like.st_mode) & 0o777)
    fresh = os.fstat(descriptor)
    if (fresh.st_uid, fresh.st_gid) != (like.st_uid, like.st_gid) and hasattr(os, "fchown"):
        try:
            os.fchown(descriptor, like.st_uid, like.st_gid)
        except PermissionError:
            pass


def _replaced(session: str) -> PurgeError:
    return PurgeError(
        f"{session} was replaced or removed by another program while it was being copied: nothing"
        " was swapped, try again"
    )
