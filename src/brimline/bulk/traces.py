"""What is left by the store and by marks in sessions' folders, and how outputs are forgotten."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from brimline.bulk import experience, layout, removal
from brimline.errors import do_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.state.forgotten import Asked


FILES = {
    "": r"offload-learned\.jsonl(\.old)?",
    "sessions/*": r"offload[\w.-]*",
    "store": r"index\.jsonl(\.old)?|last_key|format|clients|references\.json|tidied",
    "store/tmp": r"\d+\.\d+\.tmp|[0-9a-f]{64}\.(blob|json|pin)\.\d+\.\d+\.gone",
    "store/blobs": "",
    "store/blobs/*": r"[0-9a-f]{62}",
    "store/meta": "",
    "store/meta/*": r"[0-9a-f]{62}\.(json|pin)",
}
PASSING = ("offload",)


def sessions(home: str) -> Iterator[tuple[str, str, float]]:
    """Those that stored something."""
    for name in removal.sessions_in_store(home):
        yield name, "", 0.0


def forget(home: str, asked: Asked, *, dry_run: bool) -> dict[str, int]:
    """Delete outputs that only these sessions stored, and what was learned in a project."""
    counted = {}
    if asked.project:
        lines = experience.forget_project(home, asked.project, dry_run=dry_run)
        counted = {"entries": lines} if lines else {}
    if not os.path.isdir(layout.store_folder(home)):
        return counted
    act = removal.own_and_shared_keys if dry_run else removal.forget_session

    def forget_session(name: str) -> int:
        return len(act(home, name, asked.promised(name)).keys)

    return counted | {"outputs": do_all(partial(forget_session, name) for name in asked.sessions)}
