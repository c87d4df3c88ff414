"""Reads files without leaving a trace in their access times, where the system allows it."""

from __future__ import annotations

import os

from brimline import fastio

_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
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
        OSError: it cannot be opened.
    """
    if _NO_TRACE:
        try:
            return os.open(path, _READ | _NO_TRACE)
        except PermissionError:  # only the owner of a file may do that
            pass
    return os.open(path, _READ)
