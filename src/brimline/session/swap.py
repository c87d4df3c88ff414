"""A session file and the files it was before: the swap, and what was appended meanwhile.

Every change of ours is a whole new file that takes the session's name; we never write into a file
that others may be writing. So a file holds what we gave it, then what others appended, and the
order of all lines is the order of the files: what was appended to an older one comes first.

A journal beside the session is written before every swap and holds for both sides of it: the number
of the file that has the session's name tells on which side we are. One figure is settled only at
the last moment, how many bytes of the replaced file went along. It stands in front, at a fixed
width, and is written over in place.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from brimline.session import disk
from brimline.session.disk import Draft, RewriteError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FORMAT = 2
_DIGITS = 20
# Each round follows a write of somebody else; a hundred in a row within microseconds is a flood.
_ROUNDS = 100


@dataclass(frozen=True, slots=True)
class Old:
    """A file that was the session, and what of it the session holds by now.

    From `start` on its lines belong to the session as they are; those up to `carried` are there.
    They are followed by `gap` bytes from files that came after it and are gone.
    """

    name: str
    inode: int
    start: int
    carried: int
    gap: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """The file that is the session, and those that were, the oldest first.

    The session consists of `kept` bytes, which end with a `mark`, of what was carried over from
    each former file, and of what others appended.
    """

    inode: int
    kept: int = 0
    mark: int = 0
    olds: tuple[Old, ...] = ()

    @property
    def base(self) -> int:
        """How many bytes of it we wrote."""
        return self.kept + sum(old.carried - old.start + old.gap for old in self.olds)

    def places(self) -> Iterator[tuple[Old, int]]:
        """Every former file, and where in the session its next line belongs."""
        at = self.kept
        for old in self.olds:
            at += old.carried - old.start
            yield old, at
            at += old.gap

    def without(self, gone: Old) -> State:
        """The same when a former file is gone; its lines stay where they are."""
        at = self.olds.index(gone)
        before, after = self.olds[:at], self.olds[at + 1 :]
        length = gone.carried - gone.start + gone.gap
        if not before:
            return replace(self, kept=self.kept + length, olds=after)
        last = replace(before[-1], gap=before[-1].gap + length)
        return replace(self, olds=(*before[:-1], last, *after))


class Merged(NamedTuple):
    """What was carried over from former files, and whether more may come."""

    lines: int = 0
    size_bytes: int = 0
    is_over: bool = True


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


class Chain:
    """The session and its former files; only for the process that holds the session's lock."""

    def __init__(self, session: str, descriptor: int) -> None:
        self.session = session
        self.descriptor = descriptor
        self.state = State(os.fstat(descriptor).st_ino)
        self._former: dict[int, int] = {}

    def close(self) -> None:
        """Close every file."""
        for descriptor in (self.descriptor, *self._former.values()):
            os.close(descriptor)

    def descriptor_of(self, old: Old) -> int:
        """A descriptor of a file that was the session."""
        if old.inode not in self._former:
            self._former[old.inode] = disk.open_for_reading(self.path_of(old))
        return self._former[old.inode]

    def path_of(self, old: Old) -> str:
        """Where a file that was the session is kept."""
        return os.path.join(os.path.dirname(self.session), old.name)

    @contextmanager
    def copy(self) -> Iterator[Draft]:
        """A new file for the session."""
        new = Draft(self.session, "new")
        try:
            _take_after(new.descriptor, os.fstat(self.descriptor))
            yield new
        finally:
            new.close()

    def load(self) -> None:
        """Take up what an earlier command left."""
        for leftover in ("new", "backup", "second", "swap-new"):
            disk.remove(disk.beside(self.session, leftover))
        note = _read_journal(self.session)
        if note is None:
            return
        before, after = note
        inode = self.state.inode
        if inode == before.inode != after.inode:
            # The rename did not come: the second name of the session goes again.
            second = self.path_of(after.olds[-1])
            if disk.identity(second)[0] == inode:
                disk.remove(second)
            self.state = before
        else:
            self.state = replace(after, inode=inode)
        is_known = inode in (before.inode, after.inode) and self._is_as_noted()
        for old in self.state.olds:
            if disk.identity(self.path_of(old))[0] != old.inode:
                self.state = self.state.without(old)  # as when it was dropped, but not noted yet
        if not is_known or not all(self._is_in_place(*one) for one in self.state.places()):
            # Others rewrote the session meanwhile: what is still to come belongs at its end.
            end = disk.after_last_line_break(self.descriptor, 0, disk.size(self.descriptor))
            ends = [min(o.carried, disk.size(self.descriptor_of(o))) for o in self.state.olds]
            olds = [Old(o.name, o.inode, n, n) for o, n in zip(self.state.olds, ends, strict=True)]
            self.state = State(inode, end, olds=tuple(olds))
        self._mark()

    def _is_as_noted(self) -> bool:
        """Whether what comes before the lines of former files is still what it was."""
        state = self.state
        if state.kept < 0 or disk.size(self.descriptor) < state.base:
            return False
        return crc32(disk.tail_before(self.descriptor, state.kept)) == state.mark

    def _is_in_place(self, old: Old, place: int) -> bool:
        """Whether the lines of a former file are where they should be: others change things too."""
        former, length = self.descriptor_of(old), old.carried - old.start
        return disk.size(former) >= old.carried and disk.same(
            former, old.start, self.descriptor, place - length, length
        )

    def _mark(self) -> None:
        mark = crc32(disk.tail_before(self.descriptor, self.state.kept))
        self.state = replace(self.state, mark=mark)

    def merge(self, takes_torn: Callable[[Old], bool]) -> Merged:
        """Carry over what came to former files, complete lines only unless `takes_torn`."""
        tails = [(old, at, self._end(old, takes_torn(old))) for old, at in self.state.places()]
        size_bytes = sum(end - old.carried for old, _, end in tails)
        if not size_bytes:
            return Merged()
        at, base, lines, moved = 0, self.state.base, 0, []
        sources = [self.descriptor]
        with self.copy() as new:
            for old, place, end in tails:
                former = self.descriptor_of(old)
                disk.copy(self.descriptor, at, place, new.descriptor)
                disk.copy(former, old.carried, end, new.descriptor)
                late = disk.blocks(former, old.carried, end)
                lines += sum(block.count(b"\n") for block in late)
                sources += [former] if end > old.carried else []
                moved.append(replace(old, carried=end))
                at = place
            stop = disk.after_last_line_break(self.descriptor, base, disk.size(self.descriptor))
            tail = disk.tail_before(self.descriptor, stop)
            disk.copy(self.descriptor, at, stop, new.descriptor)
            # A session is as old as its last line, not as its last merge.
            moment = max(os.fstat(source).st_mtime_ns for source in sources)
            os.utime(new.path, ns=(moment, moment))
            after = self.replacing(new, moved, self.state.kept, base, stop)
            self.exchange(new, after, tail)
        return Merged(lines, size_bytes)

    def _end(self, old: Old, torn: bool) -> int:
        descriptor = self.descriptor_of(old)
        size = max(disk.size(descriptor), old.carried)
        return size if torn else disk.after_last_line_break(descriptor, old.carried, size)

    def exchange(self, new: Draft, after: State, tail: bytes) -> None:
        """Make a copy the session; what is appended while this runs goes along.

        Args:
            new: the copy.
            after: what it holds; the last of its former files is the present one.
            tail: the bytes of the present file just before the place up to which it was copied.

        Raises:
            RewriteError: the session was changed by others in a way that cannot be followed.
            OSError: the disk refused. The session is what it was.
        """
        replaced = after.olds[-1]
        disk.system.fsync(new.descriptor)
        reader = disk.open_for_reading(new.path)
        journal = -1
        try:
            journal = _write_journal(self.session, self.state, after)
            is_named = self._link(self.path_of(replaced))
            carried = self._follow_and_rename(new, replaced.carried, tail, journal)
        except BaseException:
            os.close(reader)
            if journal >= 0:
                os.close(journal)
            # An interrupt may come after the rename: then the journal tells the next command.
            if disk.identity(self.session)[0] != new.inode:
                self._undo(self.path_of(replaced))
            raise
        self._former[self.state.inode] = self.descriptor
        self.descriptor = reader
        replaced = replace(replaced, carried=carried, name=replaced.name if is_named else "")
        self.state = replace(after, olds=(*after.olds[:-1], replaced))
        self._see_on_disk(new, journal)

    def replacing(self, new: Draft, olds: list[Old], kept: int, start: int, carried: int) -> State:
        """What the session will be when a copy has taken its place.

        Args:
            new: the copy.
            olds: the files before the present one, as they are in it.
            kept: how many of its bytes come before all lines of former files.
            start: from where on the present file is in it as it is.
            carried: up to where.
        """
        name = os.path.basename(disk.next_old(self.session))
        mark = crc32(disk.tail_before(new.descriptor, kept))
        present = Old(name, self.state.inode, start, carried)
        return State(new.inode, kept, mark, (*olds, present))

    def _link(self, second: str) -> bool:
        """Give the file a name that outlasts the rename; False where there are no such names."""
        if not disk.link(self.session, second):
            return False  # the file is then held by nothing but this process
        if disk.identity(second)[0] != self.state.inode:
            raise _replaced(self.session)
        return True

    def _follow_and_rename(self, new: Draft, carried: int, tail: bytes, journal: int) -> int:
        """Copy what is appended until a moment with nothing to copy, which is the rename's."""
        for _ in range(_ROUNDS):
            size = disk.size(self.descriptor)
            # Clients take their last rows back: what was copied has to be there still.
            there = disk.read_at(self.descriptor, len(tail), carried - len(tail))
            if size < carried or there != tail:
                raise changed_meanwhile(self.session)
            end = disk.after_last_line_break(self.descriptor, carried, size)
            if end > carried:
                disk.copy(self.descriptor, carried, end, new.descriptor)
                length = min(end - carried, len(tail) or end)
                tail = disk.read_at(new.descriptor, length, disk.size(new.descriptor) - length)
                carried = end
                continue
            os.lseek(journal, 0, os.SEEK_SET)
            disk.write_all(journal, b"%0*d" % (_DIGITS, carried))
            # Asked by name: others write to what has the name, not to what we opened.
            inode, size_now = disk.identity(self.session)
            if inode != self.state.inode:
                raise _replaced(self.session)
            if size_now == size:
                disk.system.replace(new.path, self.session)
                return carried
        raise RewriteError(
            f"{self.session} is being written faster than it can be followed: end the program that"
            " writes it"
        )

    def _undo(self, second: str) -> None:
        """Take the second name away, whichever file got it, as long as it is a second one."""
        if disk.identity(second)[0] == disk.identity(self.session)[0]:
            disk.remove(second)
        self.note()

    def _see_on_disk(self, new: Draft, journal: int) -> None:
        try:
            disk.system.fsync(journal)
            disk.system.fsync(new.descriptor)
            disk.sync_folder(self.session)
        except OSError as error:
            raise RewriteError(
                f"{self.session} was rewritten, but the disk does not say that it holds it"
                f" ({error.strerror or error}): what it was is still beside it"
            ) from error
        finally:
            os.close(journal)

    def drop(self, old: Old) -> None:
        """Let go of a former file to which nothing can come any more."""
        if old.name:
            disk.remove(self.path_of(old))
        os.close(self._former.pop(old.inode))
        self.state = self.state.without(old)
        self._mark()

    def note(self) -> None:
        """Write down the present state; without former files there is nothing to write."""
        if self.state.olds:
            os.close(_write_journal(self.session, self.state, self.state))
        else:
            disk.remove(disk.beside(self.session, "swap"))


def _write_journal(session: str, before: State, after: State) -> int:
    """Put the journal beside the session; the caller closes the descriptor.

    Raises:
        OSError: it cannot be written; the one before still holds.
    """
    last = after.olds[-1].carried if after.olds else 0
    text = json.dumps({"v": FORMAT, "before": asdict(before), "after": asdict(after)})
    data = b"%0*d\n%s\n" % (_DIGITS, last, text.encode())
    return disk.put_file(disk.beside(session, "swap"), disk.beside(session, "swap-new"), data)


def _read_journal(session: str) -> tuple[State, State] | None:
    """The journal beside a session, before and after a swap; None without one.

    Raises:
        RewriteError: it cannot be understood; what it tells about is then left alone.
    """
    path = disk.beside(session, "swap")
    try:
        with open(path, "rb") as file:
            figure, _, text = file.read().partition(b"\n")
        stored = json.loads(text)
        if stored["v"] in (1, FORMAT):
            before, after = _parsed_state(stored["before"]), _parsed_state(stored["after"])
            if after.olds:
                last = replace(after.olds[-1], carried=int(figure))
                after = replace(after, olds=(*after.olds[:-1], last))
            return before, after
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise RewriteError(
        f"{path} cannot be understood, and it says which late lines the files beside it hold:"
        " update brimline, or look through them and move them away"
    )


def _parsed_state(stored: dict[str, Any]) -> State:
    """A state; brimline 0.x before this one noted no `kept`: its places are not known again."""
    olds = [
        Old(old["name"], old["inode"], old["start"], old["carried"], old.get("gap", 0))
        for old in stored["olds"]
        if disk.is_old(old["name"])
    ]
    return State(stored["inode"], stored.get("kept", -1), stored.get("mark", 0), tuple(olds))


def changed_meanwhile(session: str) -> RewriteError:
    """What says that others worked on the session too."""
    return RewriteError(
        f"{session} was changed by another program while it was being copied: nothing was swapped,"
        " try again"
    )


def _replaced(session: str) -> RewriteError:
    return RewriteError(
        f"{session} was replaced or removed by another program while it was being copied: nothing"
        " was swapped, try again"
    )
