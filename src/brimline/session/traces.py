"""What copies of sessions leave, and what older versions kept for the way back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from brimline.errors import do_all
from brimline.fast import io
from brimline.session import backups, copies, legacy
from brimline.state import forgotten
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from brimline.state.forgotten import Asked

FILES = {
    copies.FOLDER: r"[\w-]+\.json",
    "sessions/*": r"session-restored\.json|session-cleared-[\w-]+",
    "backups/purges": "",
    "backups/purges/*": r"\d+\.jsonl|unfinished",
}
MENTIONS = ("backups", copies.FOLDER)


def sessions(home: str) -> Iterator[tuple[str, str, float]]:
    """Those that are copies, have some, or were rewritten."""
    for copy in copies.all_copies(home):
        yield copy.session, "", 0.0
        yield copy.original_session, "", 0.0
    for name in legacy.sessions_with_notes(home):
        yield name, "", 0.0


def forget(home: str, asked: Asked, *, dry_run: bool) -> dict[str, int]:
    """Delete records, and what older versions kept."""
    folders = [legacy.rewrite_notes_folder(home, name) for name in asked.sessions]
    made = backups.beside_all()
    going = [one.path for one in made if find.session_id_of(one.session) in asked.sessions]
    known = copies.all_copies(home)
    records = [one.session for one in known if one.session in asked.sessions]
    tasks: list[Callable[[], int | None]]
    tasks = [partial(forgotten.delete_folder, folder, dry_run=dry_run) for folder in folders]
    files = [*going, *[copies.record_file(home, name) for name in records]]
    tasks += [] if dry_run else [partial(io.remove, path) for path in files]
    return {"files": do_all(tasks) + len(records), "backups": len(going)}
