"""Packs blobs again, smaller or as the user wishes; hooks have no time for it, housekeeping has."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from brimline import fastio, fastjson, libraries
from brimline.store import blobfile, files, layout, put, quiet, scan, zstd
from brimline.store.errors import StoreError

AUTO = "auto"
CHOICES = (AUTO, blobfile.ZSTD, blobfile.GZIP, blobfile.NONE)
# What was used this recently may be read again, or removed, right now.
_SETTLED_S = 3_600.0
_GZIP_LEVEL = 6


@dataclass(slots=True)
class Recompressed:
    """What a pass did."""

    blobs: int = 0
    saved_bytes: int = 0
    damaged: int = 0
    """Blobs that were left alone because they are damaged."""
    finished: bool = True
    """False where the time was up first; the next pass goes on."""


def recompress(
    home_dir: str,
    compression: str = AUTO,
    *,
    budget_s: float = 1.0,
    settled_s: float = _SETTLED_S,
    now: float | None = None,
) -> Recompressed:
    """Give blobs the wanted compression, each swapped whole for a verified copy.

    Args:
        home_dir: the data folder.
        compression: the setting `store.compression`; `auto` is zstd where there is one, and
            otherwise leaves blobs as hooks wrote them.
        budget_s: about how long it may take.
        settled_s: what was used more recently than this is left for later.
        now: the present, for tests.

    Raises:
        StoreError: zstd is wanted and there is none, or a folder cannot be read.
        OSError: a blob cannot be written.
    """
    libraries.make_importable(home_dir)  # a hook starts without them
    method = _method(compression)
    done = Recompressed()
    if method is None:
        return done
    deadline = time.monotonic() + budget_s
    begun = time.time() if now is None else now
    since_ns = _finished_before(home_dir, method)
    for blob in scan.blobs(home_dir):
        if time.monotonic() > deadline:
            done.finished = False
            break
        # What changed after the last pass began; a pass that is due again has a younger time.
        if blob.changed_ns >= since_ns and blob.used_ns < (begun - settled_s) * 1e9:
            _repack(home_dir, blob, method, done)
    if done.finished:
        # Blobs that were too fresh for this pass must not be too old for the next.
        _mark(home_dir, method, int((begun - settled_s - 60) * 1e9))
    return done


def _method(compression: str) -> str | None:
    if compression == AUTO:
        return blobfile.ZSTD if zstd.available() else None
    if compression == blobfile.ZSTD and not zstd.available():
        raise StoreError("there is no zstd here: pip install zstandard, or choose auto")
    return compression


def _repack(home_dir: str, blob: scan.Blob, method: str, done: Recompressed) -> None:
    path = layout.blob(home_dir, blob.digest)
    try:
        descriptor = quiet.open_file(path)
    except FileNotFoundError:
        return
    try:
        raw = fastio.read_all(descriptor)
        data = blobfile.unpack(raw)
        if blobfile.read_header(raw)[0] == method:
            return
        packed = blobfile.pack(data, method, _GZIP_LEVEL)
        if put.sha256(data) != blob.digest:
            done.damaged += 1
        elif _is_wanted(raw, packed, method):
            _swap(home_dir, path, packed, descriptor)
            done.blobs += 1
            done.saved_bytes += len(raw) - len(packed)
    except FileNotFoundError:
        return
    except (ValueError, ImportError):
        done.damaged += 1
    finally:
        os.close(descriptor)


def _is_wanted(raw: bytes, packed: bytes, method: str) -> bool:
    """A copy is worth it where it is smaller, or where it is free of a method not wanted."""
    before, after = blobfile.read_header(raw)[0], blobfile.read_header(packed)[0]
    if before == after:
        return False
    return len(packed) < len(raw) or method != blobfile.ZSTD


def _swap(home_dir: str, path: str, packed: bytes, old: int) -> None:
    """Replace a blob, keeping the time of its last use, also one of this very moment."""
    before = os.fstat(old).st_mtime_ns
    copy = files.write_aside(home_dir, packed, stamp_ns=before, sync=True)
    if not os.path.exists(path):  # removed meanwhile: it must not come back
        os.unlink(copy)
        return
    files.move(copy, path)
    used = os.fstat(old).st_mtime_ns
    if used != before:
        current = os.stat(path).st_mtime_ns
        os.utime(path, ns=(max(used, current), max(used, current)))


def _finished_before(home_dir: str, method: str) -> int:
    """When the last complete pass for this method began; blobs unchanged since are done."""
    try:
        stored = fastjson.loads(quiet.read(marker(home_dir)).decode("ascii", "replace"))
        since = stored["since_ns"] if stored["method"] == method else 0
    except (OSError, ValueError, KeyError, TypeError):
        return 0
    # A time in the future is that of a clock that was wrong.
    return since if isinstance(since, int) and since < time.time_ns() else 0


def _mark(home_dir: str, method: str, since_ns: int) -> None:
    document = fastjson.dumps({"v": 1, "method": method, "since_ns": since_ns})
    files.place(home_dir, marker(home_dir), document.encode())


def marker(home_dir: str) -> str:
    """The file that says up to when blobs are done."""
    return layout.root(home_dir) + "/recompressed"
