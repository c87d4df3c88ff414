"""Backups of sessions: `<session>.backup.YYYYMMDD_HHMMSS` beside them, never written over."""

from __future__ import annotations

import glob
import os
import re
import time
from typing import NamedTuple

from brimline import paths
from brimline.purge import disk, names

_NAME = re.compile(r"^(?P<session>.+)\.backup\.\d{8}_\d{6}$", re.DOTALL)
# Several backups within a second take the next ones.
_ATTEMPTS = 1_000


class Backup(NamedTuple):
    """One backup of a session."""

    path: str
    session: str
    size_bytes: int
    made_at: float


class Unfinished:
    """A backup that has no name of its own yet; it goes away unless it is finished."""

    def __init__(self, session: str, descriptor: int, length: int) -> None:
        """Copy the first `length` bytes of an open session.

        Raises:
            OSError: it cannot be written; nothing is left behind.
        """
        self._session = session
        self._path = names.unfinished_backup(session)
        disk.remove(self._path)
        self.descriptor = disk.create(self._path)
        try:
            disk.copy(descriptor, 0, length, self.descriptor)
        except BaseException:
            self.close()
            raise

    def finish(self) -> str:
        """See it on the disk and give it its name, which is returned.

        Raises:
            OSError: the disk refused.
        """
        disk.sync(self.descriptor)
        path = _named(self._session, self._path)
        disk.sync_folder(path)
        return path

    def close(self) -> None:
        """Take the temporary name away."""
        os.close(self.descriptor)
        disk.remove(self._path)


def is_backup(path: str) -> bool:
    """Whether a file has the name of a backup."""
    return _NAME.match(os.path.basename(path)) is not None


def of_session(session: str) -> list[Backup]:
    """The backups of one session, the newest first."""
    real = os.path.realpath(session)
    return _found(glob.glob(f"{glob.escape(real)}.backup.*"))


def of_all() -> list[Backup]:
    """The backups of every session of the client, subagents' included, the newest first."""
    projects = f"{glob.escape(paths.client_config_dir())}/projects"
    return _found(
        glob.glob(f"{projects}/*/*.backup.*") + glob.glob(f"{projects}/*/*/subagents/*.backup.*")
    )


def chosen(
    backups: list[Backup], now: float, *, older_than_s: float | None, keep: int | None
) -> list[Backup]:
    """Those that may go: older than a limit, but never the `keep` newest of their session."""
    seen: dict[str, int] = {}
    going = []
    for backup in sorted(backups, key=_newest_first):
        rank = seen[backup.session] = seen.get(backup.session, 0) + 1
        is_old = older_than_s is None or now - backup.made_at > older_than_s
        if is_old and rank > (keep or 0):
            going.append(backup)
    return going


def _named(session: str, unfinished: str) -> str:
    """Give a finished backup the first free name; it appears whole or not at all."""
    now = time.time()
    for second in range(_ATTEMPTS):
        stamp = time.strftime("%Y%m%d_%H%M%S", time.localtime(now + second))
        path = f"{session}.backup.{stamp}"
        try:
            if not disk.link(unfinished, path):
                os.close(disk.create(path))  # takes the name, where there are no hard links
                disk.replace(unfinished, path)
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"{session} has a backup for every second")


def _found(candidates: list[str]) -> list[Backup]:
    backups = []
    for path in candidates:
        match = _NAME.match(path)
        if match and os.path.isfile(path):
            status = os.stat(path)
            backups.append(Backup(path, match["session"], status.st_size, status.st_mtime))
    return sorted(backups, key=_newest_first)


def _newest_first(backup: Backup) -> tuple[float, str]:
    return (-backup.made_at, backup.path)
