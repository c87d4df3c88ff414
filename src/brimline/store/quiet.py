"""Reads files without leaving a trace in their access times, where the system allows it."""

from __future__ import annotations

import errno
import os
import stat

from brimline import fastio

_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# A pipe that nobody writes to must not hold up its reader; files do not mind.
_READ |= getattr(os, "O_NONBLOCK", 0)
_NO_TRACE = getattr(os, "O_NOATIME", 0)


def read(path: str, limit: int | None = None) -> bytes:
    """A whole file, or its first bytes.

    Raises:
        OSError: it cannot be read.
    """
    descriptor = open_file(path)
    try:
        return fastio.read_all(descriptor, limit)
    finally:
        os.close(descriptor)


def open_file(path: str) -> int:
    """A descriptor for reading.

    Raises:
        OSError: it cannot be opened, or is a folder, a pipe or a device.
    """
    descriptor = _opened(path)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return descriptor


def _opened(path: str) -> int:
    if _NO_TRACE:
        try:
            return os.open(path, _READ | _NO_TRACE)
        except PermissionError:  # only the owner of a file may do that
            pass
    return os.open(path, _READ)
