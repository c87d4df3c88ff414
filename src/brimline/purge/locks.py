"""Lets one command at a time rewrite a session; the lock of a process that died is free again."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from brimline.purge import disk, names
from brimline.purge.errors import BusyError, PurgeError

if TYPE_CHECKING:
    from collections.abc import Iterator

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_ATTEMPTS = 100


@contextlib.contextmanager
def held(session: str) -> Iterator[None]:
    """Hold a session's lock.

    Raises:
        BusyError: another process holds it.
        PurgeError: the file system cannot lock.
    """
    name = names.lock(session)
    descriptor = _take(session, name)
    try:
        yield
    finally:
        try:
            # While it is still ours: the next owner's file must not be the one that goes.
            disk.remove(name)
        finally:
            os.close(descriptor)


def _take(session: str, name: str) -> int:
    for _ in range(_ATTEMPTS):
        descriptor = os.open(name, _FLAGS, 0o600)
        try:
            _lock(descriptor, session)
            # The owner before us may have removed the file that we just opened.
            if disk.inode_at(name) == os.fstat(descriptor).st_ino:
                os.ftruncate(descriptor, 0)
                os.write(descriptor, b"%d\n" % os.getpid())
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise BusyError(f"{session} is being rewritten by other brimline commands: try again later")


def _lock(descriptor: int, session: str) -> None:
    """Make the file ours; the system frees it when its owner dies."""
    try:
        _system_lock(descriptor)
    except (BlockingIOError, PermissionError):
        raise BusyError(
            f"{session} is being rewritten by another brimline command{_owner(descriptor)}: try"
            " again when it is done"
        ) from None
    except OSError as error:
        folder = os.path.dirname(session)
        raise PurgeError(
            f"files in {folder} cannot be locked ({error.strerror}): copy the session to another"
            " folder and rewrite it there"
        ) from error


def _system_lock(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows
        import importlib

        runtime = importlib.import_module("msvcrt")
        runtime.locking(descriptor, runtime.LK_NBLCK, 1)
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _owner(descriptor: int) -> str:
    pid = os.pread(descriptor, 32, 0).strip() if hasattr(os, "pread") else b""
    return f" (process {pid.decode()})" if pid.isdigit() else ""
