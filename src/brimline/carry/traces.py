"""What is carried of sessions: their ledgers, notes, budgets and checkpoints, and links to them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from brimline.carry import ledger, links
from brimline.errors import do_all
from brimline.fast import io, paths
from brimline.state import forgotten
from brimline.transcript import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FILES = {
    "sessions/*": r"carried-\d+",
    "carry": "",
    "carry/*": r"(ledger|checkpoint)\.json|checkpoint\.md|(notes|budget)\.jsonl",
    "carry/clients": r"\d+",
    "carry/projects": r"[0-9a-f]{24}\.json",
}
MENTIONS = ("carry",)


def sessions(home: str) -> Iterator[tuple[str, str, float]]:
    """Those with a folder of their own."""
    for name in set(io.list_names(paths.carry_dir(home))) - {links.CLIENTS, links.PROJECTS}:
        folder = paths.carry_session_dir(home, name)
        times = [find.modified_at(f"{folder}/{file}") for file in io.list_names(folder)]
        yield name, ledger.load(home, name).folder, max(times, default=0.0)


def forget(home: str, asked: forgotten.Asked, *, dry_run: bool) -> dict[str, int]:
    """Delete sessions' folders, and every link that names them."""
    tasks: list[Callable[[], int | None]] = []
    for name in asked.sessions:
        folder = paths.carry_session_dir(home, name)
        tasks.append(partial(forgotten.delete_folder, folder, dry_run=dry_run))
        if not dry_run:
            tasks.append(partial(links.remove_links_to_session, home, name))
    return {"files": do_all(tasks)}
