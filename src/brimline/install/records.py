"""What the installer remembers of its writing, so that it can be put back: settings and own files.

A record is saved before the files are written. Where the writing fails or is cut short it is ahead
of the files, which does no harm: it only speaks about files whose digest it names.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from brimline.errors import InstallError
from brimline.fast import io
from brimline.install.settingsfile import digest, reason, write_program
from brimline.launch import LAUNCHER

FORMAT = 1
_SHORT = 16


@dataclass(slots=True)
class Record:
    """One changed settings file."""

    path: str
    written: list[str] = field(default_factory=list)
    """Digests of everything we wrote over the same original, the newest last."""
    original: str | None = None
    """Digest of the bytes that uninstalling puts back; None: there was no file."""
    made: list[list[str | int]] = field(default_factory=list)
    """Containers in the settings that exist only for our entries."""
    made_folder: bool = False
    """Whether the settings file's folder was made for it."""
    interpreter: str = ""
    root: str = ""
    """What the entries start: only this may be started where a stranger can write the settings."""


def load(home_dir: str, path: str, raw: bytes | None = None) -> Record | None:
    """The record of a settings file; of one that has moved, by its bytes; None without one."""
    found = _parse(f"{_stem(home_dir, path)}.json")
    if found or raw is None:
        return found
    name, key = os.path.basename(path), digest(raw)
    moved = [r for r in load_all(home_dir) if os.path.basename(r.path) == name]
    return next((r for r in moved if key in r.written and not os.path.exists(r.path)), None)


def load_all(home_dir: str) -> list[Record]:
    """The records of every settings file we changed."""
    folder = f"{home_dir}/install"
    names = [name for name in io.names_in(folder) if name.endswith(".json")]
    found = [_parse(f"{folder}/{name}") for name in sorted(names)]
    return [record for record in found if record]


def save(home_dir: str, record: Record) -> None:
    """Remember a change."""
    document = {"v": FORMAT} | asdict(record)
    target = f"{_stem(home_dir, record.path)}.json"
    io.replace_file(target, json.dumps(document, indent=1).encode())


def forget(home_dir: str, path: str) -> None:
    """Drop everything remembered of a settings file that has been put back."""
    folder, _, start = _stem(home_dir, path).rpartition("/")
    for name in io.names_in(folder):
        if name.startswith(start):
            with contextlib.suppress(OSError):  # a record that stays does no harm
                io.remove(f"{folder}/{name}")


def keep_original(home_dir: str, path: str, raw: bytes) -> str:
    """Store the bytes to put back; returns their digest."""
    key = digest(raw)
    io.replace_file(_original_file(home_dir, path, key), raw)
    return key


def original_bytes(home_dir: str, record: Record) -> bytes | None:
    """The bytes to put back; None: there was no file.

    Raises:
        LookupError: they are gone or damaged.
    """
    if record.original is None:
        return None
    try:
        raw = Path(_original_file(home_dir, record.path, record.original)).read_bytes()
    except OSError as error:
        raise LookupError(str(error)) from error
    if digest(raw) != record.original:
        raise LookupError("the kept original was changed")
    return raw


class Change(NamedTuple):
    """A file before and after; None is no file."""

    path: str
    before: bytes | None
    after: bytes | None

    def carry_out(self) -> None:
        """Write or remove it.

        Raises:
            InstallError: that cannot be done.
        """
        try:
            if self.after is None:
                io.remove(self.path)
            elif self.path.endswith(LAUNCHER):
                write_program(self.path, self.after)
            else:
                io.replace_file(self.path, self.after)
        except OSError as error:
            verb = "remove" if self.after is None else "write"
            raise InstallError(f"cannot {verb} {self.path}: {reason(error)}") from error


class OwnFiles:
    """Files of ours among other people's; one that somebody changed is theirs from then on."""

    def __init__(self, home_dir: str, name: str) -> None:
        """Read the record of that name."""
        self.path = f"{home_dir}/install/{name}.json"
        self.known: dict[str, list[str]] = {}
        self.folders: list[str] = []
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            document: Any = json.loads(Path(self.path).read_bytes())
            if document["v"] == FORMAT:
                self.known = {
                    str(p): [str(k) for k in keys] for p, keys in document["files"].items()
                }
                self.folders = [str(folder) for folder in document["folders"]]

    def adopt(self, wanted: dict[str, bytes]) -> None:
        """Take files that are what we would write for ours, where the record was lost."""
        for path, content in wanted.items():
            if read_plain(path) == content:
                self.known.setdefault(path, []).append(digest(content))

    def plan(self, wanted: dict[str, bytes]) -> tuple[list[Change], list[str]]:
        """What makes them exactly these files, and which of their places are somebody else's."""
        changes, foreign = [], []
        for path in dict.fromkeys([*wanted, *self.known]):
            before, after = read_plain(path), wanted.get(path)
            ours = before is not None and digest(before) in self.known.get(path, [])
            if os.path.lexists(path) and not ours and before != after:
                foreign.append(path)
            elif before != after:
                changes.append(Change(path, before, after))
        return changes, foreign

    def write(self, wanted: dict[str, bytes]) -> None:
        """Make them so.

        Raises:
            InstallError: one of them cannot be written or removed.
        """
        changes, _ = self.plan(wanted)
        written = [change for change in changes if change.after is not None]
        for path, _, content in written:
            self.known.setdefault(path, []).append(digest(content or b""))
            self.folders += [new for new in _missing_folders(path) if new not in self.folders]
        if written:
            document = {"v": FORMAT, "files": self.known, "folders": self.folders}
            Change(self.path, None, json.dumps(document, indent=1).encode()).carry_out()
        for change in changes:
            change.carry_out()

    def remove(self) -> None:
        """Remove them, the folders that were made for them, and the record.

        Raises:
            InstallError: one of them cannot be removed.
        """
        self.write({})
        for folder in sorted(self.folders, key=len, reverse=True):
            with contextlib.suppress(OSError):  # somebody keeps something in it by now
                os.rmdir(folder)
        with contextlib.suppress(OSError):  # a record that stays does no harm
            io.remove(self.path)


def read_plain(path: str) -> bytes | None:
    """The content of a plain file; None for everything else, a link too: that is somebody's."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        return Path(path).read_bytes()
    except OSError:
        return None


def _missing_folders(path: str) -> list[str]:
    """The folders that writing a file will make."""
    missing, folder = [], os.path.dirname(path)
    while folder and not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


def _original_file(home_dir: str, path: str, key: str) -> str:
    return f"{_stem(home_dir, path)}.{key[:_SHORT]}.original"


def _stem(home_dir: str, path: str) -> str:
    return f"{home_dir}/install/{digest(os.fsencode(path))[:_SHORT]}"


def _parse(file: str) -> Record | None:
    try:
        document: Any = json.loads(Path(file).read_bytes())
        if document.pop("v") != FORMAT:
            return None
        record = Record(**document)
        sound = all(isinstance(text, str) for text in [record.path, *record.written])
        return record if sound and all(isinstance(place, list) for place in record.made) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
