"""What rewrites of sessions leave: notes for the way back, and backups."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from brimline.errors import do_all
from brimline.fast import io
from brimline.session import restore
from brimline.state import forgotten
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    made = restore.all_backups()
    backups = [one.path for one in made if find.session_id_of(one.session) in asked.sessions]
    tasks: list[Callable[[], int | None]]
    tasks = [partial(forgotten.delete_folder, folder, dry_run=dry_run) for folder in folders]
    tasks += [] if dry_run else [partial(io.remove, path) for path in backups]
    return {"files": do_all(tasks), "backups": len(backups)}
