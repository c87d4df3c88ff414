"""The files of a rewrite: their names beside a session, its lock, and the system calls on them.

None of the names ends in `.jsonl`. Everything that writes goes through `system`, so that a test can
fail each call, or stop the machine at it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
from hashlib import sha256
from io import RawIOBase
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.errors import BrimlineError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Tests put a disk here that is full, or a machine that stops in the middle.
system: Any = os

BLOCK_BYTES = 1 << 20
TAIL_BYTES = 1 << 12
_LOOK_BYTES = 1 << 16
_MARK = ".brimline-"
_OURS = re.compile(
    r"^(?P<session>.+)\.brimline-(?:lock|swap|swap-new|new|backup|second|old-\d+)$", re.DOTALL
)
# Not waiting: a named pipe in the place of a session must not hold a command up.
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class RewriteError(BrimlineError):
    """A session cannot be rewritten, or the copy made of it is not sound; nothing was swapped."""


class InUseError(RewriteError):
    """The session is in use: its client still runs, or it was written a moment ago."""

    exit_code = 3


class BusyError(RewriteError):
    """Another brimline command is rewriting the session."""

    exit_code = 4


class RewrittenError(RewriteError):
    """The session was rewritten and can be put back; only the work after that was cut short."""

    exit_code = 5


class Fingerprint(NamedTuple):
    """So many bytes with this SHA-256."""

    length: int
    digest: str


def path_beside(session: str, kind: str) -> str:
    """The name of a file of ours: `lock`, `swap`, `old-<n>`, and unfinished `new`, `backup`…"""
    return f"{session}{_MARK}{kind}"


def session_of_our_file(name: str) -> str | None:
    """The session that a file of ours belongs to, or None for any other file."""
    found = _OURS.match(name)
    return found["session"] if found else None


def is_former_file_name(name: str) -> bool:
    """Tell whether this is the name, without a folder, of a file that was a session."""
    is_ours = session_of_our_file(name) is not None and os.path.basename(name) == name
    return is_ours and name.rpartition(_MARK)[2].startswith("old-")


@contextlib.contextmanager
def hold_session_lock(session: str) -> Iterator[None]:
    """Hold a session's lock; that of a process that died is free again.

    Raises:
        BusyError: another process holds it.
        RewriteError: the file system cannot lock.
    """
    name = path_beside(session, "lock")
    for _ in range(100):
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            _lock_or_raise(descriptor, session)
            # The owner before us may have removed the file that we just opened.
            if inode_and_size(name)[0] != os.fstat(descriptor).st_ino:
                continue
            try:
                file.truncate(0)
                file.write(b"%d\n" % os.getpid())
                yield
            finally:
                # While it is still ours: the next owner's file must not be the one that goes.
                remove(name)
            return
    raise BusyError(f"{session} is being rewritten by other brimline commands: try again later")


def _lock_or_raise(descriptor: int, session: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        pid = os.pread(descriptor, 32, 0).strip()
        owner = f" (process {pid.decode()})" if pid.isdigit() else ""
        raise BusyError(
            f"{session} is being rewritten by another brimline command{owner}: try again when it is"
            " done"
        ) from None
    except OSError as error:
        raise RewriteError(
            f"files in {os.path.dirname(session)} cannot be locked ({error.strerror}): copy the"
            " session to another folder and rewrite it there"
        ) from error


class Draft(RawIOBase):
    """A file of ours in the making, which hashes what is added; it goes with its temporary name.

    Closing it as a stream ends nothing: leaving its `with` does.
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        remove(path)
        self.path = path
        self.descriptor: int = system.open(path, _CREATE, 0o600)
        self.inode = os.fstat(self.descriptor).st_ino
        self.length = 0
        self._hash = sha256()

    def __exit__(self, *_: object) -> None:
        """Give up the descriptor, and the name where it still is the file's."""
        os.close(self.descriptor)
        if inode_and_size(self.path)[0] == self.inode:
            remove(self.path)

    @property
    def fingerprint_so_far(self) -> Fingerprint:
        """What was added so far."""
        return Fingerprint(self.length, self._hash.hexdigest())

    def writable(self) -> bool:
        """It is for writing."""
        return True

    def write(self, data: Any) -> int:
        """Add all of it or raise."""
        left = memoryview(data)
        while left:
            left = left[system.write(self.descriptor, left) :]
        self._hash.update(data)
        self.length += len(data)
        return len(data)


def write_file_atomically(path: str, temporary: str, data: bytes) -> None:
    """Put a small file on the disk in one step.

    Raises:
        OSError: it cannot be written; the one before still holds.
    """
    with Draft(temporary) as draft:
        draft.write(data)
        system.fsync(draft.descriptor)
        system.replace(temporary, path)


def open_nonblocking_to_read(path: str) -> int:
    """A descriptor; the caller sees to it that this is a file."""
    return os.open(path, _READ)


def file_size(descriptor: int) -> int:
    """The length of an open file."""
    return os.fstat(descriptor).st_size


def inode_and_size(path: str) -> tuple[int | None, int]:
    """The number of the file that a name stands for, and its length; None and 0 without one."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None, 0
    return found.st_ino, found.st_size


def bytes_before(descriptor: int, offset: int) -> bytes:
    """The bytes just before an offset, by which the place is known again."""
    begin = max(0, offset - TAIL_BYTES)
    return os.pread(descriptor, offset - begin, begin)


def read_blocks(descriptor: int, start: int, end: int) -> Iterator[bytes]:
    """A range of a file, as far as it goes."""
    while start < end and (block := os.pread(descriptor, min(BLOCK_BYTES, end - start), start)):
        yield block
        start += len(block)


def copy_and_count_lines(source: int, start: int, end: int, target: Draft) -> int:
    """Add a range of a file to a draft; returns how many line breaks it has.

    Raises:
        OSError: the file ends before `end`.
    """
    lines = 0
    for block in read_blocks(source, start, end):
        start += target.write(block)
        lines += block.count(b"\n")
    if start < end:
        raise OSError(errno.EIO, "the file became shorter while it was copied")
    return lines


def fingerprint_of(descriptor: int, length: int) -> Fingerprint:
    """The first bytes of a file, as many as there are, read from the disk."""
    hashed, count = sha256(), 0
    for block in read_blocks(descriptor, 0, length):
        hashed.update(block)
        count += len(block)
    return Fingerprint(count, hashed.hexdigest())


def last_line_end_offset(descriptor: int, start: int, end: int) -> int:
    """Where the last complete line of a range ends; `start` where it holds none."""
    while end > start:
        begin = max(start, end - _LOOK_BYTES)
        found = os.pread(descriptor, end - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return start


def sync_folder_of(path: str) -> None:
    """See that the names in a file's folder are on the disk, where the system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(os.path.dirname(path), os.O_RDONLY | os.O_CLOEXEC)
        try:
            system.fsync(descriptor)
        finally:
            os.close(descriptor)


def hard_link_ignore_unsupported(path: str, second: str) -> None:
    """Give a file a second name, unless the file system knows none."""
    try:
        system.link(path, second)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise


def remove(path: str) -> None:
    """Take a name away; one that is gone already is fine."""
    with contextlib.suppress(FileNotFoundError):
        system.unlink(path)


def has_no_writer(descriptor: int) -> bool | None:
    """Tell whether no process has a file open for writing; None where the system cannot tell.

    A read lease is granted on exactly that condition. Only for files that nobody can open anew:
    an opener would be held up as long as the lease lasts.
    """
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return False
    except (AttributeError, OSError):
        return None  # macOS, some file systems
    return True
