"""Puts files into the store whole or not at all, and keeps the store's own time.

Fast path: imports only `time`, `brimline.fastio` and `brimline.store.layout`.

Store time never runs backwards: where the clock is behind the time of the last put, that time is
used instead. Otherwise content stored while the clock was wrong would look old once it is right.
"""

from __future__ import annotations

import time

from brimline import fastio
from brimline.store import layout

_CREATE = (
    fastio.system.O_WRONLY
    | fastio.system.O_CREAT
    | fastio.system.O_EXCL
    | getattr(fastio.system, "O_CLOEXEC", 0)
    | getattr(fastio.system, "O_BINARY", 0)
)
_ATTEMPTS = 4
# File systems keep times more coarsely than the clock tells them.
_TOLERANCE_NS = 2_000_000_000


def place(
    home_dir: str, target: str, data: bytes, *, stamp_ns: int | None = None, sync: bool = False
) -> None:
    """Write a file beside its place and move it there; readers see all of it or none of it.

    With `sync` its content is on the disk before its name is. The name follows with the file
    system's own journal, ahead of anything written later, such as a transcript that mentions it.

    Raises:
        OSError: the disk is full, the folder cannot be written, …
    """
    temporary = write_aside(home_dir, data, stamp_ns=stamp_ns, sync=sync)
    try:
        move(temporary, target)
    except OSError:
        fastio.remove(temporary)
        raise


def write_aside(home_dir: str, data: bytes, *, stamp_ns: int | None, sync: bool) -> str:
    """Write a temporary file of the store, whole; returns its path.

    Raises:
        OSError: it could not be written; nothing is left behind.
    """
    system = fastio.system
    path, descriptor = _create(home_dir)
    try:
        try:
            written = 0
            while written < len(data):
                written += system.write(descriptor, memoryview(data)[written:])
            if sync:
                system.fsync(descriptor)
        finally:
            system.close(descriptor)
        if stamp_ns is not None:
            system.utime(fastio.to_bytes(path), ns=(stamp_ns, stamp_ns))
    except OSError:
        fastio.remove(path)
        raise
    return path


def move(source: str, target: str) -> None:
    """Give a file its final name, creating the folder for it where that is missing."""
    try:
        fastio.system.replace(fastio.to_bytes(source), fastio.to_bytes(target))
    except FileNotFoundError:
        fastio.make_folders(target.rpartition("/")[0])
        fastio.system.replace(fastio.to_bytes(source), fastio.to_bytes(target))


def now_ns(home_dir: str) -> int:
    """The present in store time, in nanoseconds since 1970."""
    now = time.time_ns()
    try:
        last = fastio.system.stat(fastio.to_bytes(layout.last_key(home_dir))).st_mtime_ns
    except OSError:
        return now
    return last if last > now + _TOLERANCE_NS else now


def touch(home_dir: str, digest: str) -> bool:
    """Note that a blob is in use; False where it is not there.

    Its time always changes, so that whoever is about to remove it can tell.

    Raises:
        OSError: the time cannot be set.
    """
    path = fastio.to_bytes(layout.blob(home_dir, digest))
    try:
        before = fastio.system.stat(path).st_mtime_ns
        # A whole microsecond: some file systems keep no finer times.
        moment = max(now_ns(home_dir), before + 1_000)
        fastio.system.utime(path, ns=(moment, moment))
    except FileNotFoundError:
        return False
    return True


def _create(home_dir: str) -> tuple[str, int]:
    for _ in range(_ATTEMPTS):
        path = layout.fresh_name(home_dir, "tmp")
        try:
            return path, fastio.system.open(fastio.to_bytes(path), _CREATE, 0o600)
        except FileExistsError:
            continue
        except FileNotFoundError:
            fastio.make_folders(layout.tmp_dir(home_dir))
            _note_format(home_dir)
    raise OSError("the folder for temporary files of the store cannot be created")


def _note_format(home_dir: str) -> None:
    fastio.create_exclusively(layout.format_file(home_dir), b"%d\n" % layout.FORMAT)
