"""The user's settings, and those of each project compiled for hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline.fast import io, paths

if TYPE_CHECKING:
    from brimline.state.forgotten import Asked

FILES = {"": r"config\.toml", "policy": r"[0-9a-f]{24}\.json"}


def forget(home: str, asked: Asked, *, dry_run: bool) -> dict[str, int]:
    """Delete what was compiled for a project; its next session compiles it again."""
    if asked.project and not dry_run:
        io.remove(paths.policy_file(home, asked.project))
    return {}
