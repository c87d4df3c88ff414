"""The client's settings file on disk: changed whole, with a backup, and nobody's edit lost."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import stat
import time
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from brimline.errors import InstallError, reason
from brimline.fast import io

if TYPE_CHECKING:
    from collections.abc import Callable

_BOM = b"\xef\xbb\xbf"
_ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_TRIES = 5
_Done = TypeVar("_Done")


class SettingsFile(NamedTuple):
    """One settings file as it was read; `raw` is None where there is none yet."""

    path: str
    target: str
    raw: bytes | None

    @property
    def text(self) -> str:
        """The text without a byte-order mark.

        Raises:
            InstallError: it is not UTF-8.
        """
        try:
            return (self.raw or b"").removeprefix(_BOM).decode("utf-8")
        except UnicodeDecodeError as error:
            raise InstallError(f"this is not UTF-8 text ({error.reason})") from None

    def encode(self, text: str) -> bytes:
        """The bytes of a new text in this file's manner."""
        mark = _BOM if (self.raw or b"").startswith(_BOM) else b""
        return mark + text.encode("utf-8")


class ChangedMeanwhileError(InstallError):
    """Somebody else wrote the settings between our read and our write."""


class ReadOnlyError(InstallError):
    """Settings that are to be changed must not be."""


def read(path: str) -> SettingsFile:
    """Read a settings file, through a symlink if it is one.

    Raises:
        InstallError: it exists and cannot be read, or is not a regular file.
    """
    target = os.path.realpath(path)
    try:
        return SettingsFile(path, target, _read_bytes(target))
    except OSError as error:
        raise InstallError(f"cannot read {path}: {reason(error)}") from error


def require_writable(file: SettingsFile) -> None:
    """Make sure before anything else is changed that this can be.

    Raises:
        ReadOnlyError: it is read-only, or its folder is.
    """
    for path in filter(os.path.exists, (file.target, os.path.dirname(file.target))):
        # As root every file is writable; the owner's wish counts all the same.
        if not (os.stat(path).st_mode & _ANY_WRITE and os.access(path, os.W_OK)):
            raise ReadOnlyError(f"{path} is read-only: chmod u+w it first; nothing was changed")


def retry_if_changed(attempt: Callable[[], _Done]) -> _Done:
    """Do it again, from the reading on, where another program wrote the settings meanwhile.

    Raises:
        ChangedMeanwhileError: it did so every time.
    """
    for _ in range(_TRIES - 1):
        with contextlib.suppress(ChangedMeanwhileError):
            return attempt()
    return attempt()


def replace_settings(file: SettingsFile, new: bytes | None, backups: str) -> str:
    """Swap in new content if the file still is what was read; a link stays a link.

    Args:
        file: as it was read.
        new: its content; None: it is removed, and its folder if that empties it.
        backups: the folder in which the bytes as they were are kept.

    Returns:
        The backup's path; empty where there was nothing to keep.

    Raises:
        ChangedMeanwhileError: the file is not what was read; nothing was written.
        InstallError: it cannot be written, or no backup; nothing was written.
    """
    require_writable(file)
    backup = back_up_settings(file, backups)
    try:
        if new is None:
            _require_unchanged(file)
            os.unlink(file.target)
            with contextlib.suppress(OSError):  # somebody keeps something in it by now
                os.rmdir(os.path.dirname(file.target))
        else:
            _replace_by_rename(file, new)
    except OSError as error:
        raise InstallError(f"cannot write {file.path}: {reason(error)}") from error
    return backup


def back_up_settings(file: SettingsFile, folder: str) -> str:
    """Keep the bytes as they were under a name with the time; an existing backup is never replaced.

    Raises:
        InstallError: the backup cannot be written, so nothing must be changed.
    """
    if file.raw is None:
        return ""
    name = f"{folder}/{os.path.basename(file.path)}.{time.strftime('%Y%m%d_%H%M%S')}"
    path, more = name, itertools.count(1)
    try:
        while not io.create_exclusively(path, file.raw):
            path = f"{name}.{next(more)}"
    except OSError as error:
        why = f"{reason(error)}; nothing was changed"
        raise InstallError(f"cannot write the backup {path}: {why}") from error
    return path


def sha256_of_content(data: bytes) -> str:
    """A fingerprint of file content."""
    return hashlib.sha256(data).hexdigest()


def _read_bytes(path: str) -> bytes | None:
    try:
        # A link to a pipe would make us wait, one to a device would be replaced by a file.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError("it is not a regular file")
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _require_unchanged(file: SettingsFile) -> None:
    if _read_bytes(file.target) != file.raw:
        raise ChangedMeanwhileError(
            f"{file.path} was changed by another program meanwhile and stays as it left it: retry"
        )


def _replace_by_rename(file: SettingsFile, new: bytes) -> None:
    temporary = f"{file.target}.brimline-{os.getpid()}.tmp"
    like = os.stat(file.target) if file.raw is not None else None
    os.makedirs(os.path.dirname(file.target), exist_ok=True)
    try:
        _write_with_mode_and_owner(temporary, new, like)
        _require_unchanged(file)
        os.replace(temporary, file.target)
    finally:
        io.remove(temporary)


def _write_with_mode_and_owner(path: str, data: bytes, like: os.stat_result | None) -> None:
    """Create a file with the mode of another, and with its owner where that takes root."""
    mode = 0o600 if like is None else stat.S_IMODE(like.st_mode)
    with open(os.open(path, _FLAGS, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if like is not None:
        with contextlib.suppress(PermissionError):
            os.chown(path, like.st_uid, like.st_gid)
    os.chmod(path, mode)
