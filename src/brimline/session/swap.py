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

import contextlib
import json
import os
import stat
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.session import disk
from brimline.session.disk import Draft, Fingerprint, RewriteError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

_FORMAT = 3
_DIGITS = 20
_NOTHING = Fingerprint(0, "")
# Each round follows a write of somebody else; a hundred in a row within microseconds is a flood.
_ROUNDS = 100


class Old(NamedTuple):
    """A file that was the session: how much of it the session holds, and where the rest belongs."""

    name: str
    carried: int
    place: int


class State(NamedTuple):
    """The file that is the session, what we wrote of it, and the files it was, the oldest first."""

    inode: int
    content: Fingerprint = _NOTHING
    olds: tuple[Old, ...] = ()


@contextlib.contextmanager
def locked_chain(session: str) -> Iterator[Chain]:
    """A session under its lock, with its former files known and in their places.

    Raises:
        BusyError: another command is rewriting it.
        RewriteError: it is not there, no plain file, or cannot be read.
        OSError: the disk refused.
    """
    with disk.hold_session_lock(session):
        chain = Chain(session)
        try:
            chain.load_journal()
            yield chain
        finally:
            chain.close()


class Chain:
    """The session and its former files; only for the process that holds the session's lock."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.descriptor = _open_plain_file(session)
        self.state = State(os.fstat(self.descriptor).st_ino)
        self.late_lines = 0
        self._former: dict[str, int] = {}

    def close(self) -> None:
        """Close every file."""
        for descriptor in (self.descriptor, *self._former.values()):
            os.close(descriptor)

    def former_descriptor(self, old: Old) -> int:
        """A descriptor of a file that was the session."""
        if old.name not in self._former:
            self._former[old.name] = disk.open_nonblocking_to_read(self.former_path(old))
        return self._former[old.name]

    def former_path(self, old: Old) -> str:
        """Where a file that was the session is kept."""
        return os.path.join(os.path.dirname(self.session), old.name)

    def load_journal(self) -> None:
        """Take up what an earlier command left."""
        for leftover in ("new", "backup", "second", "swap-new"):
            disk.remove(disk.path_beside(self.session, leftover))
        states = _read_journal(self.session)
        if not states:
            return
        self._remove_second_name(states[-1].olds)
        inode = self.state.inode
        noted = next((state for state in states if state.inode == inode), states[-1])
        there = [old for old in noted.olds if os.path.lexists(self.former_path(old))]
        olds = [self._old_with_carried_clipped(old) for old in there]
        self.state = State(inode, noted.content, tuple(olds))
        if olds and not self._begins_with_what_we_wrote():
            # Others rewrote the session meanwhile: what is still to come belongs at its end.
            end = disk.last_line_end_offset(self.descriptor, 0, disk.file_size(self.descriptor))
            olds = [old._replace(place=end) for old in olds]
            self.state = State(inode, disk.fingerprint_of(self.descriptor, end), tuple(olds))

    def _remove_second_name(self, olds: Iterable[Old]) -> None:
        """Take away what was to be the former file's name: the rename did not come."""
        present = disk.inode_and_size(self.session)[0]
        for old in olds:
            if disk.inode_and_size(self.former_path(old))[0] == present:
                disk.remove(self.former_path(old))

    def _old_with_carried_clipped(self, old: Old) -> Old:
        """A former file; where others took rows back from it, less of it was carried over."""
        return old._replace(carried=min(old.carried, disk.file_size(self.former_descriptor(old))))

    def _begins_with_what_we_wrote(self) -> bool:
        """Whether the session still begins with what we wrote, up to the last place in it."""
        content = self.state.content
        is_whole = self.state.olds[-1].place <= disk.file_size(self.descriptor)
        return is_whole and disk.fingerprint_of(self.descriptor, content.length) == content

    def merge_former_files(self, calm: Collection[str]) -> bool:
        """Carry over what came to former files; whether something came.

        Only complete lines, but from those that are calm.
        """
        ends = [self._end_to_carry(old, takes_torn=old.name in calm) for old in self.state.olds]
        if ends == [old.carried for old in self.state.olds]:
            return False
        at, olds = 0, []
        with self.create_draft() as new:
            for old, end in zip(self.state.olds, ends, strict=True):
                disk.copy_and_count_lines(self.descriptor, at, old.place, new)
                former = self.former_descriptor(old)
                self.late_lines += disk.copy_and_count_lines(former, old.carried, end, new)
                olds.append(Old(old.name, end, new.length))
                at = old.place
            stop = disk.last_line_end_offset(self.descriptor, at, disk.file_size(self.descriptor))
            tail = disk.bytes_before(self.descriptor, stop)
            disk.copy_and_count_lines(self.descriptor, at, stop, new)
            self.put_draft_in_place(new, olds, stop, tail)
        return True

    def _end_to_carry(self, old: Old, *, takes_torn: bool) -> int:
        """Up to where a former file is carried over."""
        descriptor = self.former_descriptor(old)
        size = max(disk.file_size(descriptor), old.carried)
        return size if takes_torn else disk.last_line_end_offset(descriptor, old.carried, size)

    def create_draft(self) -> Draft:
        """A new file for the session."""
        return Draft(disk.path_beside(self.session, "new"))

    def put_draft_in_place(self, new: Draft, olds: list[Old], carried: int, tail: bytes) -> None:
        """Put a copy in the session's place; what others append until then goes along.

        Args:
            new: the copy.
            olds: the files before the present one, as they are in it.
            carried: up to where the present one is in it.
            tail: the bytes of the present one just before that place.

        Raises:
            RewriteError: the session was changed by others in a way that cannot be followed.
            OSError: the disk refused. The session is what it was, unless the rename came before.
        """
        name = os.path.basename(disk.path_beside(self.session, f"old-{self.state.inode}"))
        present = Old(name, carried, new.length)
        after = State(new.inode, new.fingerprint_so_far, (*olds, present))
        self._copy_mode_owner_time(new)
        disk.system.fsync(new.descriptor)
        reader = disk.open_nonblocking_to_read(new.path)
        try:
            _write_journal(self.session, self.state, after)
            disk.hard_link_ignore_unsupported(self.session, self.former_path(present))
            carried = self._copy_late_lines_then_rename(new, carried, tail)
        except BaseException:
            os.close(reader)
            # An interrupt may come after the rename: then the journal tells the next command.
            if disk.inode_and_size(self.session)[0] != new.inode:
                self._remove_second_name([present])
                self.write_or_remove_journal()
            raise
        self._former[name], self.descriptor = self.descriptor, reader
        present = Old(name, carried, new.length)
        self.state = State(new.inode, new.fingerprint_so_far, (*olds, present))
        disk.system.fsync(new.descriptor)
        self.write_or_remove_journal()
        disk.sync_folder_of(self.session)

    def _copy_mode_owner_time(self, new: Draft) -> None:
        """Keep mode and owner, and the time: a session is as old as its last line."""
        status = os.fstat(self.descriptor)
        os.chmod(new.path, stat.S_IMODE(status.st_mode) & 0o777)
        with contextlib.suppress(PermissionError):  # then it is ours, and that is fine
            os.chown(new.path, status.st_uid, status.st_gid)
        files = [self.descriptor, *map(self.former_descriptor, self.state.olds)]
        moment = max(os.fstat(file).st_mtime_ns for file in files)
        os.utime(new.path, ns=(moment, moment))

    def _copy_late_lines_then_rename(self, new: Draft, carried: int, tail: bytes) -> int:
        """Copy what is appended until a moment with nothing to copy, which is the rename's."""
        for _ in range(_ROUNDS):
            size = disk.file_size(self.descriptor)
            # Clients take their last rows back: what was copied has to be there still.
            if os.pread(self.descriptor, len(tail), carried - len(tail)) != tail:
                raise changed_meanwhile_error(self.session)
            end = disk.last_line_end_offset(self.descriptor, carried, size)
            if end > carried:
                late = os.pread(self.descriptor, end - carried, carried)
                carried += new.write(late)
                tail = (tail + late)[-disk.TAIL_BYTES :]
                continue
            _write_carried_to_journal(self.session, carried)
            # Asked by name: others write to what has the name, not to what we opened.
            inode, size_now = disk.inode_and_size(self.session)
            if inode != self.state.inode:
                raise RewriteError(
                    f"{self.session} was replaced or removed by another program while it was being"
                    " copied: nothing was swapped, try again"
                )
            if size_now == size:
                disk.system.replace(new.path, self.session)
                return carried
        raise RewriteError(
            f"{self.session} is being written faster than it can be followed: end the program that"
            " writes it"
        )

    def drop_former_file(self, old: Old) -> None:
        """Let go of a former file to which nothing can come any more."""
        disk.remove(self.former_path(old))
        os.close(self._former.pop(old.name))
        self.state = self.state._replace(olds=tuple(o for o in self.state.olds if o != old))

    def write_or_remove_journal(self) -> None:
        """Write down the present state; without former files there is nothing to write."""
        if self.state.olds:
            _write_journal(self.session, self.state, self.state)
        else:
            disk.remove(disk.path_beside(self.session, "swap"))


def _open_plain_file(session: str) -> int:
    try:
        descriptor = disk.open_nonblocking_to_read(session)
    except OSError as error:
        raise RewriteError(f"{session} cannot be read: {error.strerror or error}") from error
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise RewriteError(f"{session} is no plain file: name a session's .jsonl file")


def _write_journal(session: str, before: State, after: State) -> None:
    """Put the journal beside the session.

    Raises:
        OSError: it cannot be written; the one before still holds.
    """
    states = {"before": _chain_state_dict(before), "after": _chain_state_dict(after)}
    text = json.dumps({"v": _FORMAT} | states)
    data = b"%0*d\n%s\n" % (_DIGITS, after.olds[-1].carried, text.encode())
    path = disk.path_beside(session, "swap")
    disk.write_file_atomically(path, disk.path_beside(session, "swap-new"), data)


def _chain_state_dict(state: State) -> dict[str, Any]:
    return state._asdict() | {"olds": [old._asdict() for old in state.olds]}


def _write_carried_to_journal(session: str, carried: int) -> None:
    """Settle how many bytes of the replaced file went along."""
    with open(disk.path_beside(session, "swap"), "r+b") as file:
        disk.system.write(file.fileno(), b"%0*d" % (_DIGITS, carried))


def _read_journal(session: str) -> list[State]:
    """The states before and after a swap; none without a journal.

    Raises:
        RewriteError: it cannot be understood; what it tells about is then left alone.
    """
    path = disk.path_beside(session, "swap")
    try:
        with open(path, "rb") as file:
            figure, _, text = file.read().partition(b"\n")
        stored = json.loads(text)
        if stored["v"] == _FORMAT:
            return [_parse_state(stored["before"]), _parse_state(stored["after"], int(figure))]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise RewriteError(
        f"{path} cannot be understood, and it says which late lines the files beside it hold:"
        " update brimline, or look through them and move them away"
    )


def _parse_state(stored: dict[str, Any], carried: int | None = None) -> State:
    """A state, with the figure that was settled last."""
    olds = [Old(**old) for old in stored["olds"] if disk.is_former_file_name(old["name"])]
    if olds and carried is not None:
        last = olds.pop()
        olds.append(Old(last.name, carried, last.place + carried - last.carried))
    return State(stored["inode"], Fingerprint(*stored["content"]), tuple(olds))


def changed_meanwhile_error(session: str) -> RewriteError:
    """What says that others worked on the session too."""
    return RewriteError(
        f"{session} was changed by another program while it was being copied: nothing was swapped,"
        " try again"
    )
