"""Finds the keys that files mention, by their raw bytes: no knowledge of what the files are.

A key is mentioned by all of its digits or by the first of them, as people and models write it, in
either case, and with its colon as it is or as an escape in JSON. What merely looks like a key does
no harm: it holds nothing, or holds a blob for longer than need be.

What a file mentions is remembered with its size and times, so that the next search reads only what
changed. A file that cannot be read mentions, for all we know, everything: the caller is told.
"""

from __future__ import annotations

import bisect
import contextlib
import json
import os
import re
import stat
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from brimline.store import files as store_files
from brimline.store import layout, quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FORMAT = 2
_DIGITS = rb"([0-9a-fA-F]{%d,%d})" % (layout.SHORTEST_PREFIX, layout.DIGEST_LENGTH)
# Each begins with plain text, which is what makes a search through gigabytes fast.
_MENTIONS = (
    re.compile(rb"256(?::|\\{1,4}u003[aA])" + _DIGITS),  # after `sha`, in either case
    re.compile(rb"store (?:get|grep|pin) {1,4}(?:\\{0,4}[\"'])?" + _DIGITS),
    re.compile(rb"key\\{0,4}\": ?\\{0,4}\"" + _DIGITS),
)
_LONGEST_BYTES = 128
_BLOCK_BYTES = 4 << 20
# A file that changed this recently may change again without its times telling.
_SETTLED_NS = 2_000_000_000


@dataclass(slots=True)
class Found:
    """What a search found."""

    mentions: set[str] = field(default_factory=set)
    """The digits of keys, all of them or the first ones, in lower case."""
    unreadable: list[str] = field(default_factory=list)
    """Files that could not be read, with the reason."""
    finished: bool = True
    """False where the time was up first; then more may be mentioned."""


@dataclass(slots=True)
class Cache:
    """What earlier searches found, by file."""

    entries: dict[str, Any] = field(default_factory=dict)
    changed: bool = False

    def known(self, path: str, status: os.stat_result) -> list[str] | None:
        """What an unchanged file mentions."""
        entry = self.entries.get(path)
        if not isinstance(entry, list) or entry[:-1] != _identity(status):
            return None
        return list(entry[-1])

    def remember(self, path: str, status: os.stat_result, mentions: set[str], now_ns: int) -> None:
        """Keep what a file mentions, if its times can be trusted to tell of the next change."""
        if status.st_mtime_ns < now_ns - _SETTLED_NS:
            self.entries[path] = [*_identity(status), sorted(mentions)]
            self.changed = True

    def drop_missing(self) -> None:
        """Forget files that are gone."""
        gone = [path for path in self.entries if not os.path.exists(path)]
        for path in gone:
            del self.entries[path]
        self.changed = self.changed or bool(gone)


def find(
    paths: Iterable[str],
    cache: Cache | None = None,
    *,
    deadline: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> Found:
    """Every key that the files mention.

    Args:
        paths: files; one that is gone meanwhile mentions nothing.
        cache: what earlier searches found; updated.
        deadline: on the monotonic clock, when to stop.
        progress: told the size of each file that is done.
    """
    found = Found()
    cache = cache if cache is not None else Cache()
    for path in paths:
        if deadline is not None and time.monotonic() > deadline:
            found.finished = False
            break
        try:
            found.mentions |= _mentioned(path, cache, progress)
        except FileNotFoundError:
            continue
        except OSError as error:
            found.unreadable.append(f"{path}: {error.strerror or error}")
    return found


def held(digests: Iterable[str], mentions: Iterable[str]) -> set[str]:
    """The digests that are mentioned; first digits that several have in common hold them all."""
    ordered = sorted(digests)
    found = set()
    for mention in mentions:
        at = bisect.bisect_left(ordered, mention)
        while at < len(ordered) and ordered[at].startswith(mention):
            found.add(ordered[at])
            at += 1
    return found


def load(home_dir: str) -> Cache:
    """What earlier searches found; nothing where it is lost or damaged."""
    try:
        stored = json.loads(quiet.read(cache_file(home_dir)))
        if stored["v"] == FORMAT and isinstance(stored["files"], dict):
            return Cache(stored["files"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    return Cache()


def save(home_dir: str, cache: Cache) -> None:
    """Keep what was found; a failure only costs the next search time."""
    if cache.changed:
        cache.drop_missing()
        with contextlib.suppress(OSError):
            write(home_dir, cache)


def write(home_dir: str, cache: Cache) -> None:
    """Keep what was found.

    Raises:
        OSError: it cannot be written.
    """
    text = json.dumps({"v": FORMAT, "files": cache.entries}, separators=(",", ":"))
    store_files.place(home_dir, cache_file(home_dir), text.encode())
    cache.changed = False


def cache_file(home_dir: str) -> str:
    """Where it is kept."""
    return layout.root(home_dir) + "/references.json"


def _mentioned(path: str, cache: Cache, progress: Callable[[int], None] | None) -> set[str]:
    now_ns = time.time_ns()
    if not stat.S_ISREG(os.stat(path).st_mode):
        return set()
    descriptor = quiet.open_file(path)
    try:
        status = os.fstat(descriptor)
        known = cache.known(path, status)
        mentions = set(known) if known is not None else _scan(descriptor)
        if known is None:
            cache.remember(path, status, mentions, now_ns)
        if progress:
            progress(status.st_size)
        return mentions
    finally:
        os.close(descriptor)


def _scan(descriptor: int) -> set[str]:
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


def _identity(status: os.stat_result) -> list[int]:
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]
