"""Keeps the store within its age and size, and never at the cost of what is in use.

By age only what is not pinned goes. By size what is not pinned goes first, least recently used
first, then soft pins; never hard pins, never what a transcript mentions, never what was stored just
now. Keys that were named to be forced go last, whatever holds them. Where a limit cannot be met,
the outcome says by how much, and what holds the rest. Nothing is removed where one file that may
mention keys cannot be read. A dry run changes nothing at all.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from brimline.fast import io
from brimline.store import layout, pins, put, read, references, removal, trail
from brimline.store.references import Pass

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from brimline.store.read import Blob

MAX_MB = 500
MAX_AGE_DAYS = 30
MEGABYTE = 1_000_000
# No write takes an hour; what is younger may still be in the making.
GRACE_S = 3_600.0
DAY_S = 86_400.0
REFERENCED, RECENT = "referenced", "recent"
_SECOND_NS = 1_000_000_000


class Limits(NamedTuple):
    """What the store may hold; None is no limit."""

    max_age_s: float | None = None  # since the last use
    max_bytes: int | None = None  # on disk, compressed as they are
    grace_s: float = 0.0  # what was used more recently than this stays
    unreferenced: bool = False  # everything goes that nothing pins or mentions


class Holds(NamedTuple):
    """What keeps blobs from being pruned, by digest."""

    levels: Mapping[str, str] = {}
    references: Collection[str] = frozenset()
    forced: Collection[str] = frozenset()


@dataclass(slots=True)
class Outcome:
    """What was removed, or in a dry run would be."""

    keys: list[str] = field(default_factory=list)
    freed_bytes: int = 0
    left_bytes: int = 0
    shortfall_bytes: int = 0  # by how much the limit on size is still exceeded
    # With a shortfall, what holds the rest: `hard`, `referenced` or `recent`.
    held_bytes: dict[str, int] = field(default_factory=dict)
    came_into_use: int = 0  # chosen, but used or pinned before their turn came
    swept: int = 0  # files that killed processes had left behind
    finished: bool = True  # False where the time was up first


def tidy(
    home_dir: str,
    max_mb: float = MAX_MB,
    max_age_days: float = MAX_AGE_DAYS,
    *,
    until: float,
    now: float = 0,
) -> Outcome | None:
    """Prune what is too old or too much, at most once a day; None where it is not due.

    Where the time is up first, the next call goes on, also on the same day.

    Args:
        home_dir: the data folder.
        max_mb: megabytes on disk that the store may hold.
        max_age_days: days since its last use after which a blob goes.
        until: on the monotonic clock, when to stop.
        now: the present, for tests.

    Raises:
        StoreError: the store, or a file that may hold references, cannot be read.
        OSError: something cannot be written or deleted.
    """
    moment = now or time.time()
    if not os.path.isdir(layout.root(home_dir)):
        return None
    put.remember_client(home_dir)
    marker = layout.root(home_dir) + "/tidied"
    if not _is_due(marker, moment):
        return None
    layout.check_format(home_dir)
    # Marked before the work: sessions that start together do it once.
    layout.place(home_dir, marker, f"{moment:.3f}\n".encode())
    limits = Limits(max_age_days * DAY_S, int(max_mb * MEGABYTE), GRACE_S)
    done = prune(home_dir, limits, Pass(until=until), now=moment)
    if not done.finished:
        io.remove(marker)
    else:
        trail.rotate(home_dir)
    return done


def prune(
    home_dir: str, limits: Limits, how: Pass, *, forced: Collection[str] = (), now: float = 0
) -> Outcome:
    """Remove blobs until the limits are met, as far as pins and references allow.

    Args:
        home_dir: the data folder.
        limits: what the store may hold.
        how: whether to change anything, and until when.
        forced: digests that may go although they are mentioned or pinned.
        now: the present, for tests.

    Raises:
        StoreError: the store, or a file that may hold references, cannot be read.
        OSError: a blob cannot be deleted.
    """
    moment = now or time.time()
    # The blobs are listed first: what is stored while the search goes on is not among them.
    blobs = read.blobs(home_dir)
    levels = {digest: pin.level for digest, pin in pins.pinned(home_dir).items()}
    holds = Holds(levels, frozenset(), frozenset(forced))
    chosen, done = choose(blobs, holds, limits, int(moment * _SECOND_NS))
    if any(blob.digest not in holds.forced for blob in chosen):
        found = references.referenced(home_dir, [blob.digest for blob in blobs], how)
        if found is None:
            return Outcome(left_bytes=done.left_bytes, finished=False)
        holds = holds._replace(references=found)
        chosen, done = choose(blobs, holds, limits, int(moment * _SECOND_NS))
    _remove(home_dir, chosen, holds, done, how)
    if done.finished and not how.dry_run:
        done.swept = removal.sweep(home_dir, moment - GRACE_S)
        done.swept += 0 if how.is_late() else _delete_lone(home_dir, moment - GRACE_S)
    return done


def choose(
    blobs: Sequence[Blob], holds: Holds, limits: Limits, now_ns: int
) -> tuple[list[Blob], Outcome]:
    """Choose what goes by age or for want of a reference, then by size; values in, values out."""
    held = {blob.digest: _hold(blob, holds, limits, now_ns) for blob in blobs}
    free = [blob for blob in blobs if held[blob.digest] is None]
    old = [blob for blob in free if _is_unwanted(blob, holds, limits, now_ns)]
    old.sort(key=lambda blob: blob.used_ns)
    total = sum(blob.disk_bytes for blob in blobs)
    done = Outcome(left_bytes=total)
    if limits.max_bytes is None:
        return old, done
    gone = {blob.digest for blob in old}
    excess = total - sum(blob.disk_bytes for blob in old) - limits.max_bytes
    chosen = list(old)
    for blob in sorted(free, key=lambda blob: _order(blob, holds)):
        if excess <= 0:
            break
        if blob.digest not in gone:
            chosen.append(blob)
            excess -= blob.disk_bytes
    done.shortfall_bytes = max(excess, 0)
    if done.shortfall_bytes:
        for blob in blobs:
            if reason := held[blob.digest]:
                done.held_bytes[reason] = done.held_bytes.get(reason, 0) + blob.disk_bytes
    return chosen, done


def _hold(blob: Blob, holds: Holds, limits: Limits, now_ns: int) -> str | None:
    """What keeps a blob whatever the limits are, if anything."""
    if blob.digest in holds.forced:
        return None
    if holds.levels.get(blob.digest) == pins.HARD:
        return pins.HARD
    if blob.digest in holds.references:
        return REFERENCED
    # A time in the future is that of a clock that was wrong: in doubt a blob stays.
    if limits.grace_s > 0 and blob.used_ns > now_ns - limits.grace_s * _SECOND_NS:
        return RECENT
    return None


def _is_unwanted(blob: Blob, holds: Holds, limits: Limits, now_ns: int) -> bool:
    is_old = limits.max_age_s is not None and blob.used_ns < now_ns - limits.max_age_s * _SECOND_NS
    if not is_old and not limits.unreferenced:
        return False
    return holds.levels.get(blob.digest, pins.NONE) == pins.NONE or blob.digest in holds.forced


def _order(blob: Blob, holds: Holds) -> tuple[bool, int, int, int]:
    level = pins.rank(holds.levels.get(blob.digest, pins.NONE))
    return blob.digest in holds.forced, level, blob.used_ns, -blob.disk_bytes


def _remove(home_dir: str, chosen: list[Blob], holds: Holds, done: Outcome, how: Pass) -> None:
    for blob in chosen:
        if how.is_late():
            done.finished = False
            return
        if not how.dry_run:
            if not _discard(home_dir, blob, holds.levels.get(blob.digest, pins.NONE)):
                done.came_into_use += 1
                continue
            trail.note(home_dir, "prune", blob.key, disk_bytes=blob.disk_bytes)
        done.keys.append(blob.key)
        done.freed_bytes += blob.disk_bytes
        done.left_bytes -= blob.disk_bytes


def _discard(home_dir: str, seen: Blob, level: str) -> bool:
    """Delete a blob, unless it was used, or pinned more strongly, since it was seen."""
    aside = removal.move_aside(home_dir, "blob", seen.digest)
    if aside is None:
        return False
    try:
        used = os.lstat(aside).st_mtime_ns != seen.used_ns
    except FileNotFoundError:  # a reader found it aside and brought it back
        return False
    if used or pins.rank(pins.level_of(home_dir, seen.digest)) > pins.rank(level):
        removal.put_back(home_dir, aside)
        return False
    return removal.discard(home_dir, seen.digest, aside)


def _delete_lone(home_dir: str, oldest: float) -> int:
    """Delete sidecars and pins without a blob."""
    beside = list(read.beside(home_dir))
    present = {blob.digest for blob in read.blobs(home_dir)}
    paths_of = {"json": layout.sidecar, "pin": layout.pin}
    lone = [paths_of[kind](home_dir, digest) for digest, kind in beside if digest not in present]
    return sum(removal.delete_old(path, oldest) for path in lone)


def _is_due(marker: str, now: float) -> bool:
    try:
        last = float(layout.read_file(marker).decode("ascii", "replace"))
    except (OSError, ValueError):
        return True
    # A time in the future is that of a clock that was wrong; ages do not depend on it.
    return not 0 <= now - last < DAY_S
