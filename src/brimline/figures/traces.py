"""What figures are kept: the history of sessions, and what requests used, by transcript."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

from brimline.errors import do_all
from brimline.figures import archive, store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.state.forgotten import Asked

_OLDER = r"spending\.jsonl|dashboard\.sqlite3"
FILES = {
    "": rf"figures\.sqlite3(-journal)?|{_OLDER}|history\.(jsonl|lock)",
    "sessions/*": r"cost-[\w.-]+",
}
BRIEF = ("cost-",)


def sessions(home: str) -> Iterator[tuple[str, str, float]]:
    """Those whose figures are kept, and those in the history."""
    for session in archive.sessions_in_file(home):
        folders = [event["cwd"] for event in session.events if event.get("cwd")]
        yield session.session_id, folders[0] if folders else "", session.last_at
    with store.opened(home) as figures:
        names = figures.sessions_newest_first()
        for told in itertools.chain.from_iterable(map(figures.transcripts_of, names)):
            yield told.session_id, told.project, told.last_at


def forget(home: str, asked: Asked, *, dry_run: bool) -> dict[str, int]:
    """Let go of the figures of some sessions, after their folders, from which they are made."""
    if not dry_run:
        do_all(partial(archive.delete_line_of_session, home, name) for name in asked.sessions)
        with store.opened(home) as figures:
            figures.drop_sessions(asked.sessions)
        store.remove_files_of_older_versions(home)
    return {}
