"""Files that people and the client change too: read whole or not at all, never through a link.

A change is made from what a file holds at that moment, keeps its mode and its line ends, and is
refused where the file could not be read again afterwards.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from typing import TYPE_CHECKING

from brimline.errors import StateError
from brimline.fast import io, paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LARGEST_BYTES = 1 << 20
_TRIES = 20


def read_whole_file(path: str) -> bytes:
    """A file's whole content; empty where there is none.

    Raises:
        StateError: it is a link, no file, too large, or cannot be read.
    """
    raw = read_beginning_of_file(path, LARGEST_BYTES + 1)
    refuse_too_large(path, raw)
    return raw


def read_beginning_of_file(path: str, limit: int) -> bytes:
    """The first bytes of a file; none where there is no file.

    Raises:
        StateError: it is a link, no file, or cannot be read.
    """
    refuse_linked_folder(os.path.dirname(path))
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            raise StateError(f"{path} is a link: nothing is read or written through it")
        if not stat.S_ISREG(mode):
            raise StateError(f"{path} is not a file")
        return io.read_file(path, limit)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise StateError(f"{path} cannot be read: {error.strerror}") from error


def refuse_linked_folder(place: str) -> None:
    """Refuse a folder that is a link, unless the link is below the client's own folder.

    Raises:
        StateError: it is one.
    """
    if os.path.islink(place) and not place.startswith(f"{paths.client_config_dir()}/"):
        raise StateError(f"{place} is a link: let `autoMemoryDirectory` name where it leads")


def refuse_too_large(path: str, data: bytes) -> None:
    """Refuse what could not be read whole.

    Raises:
        StateError: it is too large.
    """
    if len(data) > LARGEST_BYTES:
        raise StateError(f"{path} is larger than {LARGEST_BYTES:,} bytes: nothing was changed")


def decode_lines(raw: bytes) -> list[str]:
    """The lines of a file, without their ends."""
    text = raw.decode("utf-8", "surrogateescape").replace("\r\n", "\n").rstrip("\n")
    return text.split("\n") if text else []


def change_lines(path: str, changed: Callable[[list[str]], list[str]]) -> None:
    """Change a file by its lines, from what it holds at that moment.

    Raises:
        StateError: it cannot be read whole, or is changed by somebody else all the time.
    """
    for _ in range(_TRIES):
        before = read_whole_file(path)
        now = decode_lines(before)
        after = changed(list(now))
        text = "".join([f"{line}\n" for line in after])
        if after == now or try_replace_if_unchanged(path, before, text):
            return
    raise StateError(f"{path} is being changed by another program: try again")


def try_replace_if_unchanged(path: str, before: bytes, text: str) -> bool:
    """Put a new file in the place of one that still holds what was seen.

    Raises:
        StateError: either of them cannot be read whole.
    """
    end = "\r\n" if before.partition(b"\n")[0].endswith(b"\r") else "\n"
    data = text.replace("\n", end).encode("utf-8", "surrogateescape")
    refuse_too_large(path, data)
    with _hold_folder_lock(os.path.dirname(path)):
        if read_whole_file(path) != before:
            return False
        temporary = f"{path}.{os.getpid()}.{time.monotonic_ns()}.tmp"
        io.create_exclusively(temporary, data)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.chmod(temporary, stat.S_IMODE(os.lstat(path).st_mode))
            os.replace(temporary, path)
        except BaseException:
            io.remove(temporary)
            raise
    return True


@contextlib.contextmanager
def _hold_folder_lock(place: str) -> Iterator[None]:
    """Let one process of ours at a time compare and replace; it ends with the process."""
    lock = f"{paths.data_dir()}/memory/{paths.path_fingerprint(place)}.lock"
    io.create_exclusively(lock, b"")
    with open(os.open(lock, io.READ), "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
