"""Hands content back, only if it is undamaged, and tells what is stored.

Names and file attributes say what there is, so that a hundred thousand blobs take well under a
second. Links, pipes and devices in the place of a blob are never followed or read.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, Any, NamedTuple

from brimline.errors import StoreError
from brimline.fast import json
from brimline.store import blob, layout, put, removal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SHORTEST_PREFIX = layout.SHORTEST_PREFIX
LAST = "last"
_SHARD = re.compile(r"[0-9a-f]{2}")
_REST = re.compile(r"[0-9a-f]{62}")
_BESIDE = re.compile(r"([0-9a-f]{62})\.(json|pin)")
_MOST_DIGITS = 12
_RANGE = re.compile(
    r"\s*(?P<first>-?\d+)?(?:@(?P<after>\d+))?\s*(?P<colon>:)?\s*(?P<last>-?\d+)?\s*", re.ASCII
)
_DASHED = re.compile(r"\s*(\d+)\s*-\s*(\d+)\s*", re.ASCII)


class Blob(NamedTuple):
    """A blob as a scan found it."""

    digest: str
    disk_bytes: int
    used_ns: int  # last stored or read, since 1970

    @property
    def key(self) -> str:
        """The key it can be had by."""
        return layout.PREFIX + self.digest


class Span(NamedTuple):
    """Lines that are asked for, counted from 1, both ends included."""

    first: int
    last: int
    skipped: int = 0  # characters of the first line that were shown before


def get(home_dir: str, key: str, *, touch: bool = True) -> bytes:
    """The content of a key, checked against its hash.

    Args:
        home_dir: the data folder.
        key: a complete key.
        touch: whether this counts as a use, which keeps it from being pruned by age.

    Raises:
        StoreError: it is not there, or damaged: then it is never returned.
    """
    digest = layout.digest_of(key)
    try:
        data = blob.unpack(_raw(home_dir, digest))
    except FileNotFoundError:
        raise _missing(key) from None
    except OSError as error:
        raise StoreError(f"{key} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise _damaged(key, str(error)) from None
    except ImportError:
        raise StoreError(
            f"{key} is compressed with zstd: pip install zstandard to read it"
        ) from None
    if put.sha256(data) != digest:
        raise _damaged(key, "its content does not match the key")
    if touch:
        try:
            layout.touch(home_dir, digest)
        except OSError:  # a store that is read-only can be read
            pass
    return data


def resolve(home_dir: str, text: str) -> str:
    """The complete key for one as people write it: without `sha256:`, shortened, or `last`.

    Raises:
        StoreError: it fits no blob, or more than one.
    """
    if text == LAST:
        return last_key(home_dir)
    start = text.strip().lower().removeprefix(layout.PREFIX)
    if not layout.is_hex(start) or not SHORTEST_PREFIX <= len(start) <= layout.DIGEST_LENGTH:
        raise StoreError(
            f"{text!r} is no key: write sha256: and {SHORTEST_PREFIX} to 64 hexadecimal digits"
        )
    found = matching(home_dir, start)
    if len(found) > 1:
        raise StoreError(f"{len(found)} keys begin with {text!r}: write more digits")
    if not found:
        if len(start) == layout.DIGEST_LENGTH and removal.bring_back(home_dir, start):
            return layout.PREFIX + start
        raise _missing(layout.PREFIX + start)
    return layout.PREFIX + found[0]


def last_key(home_dir: str) -> str:
    """The key that was stored last; where the note of it is lost, the one used last.

    Raises:
        StoreError: nothing was stored yet, or it is gone.
    """
    try:
        text = layout.read_file(layout.last_key(home_dir)).decode("ascii", "replace").strip()
        digest = layout.digest_of(text)
    except (OSError, StoreError):
        found = blobs(home_dir)
        if not found:
            raise StoreError("nothing has been stored yet") from None
        return max(found, key=lambda one: one.used_ns).key
    if not os.path.lexists(layout.blob(home_dir, digest)):
        raise _missing(text)
    return text


def meta(home_dir: str, key: str) -> dict[str, Any]:
    """What is known about a blob; empty where the sidecar is lost or damaged."""
    try:
        raw = layout.read_file(layout.sidecar(home_dir, layout.digest_of(key)))
        found = json.loads(raw.decode("utf-8", "replace"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def header(home_dir: str, digest: str) -> tuple[str, int] | None:
    """Method and content length of a blob; None where it is gone or damaged."""
    try:
        raw = layout.read_file(layout.blob(home_dir, digest), blob.HEADER_BYTES)
        return blob.read_header(raw)
    except (OSError, ValueError):
        return None


def blobs(home_dir: str) -> list[Blob]:
    """Every blob in the store.

    Raises:
        StoreError: a folder cannot be read.
    """
    found = []
    for shard, entries in _shards(layout.root(home_dir) + "/blobs"):
        for entry in entries:
            if not _REST.fullmatch(entry.name):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if stat.S_ISREG(status.st_mode):
                found.append(Blob(shard + entry.name, status.st_size, status.st_mtime_ns))
    return found


def beside(home_dir: str) -> Iterator[tuple[str, str]]:
    """Digest and kind (`json`, `pin`) of every file beside a blob.

    Raises:
        StoreError: a folder cannot be read.
    """
    for shard, entries in _shards(layout.root(home_dir) + "/meta"):
        for entry in entries:
            if name := _BESIDE.fullmatch(entry.name):
                yield shard + name[1], name[2]


def matching(home_dir: str, start: str) -> list[str]:
    """The digests that begin with some digits, at least two.

    Raises:
        StoreError: the folder cannot be read.
    """
    folder = f"{layout.root(home_dir)}/blobs/{start[:2]}"
    return sorted(
        start[:2] + entry.name
        for entry in _entries(folder)
        if _REST.fullmatch(entry.name) and entry.name.startswith(start[2:])
    )


def split(data: bytes) -> list[bytes]:
    """The lines of some content without their line breaks."""
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def span(asked: str, count: int, what: str = "line") -> Span:
    """The lines, or whatever else is counted, that `A:B`, `A:`, `:B`, `A` or `A-B` asks for.

    Numbers below 0 count from the end, and `A@C` begins at a character of a line.

    Raises:
        StoreError: it is no range, or begins behind the last line.
    """
    dashed = _DASHED.fullmatch(asked)
    found = _RANGE.fullmatch(f"{dashed[1]}:{dashed[2]}" if dashed else asked)
    ends = [found["first"], found["last"]] if found else [None, None]
    if found is None or not any(ends) or any(len(end or "") > _MOST_DIGITS for end in ends):
        raise StoreError(f"{asked[:40]!r} is no range of {what}s: write A:B, A: or :B")
    first = _position(ends[0], 1, count)
    last = _position(ends[1], count, count) if found["colon"] else first
    if first > count:
        raise StoreError(f"there is no {what} {first:,}: the last one is {count:,}")
    if last < first:
        raise StoreError(f"{asked!r} asks for no {what}s: it ends before it begins")
    return Span(first, min(last, count), int((found["after"] or "1")[:_MOST_DIGITS]) - 1)


def _position(text: str | None, default: int, count: int) -> int:
    if text is None:
        return default
    number = int(text)
    return max(1, count + 1 + number if number < 0 else number)


def _raw(home_dir: str, digest: str) -> bytes:
    path = layout.blob(home_dir, digest)
    try:
        return layout.read_file(path)
    except FileNotFoundError:
        if not removal.bring_back(home_dir, digest):
            raise
        return layout.read_file(path)


def _missing(key: str) -> StoreError:
    return StoreError(f"{key} is not in the store: it was pruned, forgotten or never stored")


def _damaged(key: str, how: str) -> StoreError:
    return StoreError(f"{key} is damaged and was not returned ({how})")


def _shards(folder: str) -> Iterator[tuple[str, Iterable[os.DirEntry[str]]]]:
    for shard in sorted(_entries(folder), key=lambda entry: entry.name):
        if _SHARD.fullmatch(shard.name):
            yield shard.name, _entries(shard.path)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StoreError(f"{folder} cannot be read: {error.strerror or error}") from error
