"""The client's settings file on disk: read it, replace it without losing anybody's change."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import stat
import time
from dataclasses import dataclass

from brimline.errors import InstallError
from brimline.fast import io

_BOM = b"\xef\xbb\xbf"
_ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


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
            raise InstallError(f"this is not UTF-8 text ({error.reason})") from None

    def encode(self, text: str) -> bytes:
        """The bytes of a new text in this file's manner."""
        mark = _BOM if (self.raw or b"").startswith(_BOM) else b""
        return mark + text.encode("utf-8")


class ChangedMeanwhileError(InstallError):
    """Somebody else wrote the settings between our read and our write."""


def read(path: str) -> SettingsFile:
    """Read a settings file, through a symlink if it is one.

    Raises:
        InstallError: it exists and cannot be read, or is no regular file.
    """
    target = os.path.realpath(path)
    try:
        return SettingsFile(path, target, _read_bytes(target))
    except OSError as error:
        raise InstallError(f"cannot read {path}: {_reason(error)}") from error


def replace(file: SettingsFile, new: bytes) -> None:
    """Swap in new content if the file still is what was read; a symlink stays a symlink.

    Raises:
        ChangedMeanwhileError: the file is not what was read; nothing was written.
        InstallError: the file or its folder cannot be written; nothing was written.
    """
    temporary = f"{file.target}.brimline-{os.getpid()}.tmp"
    try:
        owner = _writable(file)
        os.makedirs(os.path.dirname(file.target), exist_ok=True)
        _drop_leftovers(file.target)
        try:
            _write(temporary, new, owner)
            _require_unchanged(file)
            os.replace(temporary, file.target)
        finally:
            io.remove(temporary)
    except OSError as error:
        raise InstallError(f"cannot write {file.path}: {_reason(error)}") from error


def delete(file: SettingsFile, *, folder: bool) -> None:
    """Remove a settings file that only ever held our entries, and its folder if that was ours too.

    Raises:
        ChangedMeanwhileError: the file is not what was read; it is still there.
        InstallError: it cannot be removed.
    """
    try:
        _writable(file)
        _require_unchanged(file)
        os.unlink(file.target)
    except OSError as error:
        raise InstallError(f"cannot remove {file.path}: {_reason(error)}") from error
    if folder:
        with contextlib.suppress(OSError):  # somebody keeps something in it by now
            os.rmdir(os.path.dirname(file.target))


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
            if io.create_exclusively(path, file.raw):
                return path
        except OSError as error:
            raise InstallError(
                f"cannot write the backup {path}: {_reason(error)}; nothing was changed"
            ) from error
    raise InstallError(f"cannot find a free name for a backup in {folder}")


def write_program(path: str, data: bytes) -> None:
    """Put a program that only the user may read and start in its place, made with that mode.

    Raises:
        OSError: it cannot be written; what was there still is.
    """
    io.make_folders(os.path.dirname(path))
    temporary = f"{path}.{os.getpid()}.{time.monotonic_ns()}.tmp"
    try:
        with open(os.open(temporary, _FLAGS, 0o700), "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    finally:
        io.remove(temporary)


def digest(data: bytes) -> str:
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


def _writable(file: SettingsFile) -> os.stat_result | None:
    """The status of a file that may be written; None for one that does not exist yet."""
    if file.raw is None:
        return None
    found = os.stat(file.target)
    # As root every file is writable; the owner's wish counts all the same.
    if not found.st_mode & _ANY_WRITE or not os.access(file.target, os.W_OK):
        raise InstallError(f"{file.path} is read-only: chmod u+w it first; nothing was changed")
    return found


def _write(path: str, data: bytes, like: os.stat_result | None) -> None:
    """Create a file with the mode of another, and with its owner where that takes root."""
    mode = 0o600 if like is None else stat.S_IMODE(like.st_mode)
    descriptor = os.open(path, _FLAGS, mode)
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if like is not None and hasattr(os, "chown"):
        with contextlib.suppress(PermissionError):
            os.chown(path, like.st_uid, like.st_gid)
    os.chmod(path, mode)


def _drop_leftovers(target: str) -> None:
    """Remove what a killed run left beside the settings; a running one keeps its own."""
    for path in glob.glob(f"{glob.escape(target)}.brimline-*.tmp"):
        number = path.removesuffix(".tmp").rpartition("-")[2]
        if number.isdigit() and (int(number) == os.getpid() or not _is_running(int(number))):
            io.remove(path)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
