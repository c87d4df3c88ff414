"""What offloading leaves: marks in a session's folder, and what was learned of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline.fast import json

if TYPE_CHECKING:
    from brimline.state.forgotten import Asked

FILES = {"": r"offload-learned\.jsonl(\.old)?"}
PASSING = ("offload",)


def forget(home: str, asked: Asked, *, dry_run: bool) -> dict[str, int]:
    """Make a project unreadable in what was learned."""
    if asked.project and not dry_run:
        for name in ("offload-learned.jsonl", "offload-learned.jsonl.old"):
            json.redact_lines(f"{home}/{name}", "project", asked.project)
    return {}
