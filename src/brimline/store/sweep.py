"""Clears away what processes that were killed left behind."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from brimline import fastio
from brimline.store import layout, removal, scan

# No write takes an hour; what is younger may still be in the making.
GRACE_S = 3_600.0


@dataclass(frozen=True, slots=True)
class Swept:
    """How many files were dealt with."""

    temporary: int = 0
    """Unfinished writes that were deleted."""
    returned: int = 0
    """Blobs that a killed removal had left aside, now back in their place."""
    orphans: int = 0
    """Sidecars and pins without a blob that were deleted."""


def sweep(
    home_dir: str, *, grace_s: float = GRACE_S, orphans: bool = True, now: float | None = None
) -> Swept:
    """Delete unfinished writes and lone sidecars, and put back what was left aside.

    Args:
        home_dir: the data folder.
        grace_s: what is younger than this may still be in the making.
        orphans: whether to look for lone sidecars, which takes a scan of the whole store.
        now: the present, for tests.

    Raises:
        OSError: something cannot be deleted.
        StoreError: a folder cannot be read.
    """
    oldest = (time.time() if now is None else now) - grace_s
    aside = removal.aside_files(home_dir)
    # Blobs first: a sidecar that is back before its blob would be taken for an orphan.
    for path in sorted(aside, key=lambda path: ".blob." not in path):
        removal.put_back(home_dir, path)
    folder = layout.tmp_dir(home_dir)
    unfinished = [f"{folder}/{name}" for name in fastio.names_in(folder) if name.endswith(".tmp")]
    temporary = sum(_delete_old(path, oldest) for path in unfinished)
    return Swept(temporary, len(aside), _delete_orphans(home_dir, oldest) if orphans else 0)


def _delete_orphans(home_dir: str, oldest: float) -> int:
    beside = list(scan.beside(home_dir))
    present = {blob.digest for blob in scan.blobs(home_dir)}
    paths = {"json": layout.sidecar, "pin": layout.pin}
    lone = [paths[kind](home_dir, digest) for digest, kind in beside if digest not in present]
    return sum(_delete_old(path, oldest) for path in lone)


def _delete_old(path: str, oldest: float) -> bool:
    try:
        if os.stat(path).st_mtime > oldest:
            return False
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True
