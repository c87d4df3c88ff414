"""What the cost room leaves: what requests used, by transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline.cost import spending

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.state.forgotten import Asked

FILES = {"": r"spending\.jsonl"}
BRIEF = ("cost-",)


def sessions(home: str) -> Iterator[tuple[str, str, float]]:
    """Those whose figures are kept."""
    for kept in spending.load_kept_spendings(home):
        last_at = max((request.at for request in kept.requests), default=0.0)
        yield kept.session_id, kept.project, last_at


def forget(home: str, asked: Asked, *, dry_run: bool) -> dict[str, int]:
    """Let go of the figures of some sessions."""
    if not dry_run:
        spending.drop_spendings_of(home, asked.sessions)
    return {}
