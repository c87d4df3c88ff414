"""Checking the whole store."""

from __future__ import annotations

import os
from pathlib import Path

from brimline.store import layout, pins, scan, verify

from . import shelves
from .shelves import stored, text


def test_every_blob_is_checked_and_nothing_is_changed(home_dir: str) -> None:
    """Damage, lost sidecars and lone sidecars are told apart; not even times change."""
    sound, damaged, bare, lone = [stored(home_dir, text(n)) for n in range(4)]
    pins.pin(home_dir, lone, "hard")
    Path(layout.blob(home_dir, damaged[7:])).write_bytes(b"BRB1g")
    os.unlink(layout.sidecar(home_dir, bare[7:]))
    os.unlink(layout.blob(home_dir, lone[7:]))
    before = shelves.snapshot(home_dir)
    told: list[int] = []

    done = verify.verify(home_dir, told.append)

    assert list(done.problems) == [damaged]
    assert done.without_sidecar == [bare]
    assert done.without_blob == [lone]
    assert done.blobs == 3
    assert sum(told) == done.disk_bytes == sum(blob.disk_bytes for blob in scan.blobs(home_dir))
    assert shelves.snapshot(home_dir) == before
    assert sound not in done.problems
