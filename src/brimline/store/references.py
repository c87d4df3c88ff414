"""Finds the keys that files mention, by their raw bytes: no knowledge of what the files are.

Looked through is everything under the client's `projects` (sessions, those of subagents, backups,
outputs that the client put aside), of every client that used this store, and our own ledgers.

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
import math
import os
import re
import stat
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.errors import StoreError
from brimline.fast import paths
from brimline.store import layout, put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

FORMAT = 2
LEDGER_FOLDERS = ("sessions", "carry", "ledger", "memory", "backups")
# Files in there that tell of keys without promising anything.
_NO_LEDGER = ("spool", "offload", "telemetry", "statusline")
_DATABASE = ".sqlite3"
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


class Pass(NamedTuple):
    """How a look through all those files goes."""

    dry_run: bool = False  # change nothing, not even what is remembered of files
    until: float = math.inf  # on the monotonic clock, when to stop
    progress: Callable[[int], None] = lambda _: None  # told the size of each file that is done

    def is_late(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self.until


def referenced(home_dir: str, digests: Iterable[str], how: Pass) -> set[str] | None:
    """Of some digests those that are mentioned anywhere; None where the time was up first.

    Raises:
        StoreError: something that may mention a key cannot be read.
    """
    known = _load(home_dir)
    fresh: dict[str, Any] = {}
    mentions: set[str] = set()
    unreadable: list[str] = []
    finished = True
    for path in sources(home_dir, unreadable):
        if how.is_late():
            finished = False
            break
        try:
            mentions |= _mentioned(path, known, fresh, how)
        except FileNotFoundError:
            continue
        except OSError as error:
            unreadable.append(f"{path}: {error.strerror or error}")
    # Where the time was up, files that were not looked at are as they were.
    remembered = fresh if finished else known | fresh
    if not how.dry_run and remembered != known:
        with contextlib.suppress(OSError):  # it only costs the next search time
            _save(home_dir, remembered)
    if unreadable:
        more = f" (and {len(unreadable) - 1} more)" if len(unreadable) > 1 else ""
        raise StoreError(
            f"nothing was removed: what may mention a key cannot be read: {unreadable[0]}{more}"
        )
    return _held(digests, mentions) if finished else None


def sources(home_dir: str, unreadable: list[str]) -> Iterator[str]:
    """Every file that may mention a key, once; folders that could not be read are added."""
    seen: set[tuple[int, int]] = set()
    present = paths.client_config_dir()
    for client in dict.fromkeys([present, *put.known_clients(home_dir)]):
        if os.path.isdir(client) or client == present:
            yield from _below(f"{client}/projects", seen, unreadable)
        else:
            noted = layout.clients(home_dir)
            unreadable.append(f"{client}: not there; if that is meant, edit {noted}")
    for folder in LEDGER_FOLDERS:
        for path in _below(f"{home_dir}/{folder}", seen, unreadable):
            name = os.path.basename(path)
            if not name.startswith(_NO_LEDGER) and _DATABASE not in name:
                yield path


def forget_session(home_dir: str, session: str) -> None:
    """Drop what is remembered of a session's files: their names hold its id.

    Raises:
        OSError: it cannot be written.
    """
    known = _load(home_dir)
    kept = {path: entry for path, entry in known.items() if session not in path}
    if len(kept) != len(known):
        _save(home_dir, kept)


def _below(folder: str, seen: set[tuple[int, int]], unreadable: list[str]) -> Iterator[str]:
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


def _mentioned(path: str, known: dict[str, Any], fresh: dict[str, Any], how: Pass) -> set[str]:
    now_ns = time.time_ns()
    if not stat.S_ISREG(os.stat(path).st_mode):
        return set()
    descriptor = layout.open_file(path, follow=True)
    try:
        status = os.fstat(descriptor)
        identity = [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]
        entry = known.get(path)
        if isinstance(entry, list) and entry[:-1] == identity:
            mentions = set(entry[-1])
        else:
            mentions = _scan(descriptor)
        if status.st_mtime_ns < now_ns - _SETTLED_NS:
            fresh[path] = [*identity, sorted(mentions)]
        how.progress(status.st_size)
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


def _held(digests: Iterable[str], mentions: Iterable[str]) -> set[str]:
    """The digests that are mentioned; first digits that several have in common hold them all."""
    ordered = sorted(digests)
    found = set()
    for mention in mentions:
        at = bisect.bisect_left(ordered, mention)
        while at < len(ordered) and ordered[at].startswith(mention):
            found.add(ordered[at])
            at += 1
    return found


def _load(home_dir: str) -> dict[str, Any]:
    """What earlier searches found, by file; nothing where it is lost or damaged."""
    try:
        stored = json.loads(layout.read_file(_memory(home_dir)))
        files = stored["files"] if stored["v"] == FORMAT else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return files if isinstance(files, dict) else {}


def _save(home_dir: str, files: dict[str, Any]) -> None:
    text = json.dumps({"v": FORMAT, "files": files}, separators=(",", ":"))
    layout.place(home_dir, _memory(home_dir), text.encode())


def _memory(home_dir: str) -> str:
    return layout.root(home_dir) + "/references.json"
