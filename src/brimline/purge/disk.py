"""The file operations of a rewrite, close to the system, so that a test can fail each of them."""

from __future__ import annotations

import errno
import io
import os
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# Tests put a disk here that is full, or a machine that stops in the middle.
system: Any = os

_BLOCK_BYTES = 1 << 20
_LOOK_BYTES = 1 << 16
_COMMON = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# Not waiting: a named pipe in the place of a session must not hold a command up.
_READ = os.O_RDONLY | _COMMON | getattr(os, "O_NONBLOCK", 0)
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | _COMMON


def open_for_reading(path: str) -> int:
    """A descriptor; the caller sees to it that this is a file."""
    descriptor: int = system.open(path, _READ)
    return descriptor


def create(path: str, mode: int = 0o600) -> int:
    """A new file, readable and writable; there must be none of that name."""
    descriptor: int = system.open(path, _CREATE, mode)
    return descriptor


def size(descriptor: int) -> int:
    """The length of an open file."""
    length: int = system.fstat(descriptor).st_size
    return length


def inode_at(path: str) -> int | None:
    """The file that a name stands for, or None without one."""
    return inode_and_size_at(path)[0]


def inode_and_size_at(path: str) -> tuple[int | None, int]:
    """The file that a name stands for, and its length; None and 0 without one."""
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


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write everything at the descriptor's place."""
    left = memoryview(data)
    while left:
        left = left[system.write(descriptor, left) :]


def copy(source: int, start: int, end: int, target: int) -> None:
    """Add a range of one file to another.

    Raises:
        OSError: the source ends before `end`.
    """
    while start < end:
        block = read_at(source, min(_BLOCK_BYTES, end - start), start)
        if not block:
            raise OSError(errno.EIO, "the file became shorter while it was copied")
        write_all(target, block)
        start += len(block)


def same(one: int, one_start: int, other: int, other_start: int, count: int) -> bool:
    """Whether two ranges hold the same bytes."""
    done = 0
    while done < count:
        step = min(_BLOCK_BYTES, count - done)
        block = read_at(one, step, one_start + done)
        if not block or block != read_at(other, len(block), other_start + done):
            return False
        done += len(block)
    return True


def after_last_line_break(descriptor: int, start: int, end: int) -> int:
    """Where the last complete line of a range ends; `start` where it holds none."""
    while end > start:
        begin = max(start, end - _LOOK_BYTES)
        found = read_at(descriptor, end - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return start


def checksum_before(descriptor: int, offset: int) -> int:
    """A mark of the bytes just before an offset, by which the place is known again."""
    begin = max(0, offset - 4096)
    return zlib.crc32(read_at(descriptor, offset - begin, begin))


def count_lines(descriptor: int, start: int, end: int) -> int:
    """Line breaks in a range, and a last line without one."""
    lines, last = 0, b"\n"
    while start < end:
        block = read_at(descriptor, min(_BLOCK_BYTES, end - start), start)
        if not block:
            break
        lines += block.count(b"\n")
        last = block[-1:]
        start += len(block)
    return lines + (last != b"\n")


def sync(descriptor: int) -> None:
    """See that a file is on the disk."""
    system.fsync(descriptor)


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
        unsupported = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
        if error.errno in unsupported:
            return False
        raise
    return True


def replace(source: str, target: str) -> None:
    """Put a file in the place of another; whoever looks sees the one or the other."""
    system.replace(source, target)


def remove(path: str) -> None:
    """Take a name away; one that is gone already is fine."""
    try:
        system.unlink(path)
    except FileNotFoundError:
        pass


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


class Source(io.RawIOBase):
    """The first `length` bytes of a file, as a stream of its own that tells how far it was read."""

    def __init__(
        self, descriptor: int, length: int, progress: Callable[[int], None] | None = None
    ) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._length = length
        self._progress = progress
        self._at = 0

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def seekable(self) -> bool:
        """It can be read twice."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a place."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._length}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as far as the file was when it was looked at."""
        room = min(len(buffer), max(0, self._length - self._at))
        block = read_at(self._descriptor, room, self._at) if room else b""
        buffer[: len(block)] = block
        self._at += len(block)
        if self._progress is not None and block:
            self._progress(len(block))
        return len(block)


class Sink(io.RawIOBase):
    """Adds to an open file, and leaves it open."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def writable(self) -> bool:
        """It is for writing."""
        return True

    def write(self, data: Any) -> int:
        """Write all or raise."""
        count = len(data)
        write_all(self._descriptor, data)
        return count
