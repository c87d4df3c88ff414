"""Files that are wholly ours: written, renewed and removed again without touching anybody else's.

What was written is on record with its digest. A file that is not on record, or that somebody
changed, is theirs.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brimline.errors import InstallError
from brimline.fast import io
from brimline.install import settingsfile
from brimline.install.settingsfile import digest
from brimline.launch import LAUNCHER

FORMAT = 1


@dataclass(slots=True)
class OwnFiles:
    """One set of files, by the name of its record."""

    home_dir: str
    name: str
    keeps_edits: bool = True
    """Whether a file of ours that somebody changed is left alone from then on."""

    def plan(self, wanted: dict[str, bytes]) -> Plan:
        """What writing these files, and no other ones, would change."""
        known = _load(self._record_path())
        plan = Plan()
        for path, content in wanted.items():
            current = read_plain(path)
            if current == content:
                continue
            if os.path.lexists(path) and not self._is_ours(path, current, known):
                plan.foreign.append(path)
            else:
                plan.changes.append((path, current, content))
        for path, written in known.files.items():
            current = read_plain(path)
            if path not in wanted and current is not None and digest(current) in written:
                plan.changes.append((path, current, None))
        return plan

    def write(self, wanted: dict[str, bytes]) -> Plan:
        """Write these files and remove those of ours that are no longer wanted.

        Raises:
            InstallError: one of them cannot be written.
        """
        plan = self.plan(wanted)
        known = _load(self._record_path())
        mine = [path for path in wanted if path not in plan.foreign]
        made = _missing_folders([path for path, _, new in plan.changes if new is not None])
        known.folders = list(dict.fromkeys([*known.folders, *made]))
        for path in mine:
            seen = known.files.setdefault(path, [])
            seen += [key for key in [digest(wanted[path])] if key not in seen]
        if plan.changes:
            self._save(known)  # first: whatever stops the work leaves nothing that nobody knows
        for path, _, content in plan.changes:
            _put(path, content)
        known.files = {path: [digest(wanted[path])] for path in mine}
        self._save(known)
        return plan

    def plan_removal(self, wanted: dict[str, bytes] | None = None) -> Plan:
        """What removing would change; what somebody changed stays.

        Args:
            wanted: what would be written now: files that are the same are ours without a record.
        """
        known = _load(self._record_path())
        plan = Plan()
        for path in dict.fromkeys([*known.files, *(wanted or {})]):
            current = read_plain(path)
            as_wanted = current is not None and current == (wanted or {}).get(path)
            if as_wanted or self._is_ours(path, current, known):
                plan.changes.append((path, current, None))
            elif path in known.files and os.path.lexists(path):
                plan.foreign.append(path)
        return plan

    def remove(self, wanted: dict[str, bytes] | None = None) -> Plan:
        """Remove our files, the folders that were made for them, and the record.

        Raises:
            InstallError: one of them cannot be removed.
        """
        plan = self.plan_removal(wanted)
        known = _load(self._record_path())
        for path, _, _ in plan.changes:
            _put(path, None)
        for folder in sorted(known.folders, key=len, reverse=True):
            with contextlib.suppress(OSError):  # somebody keeps something in it by now
                os.rmdir(folder)
        with contextlib.suppress(OSError):  # a record that stays does no harm
            io.remove(self._record_path())
        return plan

    @property
    def is_recorded(self) -> bool:
        """Whether anything was ever written and not removed again."""
        return os.path.exists(self._record_path())

    def _is_ours(self, path: str, current: bytes | None, known: _Record) -> bool:
        if current is None or path not in known.files:
            return False
        return not self.keeps_edits or digest(current) in known.files[path]

    def _save(self, known: _Record) -> None:
        document = {"v": FORMAT, "files": known.files, "folders": known.folders}
        raw = json.dumps(document, indent=1).encode()
        if read_plain(self._record_path()) != raw:
            _put(self._record_path(), raw)

    def _record_path(self) -> str:
        return f"{self.home_dir}/install/{self.name}.json"


@dataclass(slots=True)
class Plan:
    """What would change, file by file: the bytes before and after; None is no file."""

    changes: list[tuple[str, bytes | None, bytes | None]] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    """Files that stand where ours would, or did, and are somebody else's."""


@dataclass(slots=True)
class _Record:
    files: dict[str, list[str]] = field(default_factory=dict)
    """Digests of what was written, by path."""
    folders: list[str] = field(default_factory=list)
    """Folders that were made for them."""


def _load(path: str) -> _Record:
    try:
        document: Any = json.loads(Path(path).read_bytes())
        if document["v"] != FORMAT:
            return _Record()
        files = {str(name): [str(key) for key in keys] for name, keys in document["files"].items()}
        return _Record(files, [str(folder) for folder in document["folders"]])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return _Record()


def read_plain(path: str) -> bytes | None:
    """The content of a plain file; None for everything else, a link too: that is somebody's."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        return Path(path).read_bytes()
    except OSError:
        return None


def _put(path: str, content: bytes | None) -> None:
    try:
        if content is None:
            io.remove(path)
        elif path.endswith(LAUNCHER):
            settingsfile.write_program(path, content)
        else:
            io.replace_file(path, content)
    except OSError as error:
        verb = "remove" if content is None else "write"
        raise InstallError(f"cannot {verb} {path}: {error.strerror or error}") from error


def _missing_folders(paths: list[str]) -> list[str]:
    """The folders that writing these files will make."""
    missing: list[str] = []
    for path in paths:
        folder = os.path.dirname(path)
        while folder and not os.path.lexists(folder):
            missing += [] if folder in missing else [folder]
            folder = os.path.dirname(folder)
    return missing
