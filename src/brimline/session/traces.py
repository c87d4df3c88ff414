"""What rewrites of sessions leave: notes for the way back, and backups."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    for name in restore.sessions_with_notes(home):
        yield name, "", 0.0


def forget(home: str, asked: Asked, *, dry_run: bool) -> dict[str, int]:
    """Delete notes and backups."""
    folders = [restore.rewrite_notes_folder(home, name) for name in asked.sessions]
    files = sum(forgotten.delete_folder(folder, dry_run=dry_run) for folder in folders)
    made = restore.all_backups()
    backups = [one for one in made if find.session_id_of(one.session) in asked.sessions]
    for backup in backups if not dry_run else ():
        io.remove(backup.path)
    return {"files": files, "backups": len(backups)}
