"""What the installer remembers of its writing, so that it can be put back, and how it writes.

A record is saved before the files are written. Where the writing fails or is cut short it is ahead
of the files, which does no harm: it only speaks about files whose digest it names.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from brimline.errors import InstallError, reason
from brimline.fast import io, paths
from brimline.install.settingsfile import sha256_of_content

FORMAT = 2


class Record(NamedTuple):
    """One changed settings file."""

    path: str
    written: list[str]
    """Digests of everything we wrote over the same original, the newest last."""
    original: bytes | None
    """What uninstalling puts back; None: there was no file."""


def load_record(home_dir: str, path: str) -> Record | None:
    """The record of a settings file; None without one."""
    return _read_record(_record_path(home_dir, path))


def load_all_records(home_dir: str) -> list[Record]:
    """The records of every settings file we changed."""
    folder = f"{home_dir}/install"
    names = [name for name in io.list_names(folder) if name.endswith(".json")]
    found = [_read_record(f"{folder}/{name}") for name in sorted(names)]
    return [record for record in found if record]


def save_record(home_dir: str, record: Record) -> None:
    """Remember a change.

    Raises:
        InstallError: that cannot be written.
    """
    # Every byte is a character of its own in Latin 1.
    original = None if record.original is None else record.original.decode("latin-1")
    document = {"v": FORMAT} | record._asdict() | {"original": original}
    data = json.dumps(document, indent=1).encode()
    Change(_record_path(home_dir, record.path), None, data).write_or_remove_file()


def forget_record(home_dir: str, path: str) -> None:
    """Drop what is remembered of a settings file that has been put back."""
    with contextlib.suppress(OSError):  # a record that stays does no harm
        io.remove(_record_path(home_dir, path))


class Change(NamedTuple):
    """A file before and after; None stands for no file."""

    path: str
    before: bytes | None
    after: bytes | None

    def write_or_remove_file(self) -> None:
        """Write or remove it.

        Raises:
            InstallError: that cannot be done.
        """
        try:
            if self.after is None:
                io.remove(self.path)
            else:
                is_program = self.path.endswith(paths.LAUNCHER)
                io.replace_file(self.path, self.after, 0o700 if is_program else 0o600)
        except OSError as error:
            verb = "remove" if self.after is None else "write"
            raise InstallError(f"cannot {verb} {self.path}: {reason(error)}") from error


def read_if_plain_file(path: str) -> bytes | None:
    """The content of a plain file; None for everything else, a link too: that is somebody's."""
    try:
        if os.path.islink(path) or not os.path.isfile(path):
            return None
        return Path(path).read_bytes()
    except OSError:
        return None


def _record_path(home_dir: str, path: str) -> str:
    return f"{home_dir}/install/{sha256_of_content(os.fsencode(path))[:16]}.json"


def _read_record(file: str) -> Record | None:
    try:
        document: Any = json.loads(io.read_file(file))
        original = document["original"]
        if document["v"] != FORMAT:
            return None
        raw = None if original is None else original.encode("latin-1")
        return Record(str(document["path"]), list(map(str, document["written"])), raw)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
