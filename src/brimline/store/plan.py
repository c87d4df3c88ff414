"""Decides which blobs go: the order of pruning, as values in and values out.

By age only what is not pinned goes. By size what is not pinned goes first, least recently used
first, then soft pins; never hard pins, never what a transcript mentions, never what was stored just
now. Keys that were named to be forced go last, whatever holds them. Where a limit cannot be met,
the plan says by how much, and what holds the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from brimline.store import pins

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from brimline.store.scan import Blob

REFERENCED, RECENT = "referenced", "recent"
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What the store may hold; None is no limit."""

    max_age_s: float | None = None
    """Seconds since the last use."""
    max_bytes: int | None = None
    """Bytes on disk, compressed as they are."""
    grace_s: float = 0.0
    """What was used more recently than this stays."""


@dataclass(frozen=True, slots=True)
class Holds:
    """What keeps blobs from being pruned, by digest."""

    levels: Mapping[str, str] = field(default_factory=dict)
    references: Collection[str] = frozenset()
    forced: Collection[str] = frozenset()

    def level(self, digest: str) -> str:
        """The pin level of a blob."""
        return self.levels.get(digest, pins.NONE)


@dataclass(slots=True)
class Plan:
    """What would go, and what that leaves."""

    chosen: list[Blob] = field(default_factory=list)
    by_age: int = 0
    """How many of the first ones go by age; the others go by size."""
    total_bytes: int = 0
    freed_bytes: int = 0
    shortfall_bytes: int = 0
    """By how much the limit on size is still exceeded."""
    held_bytes: dict[str, int] = field(default_factory=dict)
    """What holds the rest where there is a shortfall: `hard`, `referenced` or `recent`."""


def choose(blobs: Sequence[Blob], holds: Holds, limits: Limits, now_ns: int) -> Plan:
    """Choose what goes by age, then by size."""
    held = {blob.digest: _hold(blob, holds, limits, now_ns) for blob in blobs}
    free = [blob for blob in blobs if held[blob.digest] is None]
    old = sorted(
        (blob for blob in free if _is_old(blob, holds, limits, now_ns)),
        key=lambda blob: blob.used_ns,
    )
    plan = Plan(list(old), len(old), sum(blob.disk_bytes for blob in blobs))
    plan.freed_bytes = sum(blob.disk_bytes for blob in old)
    if limits.max_bytes is not None:
        gone = {blob.digest for blob in old}
        rest = [blob for blob in free if blob.digest not in gone]
        _choose_by_size(plan, rest, holds, limits.max_bytes)
    if plan.shortfall_bytes:
        for blob in blobs:
            if reason := held[blob.digest]:
                plan.held_bytes[reason] = plan.held_bytes.get(reason, 0) + blob.disk_bytes
    return plan


def unreferenced(blobs: Sequence[Blob], holds: Holds, grace_s: float, now_ns: int) -> Plan:
    """Choose what nothing mentions, nothing pins, and nobody used just now."""
    limits = Limits(grace_s=grace_s)
    chosen = [
        blob
        for blob in blobs
        if holds.level(blob.digest) == pins.NONE and _hold(blob, holds, limits, now_ns) is None
    ]
    freed = sum(blob.disk_bytes for blob in chosen)
    return Plan(chosen, 0, sum(blob.disk_bytes for blob in blobs), freed)


def _hold(blob: Blob, holds: Holds, limits: Limits, now_ns: int) -> str | None:
    """What keeps a blob whatever the limits are, if anything."""
    if blob.digest in holds.forced:
        return None
    if holds.level(blob.digest) == pins.HARD:
        return pins.HARD
    if blob.digest in holds.references:
        return REFERENCED
    # A time in the future is that of a clock that was wrong: in doubt a blob stays.
    if limits.grace_s > 0 and blob.used_ns > now_ns - limits.grace_s * _SECOND_NS:
        return RECENT
    return None


def _is_old(blob: Blob, holds: Holds, limits: Limits, now_ns: int) -> bool:
    if limits.max_age_s is None or blob.used_ns >= now_ns - limits.max_age_s * _SECOND_NS:
        return False
    return holds.level(blob.digest) == pins.NONE or blob.digest in holds.forced


def _choose_by_size(plan: Plan, free: list[Blob], holds: Holds, max_bytes: int) -> None:
    def order(blob: Blob) -> tuple[bool, int, int, int]:
        level = pins.rank(holds.level(blob.digest))
        return blob.digest in holds.forced, level, blob.used_ns, -blob.disk_bytes

    excess = plan.total_bytes - plan.freed_bytes - max_bytes
    for blob in sorted(free, key=order):
        if excess <= 0:
            break
        plan.chosen.append(blob)
        plan.freed_bytes += blob.disk_bytes
        excess -= blob.disk_bytes
    plan.shortfall_bytes = max(excess, 0)
