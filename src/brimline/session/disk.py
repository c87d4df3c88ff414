"""The files of a rewrite: their names beside a session, its lock, and the system calls on them.

None of the names ends in `.jsonl`. Everything that writes goes through `system`, so that a test can
fail each call, or stop the machine at it.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.errors import BrimlineError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Tests put a disk here that is full, or a machine that stops in the middle.
system: Any = os

BLOCK_BYTES = 1 << 20
_LOOK_BYTES = 1 << 16
_MARK = ".brimline-"
_OURS = re.compile(
    r"^(?P<session>.+)\.brimline-(?:lock|swap|swap-new|new|backup|second|old-\d+)$", re.DOTALL
)
_COMMON = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# Not waiting: a named pipe in the place of a session must not hold a command up.
_READ = os.O_RDONLY | _COMMON | getattr(os, "O_NONBLOCK", 0)
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | _COMMON
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


class Content(NamedTuple):
    """So many bytes with this SHA-256."""

    length: int
    digest: str


def beside(session: str, kind: str) -> str:
    """The name of a file of ours: `lock`, `swap`, `old-<n>`, and unfinished `new`, `backup`…"""
    return f"{session}{_MARK}{kind}"


def next_old(session: str) -> str:
    """The first free name for a file that was the session until a rewrite."""
    number = 1
    while os.path.lexists(beside(session, f"old-{number}")):
        number += 1
    return beside(session, f"old-{number}")


def session_of(name: str) -> str | None:
    """The session that a file of ours belongs to, or None for any other file."""
    found = _OURS.match(name)
    return found["session"] if found else None


def is_old(name: str) -> bool:
    """Whether this is the name, without a folder, of a file that was a session."""
    is_ours = session_of(name) is not None and os.path.basename(name) == name
    return is_ours and name.rpartition(_MARK)[2].startswith("old-")


@contextlib.contextmanager
def locked(session: str) -> Iterator[None]:
    """Hold a session's lock; that of a process that died is free again.

    Raises:
        BusyError: another process holds it.
        RewriteError: the file system cannot lock.
    """
    name = beside(session, "lock")
    descriptor = _take_lock(session, name)
    try:
        yield
    finally:
        try:
            # While it is still ours: the next owner's file must not be the one that goes.
            remove(name)
        finally:
            os.close(descriptor)


def _take_lock(session: str, name: str) -> int:
    for _ in range(100):
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | _COMMON, 0o600)
        try:
            _lock(descriptor, session)
            # The owner before us may have removed the file that we just opened.
            if identity(name)[0] == os.fstat(descriptor).st_ino:
                os.ftruncate(descriptor, 0)
                os.write(descriptor, b"%d\n" % os.getpid())
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise BusyError(f"{session} is being rewritten by other brimline commands: try again later")


def _lock(descriptor: int, session: str) -> None:
    try:
        if os.name == "nt":  # pragma: no cover - Windows
            import importlib

            runtime = importlib.import_module("msvcrt")
            runtime.locking(descriptor, runtime.LK_NBLCK, 1)
            return
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        pid = read_at(descriptor, 32, 0).strip()
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


def open_for_reading(path: str) -> int:
    """A descriptor; the caller sees to it that this is a file."""
    descriptor: int = system.open(path, _READ)
    return descriptor


def create(path: str) -> int:
    """A new file, readable and writable, in the place of whatever had the name."""
    remove(path)
    return create_new(path)


def create_new(path: str) -> int:
    """The same where there must be none of that name."""
    descriptor: int = system.open(path, _CREATE, 0o600)
    return descriptor


class Draft:
    """A file of ours in the making, beside a session; it goes away with its temporary name."""

    def __init__(self, session: str, kind: str) -> None:
        self.path = beside(session, kind)
        self.descriptor = create(self.path)
        self.inode = os.fstat(self.descriptor).st_ino

    def close(self) -> None:
        """Give up the descriptor, and the name where it still is the file's."""
        os.close(self.descriptor)
        if identity(self.path)[0] == self.inode:
            remove(self.path)


def put_file(path: str, temporary: str, data: bytes) -> int:
    """Put a small file on the disk in one step; the caller closes the descriptor.

    Raises:
        OSError: it cannot be written; the one before still holds.
    """
    descriptor = create(temporary)
    try:
        write_all(descriptor, data)
        system.fsync(descriptor)
        system.replace(temporary, path)
    except BaseException:
        os.close(descriptor)
        remove(temporary)
        raise
    return descriptor


def size(descriptor: int) -> int:
    """The length of an open file."""
    length: int = system.fstat(descriptor).st_size
    return length


def identity(path: str) -> tuple[int | None, int]:
    """The number of the file that a name stands for, and its length; None and 0 without one."""
    try:
        found = system.stat(path)
    except FileNotFoundError:
        return None, 0
    return found.st_ino, found.st_size


def read_at(descriptor: int, count: int, offset: int) -> bytes:
    """Up to `count` bytes from an offset."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, count, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)  # pragma: no cover - Windows
    return os.read(descriptor, count)  # pragma: no cover - Windows


def tail_before(descriptor: int, offset: int) -> bytes:
    """The bytes just before an offset, by which the place is known again."""
    begin = max(0, offset - 4096)
    return read_at(descriptor, offset - begin, begin)


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write everything at the descriptor's place."""
    left = memoryview(data)
    while left:
        left = left[system.write(descriptor, left) :]


def blocks(descriptor: int, start: int, end: int) -> Iterator[bytes]:
    """A range of a file, as far as it goes."""
    while start < end and (block := read_at(descriptor, min(BLOCK_BYTES, end - start), start)):
        yield block
        start += len(block)


def copy(source: int, start: int, end: int, target: int, hashed: Any = None) -> None:
    """Add a range of one file to another, and to a hash.

    Raises:
        OSError: the source ends before `end`.
    """
    for block in blocks(source, start, end):
        write_all(target, block)
        if hashed:
            hashed.update(block)
        start += len(block)
    if start < end:
        raise OSError(errno.EIO, "the file became shorter while it was copied")


def content_of(descriptor: int) -> Content:
    """What a file holds, read from the disk."""
    hashed, length = sha256(), size(descriptor)
    for block in blocks(descriptor, 0, length):
        hashed.update(block)
    return Content(length, hashed.hexdigest())


def same(one: int, one_start: int, other: int, other_start: int, count: int) -> bool:
    """Whether two ranges hold the same bytes."""
    done = 0
    for block in blocks(one, one_start, one_start + count):
        if block != read_at(other, len(block), other_start + done):
            return False
        done += len(block)
    return done == max(0, count)


def after_last_line_break(descriptor: int, start: int, end: int) -> int:
    """Where the last complete line of a range ends; `start` where it holds none."""
    while end > start:
        begin = max(start, end - _LOOK_BYTES)
        found = read_at(descriptor, end - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return start


def sync_folder(path: str) -> None:
    """See that the names in a file's folder are on the disk, where the system can do that."""
    try:
        descriptor = os.open(os.path.dirname(path) or ".", os.O_RDONLY | _COMMON)
    except OSError:  # pragma: no cover - Windows opens no folders
        return
    try:
        system.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def link(path: str, second: str) -> bool:
    """Give a file a second name; False where the file system knows none."""
    try:
        system.link(path, second)
    except OSError as error:
        if error.errno in _NO_LINKS:
            return False
        raise
    return True


def remove(path: str) -> None:
    """Take a name away; one that is gone already is fine."""
    with contextlib.suppress(FileNotFoundError):
        system.unlink(path)


def nobody_writes(descriptor: int) -> bool | None:
    """Whether no process has a file open for writing; None where the system cannot tell.

    A read lease is granted on exactly that condition. Only for files that nobody can open anew:
    an opener would be held up as long as the lease lasts.
    """
    try:
        import fcntl

        request, wanted, back = fcntl.F_SETLEASE, fcntl.F_RDLCK, fcntl.F_UNLCK
    except (ImportError, AttributeError):  # pragma: no cover - Windows, macOS
        return None
    try:
        fcntl.fcntl(descriptor, request, wanted)
    except BlockingIOError:
        return False
    except OSError:
        return None
    fcntl.fcntl(descriptor, request, back)
    return True


class Sink(io.RawIOBase):
    """Adds to an open file, hashes what it adds, and leaves the file open."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._hash = sha256()
        self._length = 0

    @property
    def content(self) -> Content:
        """What was added so far."""
        return Content(self._length, self._hash.hexdigest())

    def writable(self) -> bool:
        """It is for writing."""
        return True

    def write(self, data: Any) -> int:
        """Write all or raise."""
        write_all(self._descriptor, data)
        self._hash.update(data)
        self._length += len(data)
        return len(data)
