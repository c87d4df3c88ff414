"""The client's settings file on disk: read it, replace it without losing anybody's change."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from dataclasses import dataclass

from brimline import fastio
from brimline.errors import InstallError

_BOM = b"\xef\xbb\xbf"
_ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class SettingsFile:
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
            raise InstallError(f"{self.path} is not UTF-8 text ({error.reason})") from None

    def encode(self, text: str) -> bytes:
        """The bytes of a new text in this file's manner."""
        mark = _BOM if (self.raw or b"").startswith(_BOM) else b""
        return mark + text.encode("utf-8")


class ChangedMeanwhile(InstallError):
    """Somebody else wrote the settings between our read and our write."""


def read(path: str) -> SettingsFile:
    """Read a settings file, through a symlink if it is one.

    Raises:
        InstallError: it exists and cannot be read.
    """
    target = os.path.realpath(path)
    try:
        return SettingsFile(path, target, _read_bytes(target))
    except OSError as error:
        raise InstallError(f"cannot read {path}: {error.strerror}") from error


def replace(file: SettingsFile, new: bytes) -> None:
    """Swap in new content if the file still is what was read; a symlink stays a symlink.

    Raises:
        ChangedMeanwhile: the file is not what was read; nothing was written.
        InstallError: the file or its folder cannot be written; nothing was written.
    """
    temporary = f"{file.target}.brimline-{os.getpid()}.tmp"
    try:
        mode = _writable_mode(file)
        os.makedirs(os.path.dirname(file.target), exist_ok=True)
        _write(temporary, new, mode)
        try:
            if _read_bytes(file.target) != file.raw:
                raise ChangedMeanwhile(
                    f"{file.path} was changed by another program meanwhile: run it again"
                )
            os.replace(temporary, file.target)
        finally:
            fastio.remove(temporary)
    except OSError as error:
        raise InstallError(f"cannot write {file.path}: {error.strerror}") from error


def delete(file: SettingsFile) -> None:
    """Remove a settings file that only ever held our entries, and its folder if that leaves it empty."""
    if _read_bytes(file.target) != file.raw:
        raise ChangedMeanwhile(f"{file.path} was changed by another program meanwhile")
    os.unlink(file.target)
    try:
        os.rmdir(os.path.dirname(file.target))
    except OSError:
        pass


def back_up(file: SettingsFile, folder: str) -> str | None:
    """Keep the bytes as they were under a name with the time; an existing backup is never replaced.

    Raises:
        InstallError: the backup cannot be written, so nothing must be changed.
    """
    if file.raw is None:
        return None
    name = f"{os.path.basename(file.path)}.{time.strftime('%Y%m%d_%H%M%S')}"
    for attempt in range(1000):
        path = f"{folder}/{name}" + (f".{attempt}" if attempt else "")
        try:
            if fastio.create_exclusively(path, file.raw):
                return path
        except OSError as error:
            raise InstallError(f"cannot write the backup {path}: {error.strerror}") from error
    raise InstallError(f"cannot find a free name for a backup in {folder}")


def digest(data: bytes) -> str:
    """A fingerprint of file content."""
    return hashlib.sha256(data).hexdigest()


def _read_bytes(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _writable_mode(file: SettingsFile) -> int:
    if file.raw is None:
        return 0o600
    mode = stat.S_IMODE(os.stat(file.target).st_mode)
    # As root every file is writable; the owner's wish counts all the same.
    if not mode & _ANY_WRITE or not os.access(file.target, os.W_OK):
        raise InstallError(f"{file.path} is read-only: chmod u+w it first")
    return mode


def _write(path: str, data: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(path, mode)
