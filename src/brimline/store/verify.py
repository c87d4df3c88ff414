"""Checks every blob against its key, and tells what is wrong; changes nothing."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from brimline.store import layout, read, scan
from brimline.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

_SHARDS = 256


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
    strange = _strange(home_dir, present)
    for digest in strange:
        problem = _problem(home_dir, layout.PREFIX + digest)
        if problem:
            done.problems[layout.PREFIX + digest] = problem
    for blob in blobs:
        problem = _problem(home_dir, blob.key)
        if problem:
            done.problems[blob.key] = problem
        elif blob.digest not in described:
            done.without_sidecar.append(blob.key)
        done.blobs += 1
        done.disk_bytes += blob.disk_bytes
        if progress:
            progress(blob.disk_bytes)
    done.blobs += len(strange)
    lone = {digest for digest, _ in beside} - present - set(strange)
    done.without_blob = sorted(layout.PREFIX + digest for digest in lone)
    return done


def _problem(home_dir: str, key: str) -> str:
    """Why a blob cannot be handed back; empty where it can."""
    try:
        read.get(home_dir, key, touch=False)
    except StoreError as error:
        return str(error)
    return ""


def _strange(home_dir: str, present: set[str]) -> list[str]:
    """Digests at whose places there is something other than a file."""
    named = [
        digest for shard in range(_SHARDS) for digest in scan.matching(home_dir, f"{shard:02x}")
    ]
    return [
        digest
        for digest in named
        if digest not in present and _is_strange(layout.blob(home_dir, digest))
    ]


def _is_strange(path: str) -> bool:
    try:
        return not stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:  # removed meanwhile
        return False
