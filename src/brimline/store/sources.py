"""Where a key can be mentioned: the client's transcripts of every kind, and our own ledgers.

Everything under the client's `projects` counts: sessions, those of subagents, backups, outputs that
the client put aside. Folders that are links are followed: their transcripts mention keys too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from brimline import paths
from brimline.store import clients

if TYPE_CHECKING:
    from collections.abc import Iterator

LEDGER_FOLDERS = ("sessions", "carry", "ledger", "memory", "backups")
# Files in there that tell of keys without promising anything.
_NO_LEDGER = ("spool", "offload", "telemetry", "statusline")
_DATABASE = ".sqlite3"


class Files:
    """Iterates over every file that may mention a key; folders it could not read are listed."""

    def __init__(self, home_dir: str) -> None:
        self.home_dir = home_dir
        self.unreadable: list[str] = []
        self._seen: set[tuple[int, int]] = set()

    def __iter__(self) -> Iterator[str]:
        """Every file once."""
        self._seen.clear()
        self.unreadable.clear()
        for client in clients.known(self.home_dir):
            if os.path.isdir(client) or client == paths.client_config_dir():
                yield from self._below(f"{client}/projects")
            else:
                noted = clients.file(self.home_dir)
                self.unreadable.append(f"{client}: not there; if that is meant, edit {noted}")
        for folder in LEDGER_FOLDERS:
            for path in self._below(f"{self.home_dir}/{folder}"):
                name = os.path.basename(path)
                if not name.startswith(_NO_LEDGER) and _DATABASE not in name:
                    yield path

    def _below(self, folder: str) -> Iterator[str]:
        pending = [folder]
        while pending:
            current = pending.pop()
            try:
                folders, files = self._children(current)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                self.unreadable.append(f"{current}: {error.strerror or error}")
                continue
            pending += folders
            yield from files

    def _children(self, folder: str) -> tuple[list[str], list[str]]:
        """Folders and files in a folder; nothing where it was visited before."""
        status = os.stat(folder)
        if (status.st_dev, status.st_ino) in self._seen:
            return [], []
        self._seen.add((status.st_dev, status.st_ino))
        with os.scandir(folder) as entries:
            found = list(entries)
        folders = [entry.path for entry in found if entry.is_dir()]
        return folders, [entry.path for entry in found if entry.is_file()]
