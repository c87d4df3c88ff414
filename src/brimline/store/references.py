"""Finds the keys that files mention, by their raw bytes: no knowledge of what the files are.

What a file mentions is remembered with its size and times, so that the next search reads only what
changed. A file that cannot be read mentions, for all we know, everything: the caller is told.
"""

from __future__ import annotations

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

FORMAT = 1
_KEY = re.compile(rb"sha256:([0-9a-f]{64})")
_KEY_BYTES = len("sha256:") + layout.DIGEST_LENGTH
_BLOCK_BYTES = 4 << 20
# A file that changed this recently may change again without its times telling.
_SETTLED_NS = 2_000_000_000


@dataclass(slots=True)
class Found:
    """What a search found."""

    digests: set[str] = field(default_factory=set)
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

    def remember(self, path: str, status: os.stat_result, digests: set[str], now_ns: int) -> None:
        """Keep what a file mentions, if its times can be trusted to tell of the next change."""
        if status.st_mtime_ns < now_ns - _SETTLED_NS:
            self.entries[path] = [*_identity(status), sorted(digests)]
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
            found.digests |= _mentioned(path, cache, progress)
        except FileNotFoundError:
            continue
        except OSError as error:
            found.unreadable.append(f"{path}: {error.strerror or error}")
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
    descriptor = quiet.open_file(path)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return set()
        known = cache.known(path, status)
        digests = set(known) if known is not None else _scan(descriptor)
        if known is None:
            cache.remember(path, status, digests, now_ns)
        if progress:
            progress(status.st_size)
        return digests
    finally:
        os.close(descriptor)


def _scan(descriptor: int) -> set[str]:
    found: set[bytes] = set()
    tail = b""
    while block := os.read(descriptor, _BLOCK_BYTES):
        data = tail + block
        found.update(_KEY.findall(data))
        tail = data[-(_KEY_BYTES - 1) :]
    return {digest.decode("ascii") for digest in found}


def _identity(status: os.stat_result) -> list[int]:
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]
