"""What figures are kept: the history of sessions, and what requests used, by transcript."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from brimline.errors import do_all
from brimline.figures import history, spending

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.state.forgotten import Asked

FILES = {"": r"spending\.jsonl|history\.(jsonl|lock)", "sessions/*": r"cost-[\w.-]+"}
BRIEF = ("cost-",)


def sessions(home: str) -> Iterator[tuple[str, str, float]]:
    """Those whose figures are kept, and those in the history."""
    for session in history.sessions_in_file(home):
        folders = [event["cwd"] for event in session.events if event.get("cwd")]
        last_at = max((event.get("at", 0) for event in session.events), default=0.0)
        yield session.session_id, folders[0] if folders else "", last_at
    for kept in spending.load_kept_spendings(home):
        last_at = max((request.at for request in kept.requests), default=0.0)
        yield kept.session_id, kept.project, last_at


def forget(home: str, asked: Asked, *, dry_run: bool) -> dict[str, int]:
    """Let go of the figures of some sessions, after their folders, from which they are made."""
    if not dry_run:
        do_all(partial(history.delete_line_of_session, home, name) for name in asked.sessions)
        spending.drop_spendings_of(home, asked.sessions)
    return {}
