"""Checking the whole store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.store import layout, pins, scan, verify

from . import shelves
from .shelves import stored, text

if TYPE_CHECKING:
    from collections.abc import Callable


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


@pytest.mark.parametrize("make", [os.mkdir, getattr(os, "mkfifo", os.mkdir)])
def test_what_is_no_file_is_reported(home_dir: str, make: Callable[[str], None]) -> None:
    """A pipe or a folder in the place of a blob; its description is not left over."""
    sound, strange = stored(home_dir, text(1)), stored(home_dir, text(2))
    os.unlink(layout.blob(home_dir, strange[7:]))
    make(layout.blob(home_dir, strange[7:]))

    done = verify.verify(home_dir)

    assert done.problems == {strange: f"{strange} cannot be read: it is not a regular file"}
    assert (done.blobs, done.without_blob) == (2, [])
    assert sound not in done.problems


def test_a_link_that_leads_to_the_content_is_no_problem(home_dir: str, tmp_path: Path) -> None:
    """It can be handed back."""
    key = stored(home_dir, text(1))
    blob = layout.blob(home_dir, key[7:])
    os.rename(blob, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", blob)

    assert verify.verify(home_dir).problems == {}
