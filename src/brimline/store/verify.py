"""Checks every blob against its key, and tells what is wrong; changes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from brimline.store import read, scan
from brimline.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(slots=True)
class Verified:
    """What a check of the whole store found."""

    blobs: int = 0
    disk_bytes: int = 0
    problems: dict[str, str] = field(default_factory=dict)
    """Blobs that cannot be handed back, by key, each with a sentence."""
    without_sidecar: list[str] = field(default_factory=list)
    """Blobs that can be read but of which nothing else is known."""
    without_blob: list[str] = field(default_factory=list)
    """Sidecars and pins that are left over; `gc` clears them away."""


def verify(home_dir: str, progress: Callable[[int], None] | None = None) -> Verified:
    """Read every blob.

    Args:
        home_dir: the data folder.
        progress: told the size of each blob that is done.

    Raises:
        StoreError: a folder cannot be read.
    """
    done = Verified()
    blobs = scan.blobs(home_dir)
    beside = list(scan.beside(home_dir))
    described = {digest for digest, kind in beside if kind == "json"}
    present = {blob.digest for blob in blobs}
    for blob in blobs:
        try:
            read.get(home_dir, blob.key, touch=False)
        except StoreError as error:
            done.problems[blob.key] = str(error)
        else:
            if blob.digest not in described:
                done.without_sidecar.append(blob.key)
        done.blobs += 1
        done.disk_bytes += blob.disk_bytes
        if progress:
            progress(blob.disk_bytes)
    lone = {digest for digest, _ in beside if digest not in present}
    done.without_blob = sorted("sha256:" + digest for digest in lone)
    return done
