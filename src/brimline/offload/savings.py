"""What offloading kept out of windows, and what it cost, from the spools of sessions."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from brimline.fast import io, json, paths
from brimline.offload.intercept import CHARACTERS_PER_TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterable

_MARKS = ('"Offloaded"', '"Recalled"', '"SessionStart"')


@dataclass(slots=True)
class Saved:
    """What references kept out, and what was fetched back, in characters unless said otherwise."""

    session_id: str = ""
    project: str | None = None
    last_at: float = 0.0
    references: int = 0
    stored_bytes: int = 0
    would: int = 0
    """What the client would have shown without us."""
    shown: int = 0
    """What the references took."""
    recalls: int = 0
    recalled: int = 0

    @property
    def kept_out(self) -> int:
        """What is left of it; below zero where it cost more than it saved."""
        return self.would - self.shown - self.recalled

    @property
    def kept_out_tokens(self) -> int:
        """The same in tokens, estimated."""
        return round(self.kept_out / CHARACTERS_PER_TOKEN)


def session(home_dir: str, session_id: str) -> Saved:
    """What the spool of one session tells."""
    folder = paths.session_dir(home_dir, session_id)
    saved = Saved(session_id)
    for name in sorted(io.names_in(folder)):
        if name.startswith("spool") and name.endswith(".jsonl"):
            raw = io.read_file(f"{folder}/{name}").decode("utf-8", "replace")
            for line in raw.split("\n"):
                if any(mark in line for mark in _MARKS):
                    _take(saved, json.loads_all(line))
    return saved


def sessions(home_dir: str) -> list[Saved]:
    """Every session whose folder is still kept, the latest active first."""
    names = io.names_in(paths.sessions_dir(home_dir))
    folders = [name for name in names if os.path.isdir(paths.session_dir(home_dir, name))]
    return sorted([session(home_dir, name) for name in folders], key=lambda one: -one.last_at)


def total(found: Iterable[Saved]) -> Saved:
    """All of them together."""
    both = Saved()
    for one in found:
        for name in ("references", "stored_bytes", "would", "shown", "recalls", "recalled"):
            setattr(both, name, getattr(both, name) + getattr(one, name))
    return both


def _take(saved: Saved, rows: list[object]) -> None:
    for row in rows:
        if not isinstance(row, dict):
            continue
        at, cwd = row.get("at"), row.get("cwd")
        saved.last_at = max(saved.last_at, at if isinstance(at, int | float) else 0.0)
        saved.project = cwd if isinstance(cwd, str) else saved.project
        figures = [row.get(name) for name in ("bytes", "would", "shown")]
        size, would, shown = (figure if isinstance(figure, int) else 0 for figure in figures)
        if row.get("event") == "Offloaded":
            saved.references += 1
            saved.stored_bytes += size
            # Lines of older versions tell what is stored, not what would have been shown.
            saved.would += would or size
            saved.shown += shown
        elif row.get("event") == "Recalled":
            saved.recalls += 1
            saved.recalled += shown
