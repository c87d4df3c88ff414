"""The dashboard's index, which is made anew from its sources, and the file that opens it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline.fast import io, paths

if TYPE_CHECKING:
    from brimline.state.forgotten import Asked

FILES = {"": r"dashboard\.sqlite3(-wal|-shm|-journal)?|dashboard-\d+\.html"}


def forget(home: str, asked: Asked, *, dry_run: bool) -> dict[str, int]:  # noqa: ARG001
    """Delete all of it: it is made again without what was forgotten."""
    if not dry_run:
        for end in ("", "-journal"):
            io.remove(f"{home}/{paths.DASHBOARD_INDEX}{end}")
    return {}
