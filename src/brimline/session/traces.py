"""What rewrites of sessions leave: notes for the way back, and backups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline.errors import SessionError
from brimline.fast import io
from brimline.session import restore
from brimline.state import forgotten
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.state.forgotten import Asked

FILES = {
    "sessions/*": "session-restored.json",
    "backups/purges": "",
    "backups/purges/*": r"\d+\.jsonl|unfinished",
}
MENTIONS = ("backups",)


def sessions(home: str) -> Iterator[tuple[str, str, float]]:
    """Those that were rewritten."""
    for name in restore.noted_sessions(home):
        yield name, "", 0.0


def forget(home: str, asked: Asked, *, dry_run: bool) -> dict[str, int]:
    """Delete notes and backups."""
    files = backups = 0
    for name in asked.sessions:
        files += forgotten.delete_folder(restore.notes_folder(home, name), dry_run=dry_run)
        for path in _backups(name):
            backups += 1
            if not dry_run:
                io.remove(path)
    return {"files": files, "backups": backups}


def _backups(name: str) -> list[str]:
    try:
        return [backup.path for backup in restore.backups_of(find.transcript_with_id(name))]
    except SessionError:
        return []
