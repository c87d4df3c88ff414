"""Makes room: by age and size (`prune`), or by what nothing mentions any more (`collect`).

Both look for references before they remove anything, and remove nothing where one file that may
hold references cannot be read. A dry run changes nothing at all.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from brimline.store import audit, plan, references, removal, scan, sources
from brimline.store.errors import StoreError
from brimline.store.sweep import GRACE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from brimline.store.plan import Holds, Plan
    from brimline.store.scan import Blob

__all__ = ["GRACE_S", "Outcome", "Search", "collect", "prune"]


@dataclass(slots=True)
class Outcome:
    """What was removed, or in a dry run would be."""

    keys: list[str] = field(default_factory=list)
    by_age: int = 0
    """How many of them went by age."""
    freed_bytes: int = 0
    left_bytes: int = 0
    shortfall_bytes: int = 0
    held_bytes: dict[str, int] = field(default_factory=dict)
    """With a shortfall, what holds the rest: `hard`, `referenced` or `recent`."""
    came_into_use: int = 0
    """Blobs that were chosen but used or pinned before their turn came."""
    finished: bool = True
    """False where the time was up first."""


@dataclass(slots=True)
class Search:
    """How to look for references."""

    paths: Iterable[str] | None = None
    """Files that may mention keys; None for the client's and our own."""
    dry_run: bool = False
    """Change nothing, not even what is remembered of files."""
    deadline: float | None = None
    """On the monotonic clock, when to stop."""
    progress: Callable[[int], None] | None = None
    """Told the size of each file that is done."""


def prune(
    home_dir: str,
    limits: plan.Limits,
    search: Search,
    *,
    forced: Collection[str] = (),
    now_ns: int | None = None,
) -> Outcome:
    """Remove blobs until the limits are met, as far as pins and references allow.

    Args:
        home_dir: the data folder.
        limits: what the store may hold.
        search: how to look for references, and whether to change anything.
        forced: digests that may go although they are mentioned or pinned.
        now_ns: the present, for tests.

    Raises:
        StoreError: the store, or a file that may hold references, cannot be read.
        OSError: a blob cannot be deleted.
    """
    moment = time.time_ns() if now_ns is None else now_ns
    blobs = scan.blobs(home_dir)
    levels = {digest: pin.level for digest, pin in scan.pinned(home_dir).items()}
    holds = plan.Holds(levels, frozenset(), frozenset(forced))
    chosen = plan.choose(blobs, holds, limits, moment)
    if any(blob.digest not in holds.forced for blob in chosen.chosen):
        found = _referenced(home_dir, blobs, search)
        if found is None:
            return Outcome(left_bytes=chosen.total_bytes, finished=False)
        if found:
            holds = plan.Holds(levels, found, holds.forced)
            chosen = plan.choose(blobs, holds, limits, moment)
    return _carry_out(home_dir, chosen, holds, search, "prune")


def collect(
    home_dir: str, search: Search, *, grace_s: float = GRACE_S, now_ns: int | None = None
) -> Outcome:
    """Remove what nothing mentions, nothing pins, and nobody used within the grace period.

    Raises:
        StoreError: the store, or a file that may hold references, cannot be read.
        OSError: a blob cannot be deleted.
    """
    moment = time.time_ns() if now_ns is None else now_ns
    # The blobs are listed first: what is stored while the search goes on is not among them.
    blobs = scan.blobs(home_dir)
    levels = {digest: pin.level for digest, pin in scan.pinned(home_dir).items()}
    found = _referenced(home_dir, blobs, search)
    if found is None:
        return Outcome(left_bytes=sum(blob.disk_bytes for blob in blobs), finished=False)
    holds = plan.Holds(levels, found)
    return _carry_out(
        home_dir, plan.unreferenced(blobs, holds, grace_s, moment), holds, search, "gc"
    )


def _referenced(home_dir: str, blobs: Sequence[Blob], search: Search) -> set[str] | None:
    """The digests of the blobs that are mentioned; None where the time was up first."""
    paths = sources.Files(home_dir) if search.paths is None else search.paths
    cache = references.load(home_dir)
    found = references.find(paths, cache, deadline=search.deadline, progress=search.progress)
    if not search.dry_run:
        references.save(home_dir, cache)
    unreadable = found.unreadable + list(getattr(paths, "unreadable", []))
    if unreadable:
        more = f" (and {len(unreadable) - 1} more)" if len(unreadable) > 1 else ""
        raise StoreError(
            f"nothing was removed: what may mention a key cannot be read: {unreadable[0]}{more}"
        )
    if not found.finished:
        return None
    return references.held((blob.digest for blob in blobs), found.mentions)


def _carry_out(home_dir: str, chosen: Plan, holds: Holds, search: Search, event: str) -> Outcome:
    done = Outcome(
        left_bytes=chosen.total_bytes,
        shortfall_bytes=chosen.shortfall_bytes,
        held_bytes=chosen.held_bytes,
    )
    for number, blob in enumerate(chosen.chosen):
        if search.deadline is not None and time.monotonic() > search.deadline:
            done.finished = False
            break
        level = holds.level(blob.digest)
        if not search.dry_run:
            if not removal.discard(home_dir, blob, level):
                done.came_into_use += 1
                continue
            audit.note(home_dir, event, blob.key, disk_bytes=blob.disk_bytes)
        done.keys.append(blob.key)
        done.by_age += number < chosen.by_age
        done.freed_bytes += blob.disk_bytes
        done.left_bytes -= blob.disk_bytes
    return done
