"""Reads an instruction file within bounds: it may be missing, huge, no text, or lead elsewhere."""

from __future__ import annotations

import errno
import os
import stat
from typing import NamedTuple

# The client reads up to four times as much, but no window has room for it.
MOST_BYTES = 1 << 20
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
# What a terminal would obey has no meaning in an instruction.
_CONTROLS = dict.fromkeys([*range(9), *range(11, 32), 127])
_OUTSIDE = "is a link that leads out of the project, and is not read"
_NOT_UTF8 = "is not all UTF-8; the rest is shown as replacement characters"


class Reading(NamedTuple):
    """The text of a file, or why there is none."""

    text: str | None
    problem: str | None = None


def read(path: str, inside: str | None = None) -> Reading | None:
    """A file's text with plain line ends, without control characters; None where there is none.

    Args:
        path: absolute.
        inside: a folder that a link must not lead out of; None trusts the path.
    """
    try:
        if inside is not None and not is_within(os.path.realpath(path), inside):
            return Reading(None, _OUTSIDE) if os.path.lexists(path) else None
        return _decoded(_read_bytes(path))
    except (FileNotFoundError, NotADirectoryError):
        return Reading(None, "is a link to nothing") if os.path.islink(path) else None
    except _UnusableError as error:
        return Reading(None, str(error))
    except (OSError, ValueError) as error:
        return Reading(None, _told(error))


def is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it; both are absolute and resolved."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


class _UnusableError(Exception):
    """What is there cannot be an instruction file."""


def _read_bytes(path: str) -> bytes:
    descriptor = os.open(path, _FLAGS)
    with open(descriptor, "rb", buffering=0) as file:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise _UnusableError("is a folder, not a file")
        if not stat.S_ISREG(found.st_mode):
            raise _UnusableError("is no regular file, and is not read")
        data = file.read(MOST_BYTES + 1) or b""
    if len(data) > MOST_BYTES:
        raise _UnusableError(f"is larger than {MOST_BYTES >> 20} MB, and is not read")
    if b"\0" in data:
        raise _UnusableError("is not a text")
    return data


def _decoded(data: bytes) -> Reading:
    try:
        text, problem = data.decode("utf-8-sig"), None
    except UnicodeDecodeError:
        text, problem = data.decode("utf-8-sig", "replace"), _NOT_UTF8
    plain = text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)
    return Reading(plain, problem)


def _told(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return "is a link that leads to itself"
    if isinstance(error, OSError) and error.errno == errno.EISDIR:
        return "is a folder, not a file"
    reason = getattr(error, "strerror", None) or str(error)
    return f"cannot be read: {reason}"
