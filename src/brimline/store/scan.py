"""One pass over the store's folders: what is there, how large, when last used, how pinned.

Names and file attributes say it all, so that a hundred thousand blobs take well under a second;
only the few pins are opened.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, NamedTuple

from brimline.store import blobfile, layout, pins, quiet
from brimline.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SHARD = re.compile(r"[0-9a-f]{2}")
_REST = re.compile(r"[0-9a-f]{62}")
_BESIDE = re.compile(r"([0-9a-f]{62})\.(json|pin)")


class Blob(NamedTuple):
    """A blob as a scan found it."""

    digest: str
    disk_bytes: int
    used_ns: int
    """Last stored or read, in nanoseconds since 1970."""
    changed_ns: int
    """When the system last changed the file in any way."""

    @property
    def key(self) -> str:
        """The key it can be had by."""
        return layout.PREFIX + self.digest


def check_format(home_dir: str) -> None:
    """See that this brimline knows the store's layout.

    Raises:
        StoreError: a newer one wrote it.
    """
    path = layout.format_file(home_dir)
    try:
        noted = quiet.read(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unreadable(path, error) from error
    layout.refuse_newer(home_dir, noted)


def blobs(home_dir: str) -> list[Blob]:
    """Every blob in the store.

    Raises:
        StoreError: a folder cannot be read.
    """
    found = []
    for shard, entries in _shards(layout.blobs_dir(home_dir)):
        for entry in entries:
            if not _REST.fullmatch(entry.name):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if not stat.S_ISREG(status.st_mode):
                continue
            found.append(
                Blob(shard + entry.name, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            )
    return found


def pinned(home_dir: str) -> dict[str, pins.Pin]:
    """Every pin, by the digest of its blob, whether the blob is there or not.

    Raises:
        StoreError: a folder cannot be read.
    """
    found = {}
    for digest, kind in beside(home_dir):
        pin = pins.read(home_dir, digest) if kind == "pin" else None
        if pin is not None:
            found[digest] = pin
    return found


def beside(home_dir: str) -> Iterator[tuple[str, str]]:
    """Digest and kind (`json`, `pin`) of every sidecar.

    Raises:
        StoreError: a folder cannot be read.
    """
    for shard, entries in _shards(layout.meta_dir(home_dir)):
        for entry in entries:
            if name := _BESIDE.fullmatch(entry.name):
                yield shard + name[1], name[2]


def matching(home_dir: str, start: str) -> list[str]:
    """The digests that begin with some digits, at least two.

    Raises:
        StoreError: the folder cannot be read.
    """
    folder = f"{layout.blobs_dir(home_dir)}/{start[:2]}"
    return sorted(
        start[:2] + entry.name
        for entry in _entries(folder)
        if _REST.fullmatch(entry.name) and entry.name.startswith(start[2:])
    )


def header(home_dir: str, digest: str) -> tuple[str, int] | None:
    """Method and content length of a blob; None where it is gone or damaged."""
    try:
        raw = quiet.read(layout.blob(home_dir, digest), blobfile.HEADER_BYTES)
        return blobfile.read_header(raw)
    except (OSError, ValueError):
        return None


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
        raise _unreadable(folder, error) from error


def _unreadable(path: str, error: OSError) -> StoreError:
    return StoreError(f"{path} cannot be read: {error.strerror or error}")
