"""The search's one file, and how the words of stored outputs are forgotten."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from brimline.search import stored
from brimline.store import layout, removal

if TYPE_CHECKING:
    from brimline.state.forgotten import Asked

FILES = {"search": r"\d+-\d+\.sqlite3(-wal|-shm|-journal)?"}


def forget(home: str, asked: Asked, *, dry_run: bool) -> dict[str, int]:
    """Take the words of outputs out that these sessions stored; the store still has them then."""
    if not dry_run and os.path.isdir(layout.store_folder(home)):
        for name in asked.sessions:
            outputs = removal.own_and_shared_keys(home, name)
            stored.forget(home, [*outputs.keys, *outputs.shared])
    return {}
