"""Keeps the store within its age and size, and never at the cost of what is in use.

By age only what is not pinned goes. By size what is not pinned goes first, least recently used
first, then soft pins; never hard pins, never what a transcript mentions or the gateway sends a key
of, never what was stored just now. Where a limit cannot be met, the outcome says by how much.
Nothing is removed where one file that may mention keys cannot be read. A
dry run changes nothing at all.

Looked through is everything under the client's `projects` (sessions, those of subagents, backups,
outputs that the client put aside), of every client that used this store, and our own ledgers: raw
bytes, without knowledge of what the files are. A key is mentioned by all of its digits or by the
first of them, as people and models write it, in either case, and with its colon as it is or as an
escape in JSON. What merely looks like a key holds a blob for longer than need be. What a file
mentions is remembered with its size and times, so that the next search reads only what changed.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import json
import math
import os
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.bulk import contents, layout, pins, put, removal
from brimline.errors import StoreError
from brimline.fast import io

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from brimline.bulk.contents import Blob
    from brimline.rooms import Traces

MEGABYTE = 1_000_000
# No write takes an hour; what is younger may still be in the making.
GRACE_S = 3_600.0
DAY_S = 86_400.0
_SECOND_NS = 1_000_000_000
_ROTATE_AT_BYTES = 32 << 20
FORMAT = 2
_DATABASE = ".sqlite3"
_DIGITS = rb"([0-9a-fA-F]{%d,%d})" % (layout.SHORTEST_PREFIX, layout.DIGEST_LENGTH)
# Each begins with plain text, which is what makes a search through gigabytes fast.
_MENTIONS = (
    re.compile(rb"256(?::|\\{1,4}u003[aA])" + _DIGITS),  # after `sha`, in either case
    re.compile(rb"store (?:get|pin) {1,4}(?:\\{0,4}[\"'])?" + _DIGITS),
    re.compile(rb"key\\{0,4}\": ?\\{0,4}\"" + _DIGITS),
)
_LONGEST_BYTES = 128
_BLOCK_BYTES = 4 << 20
# A file that changed this recently may change again without its times telling.
_SETTLED_NS = 2_000_000_000


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


@dataclass(slots=True)
class Outcome:
    """What was removed, or in a dry run would be."""

    keys: list[str] = field(default_factory=list)
    freed_bytes: int = 0
    left_bytes: int = 0
    shortfall_bytes: int = 0  # by how much the limit on size is still exceeded
    swept: int = 0  # files that killed processes had left behind
    finished: bool = True  # False where the time was up first


class Pass(NamedTuple):
    """How a look through all those files goes."""

    traces: Traces  # what every room says of what it leaves behind
    dry_run: bool = False  # change nothing, not even what is remembered of files
    until: float = math.inf  # on the monotonic clock, when to stop
    progress: Callable[[int], None] = lambda _: None  # told the size of each file that is done

    def is_time_up(self) -> bool:
        """Tell whether the time is up."""
        return time.monotonic() > self.until


def tidy(
    home_dir: str,
    max_mb: float,
    max_age_days: float,
    traces: Traces,
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
        traces: what every room says of what it leaves behind.
        until: on the monotonic clock, when to stop.
        now: the present, for tests.

    Raises:
        StoreError: the store, or a file that may hold references, cannot be read.
        OSError: something cannot be written or deleted.
    """
    moment = now or time.time()
    put.client_folders_using_store(home_dir, noting=True)
    marker = layout.store_folder(home_dir) + "/tidied"
    if not _is_a_day_since_marker(marker, moment):
        return None
    layout.refuse_newer_format(home_dir)
    # Marked before the work: sessions that start together do it once.
    layout.write_atomically(home_dir, marker, f"{moment:.3f}\n".encode())
    limits = Limits(max_age_days * DAY_S, int(max_mb * MEGABYTE), GRACE_S)
    done = prune(home_dir, limits, Pass(traces, until=until), now=moment)
    if not done.finished:
        io.remove(marker)
    else:
        io.rotate_if_too_large(home_dir + layout.INDEX, _ROTATE_AT_BYTES)
    return done


def prune(home_dir: str, limits: Limits, how: Pass, *, now: float = 0) -> Outcome:
    """Remove blobs until the limits are met, as far as pins and references allow.

    Args:
        home_dir: the data folder.
        limits: what the store may hold.
        how: whether to change anything, and until when.
        now: the present, for tests.

    Raises:
        StoreError: the store, or a file that may hold references, cannot be read.
        OSError: a blob cannot be deleted.
    """
    moment = now or time.time()
    # The blobs are listed first: what is stored while the search goes on is not among them.
    blobs = contents.list_blobs(home_dir)
    levels = {digest: pin.level for digest, pin in pins.all_pins(home_dir).items()}
    holds = Holds(levels)
    chosen, done = choose_removals(blobs, holds, limits, int(moment * _SECOND_NS))
    if chosen:
        found = digests_mentioned_anywhere(home_dir, [blob.digest for blob in blobs], how)
        if found is None:
            return Outcome(left_bytes=done.left_bytes, finished=False)
        holds = holds._replace(references=found)
        chosen, done = choose_removals(blobs, holds, limits, int(moment * _SECOND_NS))
    _remove_and_tally(home_dir, chosen, holds, done, how)
    if done.finished and not how.dry_run:
        done.swept = removal.put_back_or_delete_tmp_files(home_dir, moment - GRACE_S)
        done.swept += 0 if how.is_time_up() else _delete_lone_sidecars(home_dir, moment - GRACE_S)
    return done


def choose_removals(
    blobs: Sequence[Blob], holds: Holds, limits: Limits, now_ns: int
) -> tuple[list[Blob], Outcome]:
    """Choose what goes by age or for want of a reference, then by size; values in, values out."""
    free = [blob for blob in blobs if not _is_held(blob, holds, limits, now_ns)]
    free.sort(key=lambda blob: _removal_sort_key(blob, holds))
    old = [blob for blob in free if _is_unpinned_and_due(blob, holds, limits, now_ns)]
    done = Outcome(left_bytes=_sum_disk_bytes(blobs))
    if limits.max_bytes is None:
        return old, done
    gone = set(old)
    excess = done.left_bytes - _sum_disk_bytes(old) - limits.max_bytes
    large = _choose_by_size([blob for blob in free if blob not in gone], excess)
    done.shortfall_bytes = max(excess - _sum_disk_bytes(large), 0)
    return old + large, done


def _sum_disk_bytes(blobs: Iterable[Blob]) -> int:
    return sum(blob.disk_bytes for blob in blobs)


def _choose_by_size(blobs: Sequence[Blob], excess: int) -> list[Blob]:
    """The first of them that together have so many bytes."""
    chosen = []
    for blob in blobs:
        if excess <= 0:
            break
        chosen.append(blob)
        excess -= blob.disk_bytes
    return chosen


def _is_held(blob: Blob, holds: Holds, limits: Limits, now_ns: int) -> bool:
    """Tell whether a blob stays whatever the limits are."""
    if holds.levels.get(blob.digest) == pins.HARD or blob.digest in holds.references:
        return True
    # A time in the future is that of a clock that was wrong: in doubt a blob stays.
    return bool(limits.grace_s) and blob.used_ns > now_ns - limits.grace_s * _SECOND_NS


def _is_unpinned_and_due(blob: Blob, holds: Holds, limits: Limits, now_ns: int) -> bool:
    is_old = limits.max_age_s is not None and blob.used_ns < now_ns - limits.max_age_s * _SECOND_NS
    if not is_old and not limits.unreferenced:
        return False
    return holds.levels.get(blob.digest, pins.NONE) == pins.NONE


def _removal_sort_key(blob: Blob, holds: Holds) -> tuple[int, int, int]:
    level = pins.level_rank(holds.levels.get(blob.digest, pins.NONE))
    return level, blob.used_ns, -blob.disk_bytes


def _remove_and_tally(
    home_dir: str, chosen: list[Blob], holds: Holds, done: Outcome, how: Pass
) -> None:
    for blob in chosen:
        if how.is_time_up():
            done.finished = False
            return
        if not how.dry_run:
            if not _delete_unless_used(home_dir, blob, holds.levels.get(blob.digest, pins.NONE)):
                continue
            layout.note_store_event(home_dir, "prune", blob.key, disk_bytes=blob.disk_bytes)
        done.keys.append(blob.key)
        done.freed_bytes += blob.disk_bytes
        done.left_bytes -= blob.disk_bytes


def _delete_unless_used(home_dir: str, seen: Blob, level: str) -> bool:
    """Delete a blob, unless it was used, or pinned more strongly, since it was seen."""
    aside = removal.move_file_aside(home_dir, "blob", seen.digest)
    if aside is None:
        return False
    try:
        used = os.lstat(aside).st_mtime_ns != seen.used_ns
    except FileNotFoundError:  # a reader found it aside and brought it back
        return False
    if used or pins.level_rank(pins.pin_level_of(home_dir, seen.digest)) > pins.level_rank(level):
        contents.put_back_file_from_aside(home_dir, aside)
        return False
    return removal.delete_blob_already_aside(home_dir, seen.digest, aside)


def _delete_lone_sidecars(home_dir: str, oldest: float) -> int:
    """Delete sidecars and pins without a blob."""
    beside = list(contents.digest_kind_pairs_in_meta(home_dir))
    present = {blob.digest for blob in contents.list_blobs(home_dir)}
    lone = [layout.stored_path(home_dir, *name) for name in beside if name[0] not in present]
    return sum(removal.delete_if_older(path, oldest) for path in lone)


def _is_a_day_since_marker(marker: str, now: float) -> bool:
    try:
        last = float(layout.read_store_file(marker).decode("ascii", "replace"))
    except (OSError, ValueError):
        return True
    # A time in the future is that of a clock that was wrong; ages do not depend on it.
    return not 0 <= now - last < DAY_S


def digests_mentioned_anywhere(home_dir: str, digests: Iterable[str], how: Pass) -> set[str] | None:
    """Of some digests those that are mentioned anywhere; None where the time was up first.

    Raises:
        StoreError: something that may mention a key cannot be read.
    """
    known = _load_mentions_by_file(home_dir)
    fresh: dict[str, Any] = {}
    promised = removal.keys_promised_by_rooms(home_dir, how.traces)
    mentions = {key.removeprefix(layout.PREFIX) for key in promised}
    unreadable: list[str] = []
    finished = True
    for path in files_that_may_mention_keys(home_dir, how.traces, unreadable):
        if how.is_time_up():
            finished = False
            break
        try:
            mentions |= _file_mentions(path, known, fresh, how)
        except FileNotFoundError:
            continue
        except OSError as error:
            unreadable.append(f"{path}: {error.strerror or error}")
    # Where the time was up, files that were not looked at are as they were.
    remembered = fresh if finished else known | fresh
    if not how.dry_run and remembered != known:
        with contextlib.suppress(OSError):  # it only costs the next search time
            text = json.dumps({"v": FORMAT, "files": remembered}, separators=(",", ":"))
            layout.write_atomically(home_dir, home_dir + layout.REFERENCES, text.encode())
    _refuse_if_any_unreadable(unreadable)
    return _digests_with_mentions(digests, mentions) if finished else None


def _refuse_if_any_unreadable(unreadable: Sequence[str]) -> None:
    if unreadable:
        more = f" (and {len(unreadable) - 1} more)" if len(unreadable) > 1 else ""
        raise StoreError(
            f"nothing was removed: what may mention a key cannot be read: {unreadable[0]}{more}"
        )


def files_that_may_mention_keys(
    home_dir: str, traces: Traces, unreadable: list[str]
) -> Iterator[str]:
    """Every file that may mention a key, once; folders that could not be read are added."""
    seen: set[tuple[int, int]] = set()
    present, *others = put.client_folders_using_store(home_dir)
    for client in [present, *others]:
        if os.path.isdir(client) or client == present:
            yield from _files_below(f"{client}/projects", seen, unreadable)
        else:
            noted = home_dir + layout.CLIENTS
            unreadable.append(f"{client}: not there; if that is meant, edit {noted}")
    passing = tuple(itertools.chain(*traces("PASSING")))
    for folder in itertools.chain(*traces("MENTIONS")):
        for path in _files_below(f"{home_dir}/{folder}", seen, unreadable):
            name = os.path.basename(path)
            if not name.startswith(passing) and _DATABASE not in name:
                yield path


def _files_below(folder: str, seen: set[tuple[int, int]], unreadable: list[str]) -> Iterator[str]:
    """Files below a folder; folders that are links are followed, each folder once."""
    pending = [folder]
    while pending:
        current = pending.pop()
        try:
            status = os.stat(current)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(current) as entries:
                found = list(entries)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            unreadable.append(f"{current}: {error.strerror or error}")
            continue
        pending += [entry.path for entry in found if entry.is_dir()]
        yield from (entry.path for entry in found if entry.is_file())


def _file_mentions(path: str, known: dict[str, Any], fresh: dict[str, Any], how: Pass) -> set[str]:
    now_ns = time.time_ns()
    descriptor = layout.open_regular_file(path, follow=True)
    try:
        status = os.fstat(descriptor)
        identity = [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]
        entry = known.get(path)
        if isinstance(entry, list) and entry[:-1] == identity:
            mentions = set(entry[-1])
        else:
            mentions = _read_mentions_of_descriptor(descriptor)
        if status.st_mtime_ns < now_ns - _SETTLED_NS:
            fresh[path] = [*identity, sorted(mentions)]
        how.progress(status.st_size)
        return mentions
    finally:
        os.close(descriptor)


def _read_mentions_of_descriptor(descriptor: int) -> set[str]:
    found: set[bytes] = set()
    block, data = b"-", b""
    while block:
        block = os.read(descriptor, _BLOCK_BYTES)
        data = data[-_LONGEST_BYTES:] + block
        for pattern in _MENTIONS:
            for match in pattern.finditer(data):
                # One that touches the end of a block may go on in the next, where it is seen whole.
                if match.end() < len(data) or not block:
                    found.add(match[1].lower())
    return {digits.decode("ascii") for digits in found}


def _digests_with_mentions(digests: Iterable[str], mentions: Iterable[str]) -> set[str]:
    """The digests that are mentioned; first digits that several have in common hold them all."""
    ordered = sorted(digests)
    found = set()
    for mention in mentions:
        at = bisect.bisect_left(ordered, mention)
        while at < len(ordered) and ordered[at].startswith(mention):
            found.add(ordered[at])
            at += 1
    return found


def _load_mentions_by_file(home_dir: str) -> dict[str, Any]:
    """Return what earlier searches found, by file; nothing where it is lost or damaged."""
    try:
        stored = json.loads(layout.read_store_file(home_dir + layout.REFERENCES))
        files = stored["files"] if stored["v"] == FORMAT else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return files if isinstance(files, dict) else {}
