"""Packing blobs again: the content stays, the time of use stays, damage is left alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from brimline.store import blobfile, files, layout, put, read, recompress, scan, zstd
from brimline.store.errors import StoreError

from . import shelves
from .shelves import DAY_S, METHODS, noise, stored, text

needs_zstd = pytest.mark.skipif(not zstd.available(), reason="there is no zstd here")


def methods(home_dir: str) -> set[str]:
    """How the blobs of a store are packed."""
    return {(scan.header(home_dir, blob.digest) or ("?", 0))[0] for blob in scan.blobs(home_dir)}


@pytest.mark.row("S3-54")
@pytest.mark.parametrize("last", METHODS)
@pytest.mark.parametrize("first", METHODS)
def test_blobs_get_the_wanted_method_and_keep_content_and_time(
    home_dir: str, first: str, last: str
) -> None:
    """From any method to any other."""
    keys = {stored(home_dir, text(n), DAY_S): text(n) for n in range(3)}
    recompress.recompress(home_dir, first)
    before = {blob.key: blob.used_ns for blob in scan.blobs(home_dir)}

    done = recompress.recompress(home_dir, last)

    assert done.finished
    assert done.blobs == (0 if first == last else 3)
    assert methods(home_dir) == {last}
    assert {blob.key: blob.used_ns for blob in scan.blobs(home_dir)} == before
    assert {key: read.get(home_dir, key) for key in keys} == keys
    assert shelves.temporary_files(home_dir) == []


@needs_zstd
def test_auto_is_zstd_where_there_is_one(home_dir: str) -> None:
    """It saves room; what would grow stays as it is."""
    stored(home_dir, text(1, 200_000), DAY_S)
    stored(home_dir, noise(1, 5_000), DAY_S)
    stored(home_dir, b"small", DAY_S)

    done = recompress.recompress(home_dir)

    assert methods(home_dir) == {"zstd", "none"}
    assert done.blobs == 1
    assert done.saved_bytes > 0


@needs_zstd
def test_a_hook_stores_known_content_again_where_it_cannot_read_zstd(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be compared is not relied on, and a reader says what is missing."""
    key = stored(home_dir, text(1), DAY_S)
    recompress.recompress(home_dir)
    monkeypatch.setattr(zstd, "_optional", lambda _: None)

    with pytest.raises(StoreError, match="compressed with zstd: pip install zstandard"):
        read.get(home_dir, key)
    assert put.put(home_dir, text(1), {}) == key
    assert read.get(home_dir, key) == text(1)


def test_without_zstd_auto_leaves_blobs_alone_and_zstd_is_refused(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence says what to install."""
    stored(home_dir, text(1), DAY_S)
    monkeypatch.setattr(zstd, "_optional", lambda _: None)

    assert recompress.recompress(home_dir) == recompress.Recompressed()
    assert methods(home_dir) == {"gzip"}
    with pytest.raises(StoreError, match="pip install zstandard"):
        recompress.recompress(home_dir, "zstd")


def test_what_was_used_within_the_hour_is_left_for_later(home_dir: str) -> None:
    """The next pass takes it, also where this one was complete."""
    stored(home_dir, text(1))
    (blob,) = scan.blobs(home_dir)

    assert recompress.recompress(home_dir, "none").blobs == 0
    later = blob.used_ns / 1e9 + 4_000
    assert recompress.recompress(home_dir, "none", now=later).blobs == 1


def test_a_pass_without_time_does_nothing_and_the_next_goes_on(home_dir: str) -> None:
    """It is bounded."""
    stored(home_dir, text(1), DAY_S)

    assert not recompress.recompress(home_dir, "none", budget_s=-1).finished
    assert recompress.recompress(home_dir, "none").blobs == 1


def test_a_damaged_blob_is_left_as_it_is(home_dir: str) -> None:
    """Repacking would give damage a sound look."""
    torn, wrong = stored(home_dir, text(1), DAY_S), stored(home_dir, text(2), DAY_S)
    Path(layout.blob(home_dir, torn[7:])).write_bytes(b"BRB1g")
    Path(layout.blob(home_dir, wrong[7:])).write_bytes(blobfile.pack(text(3)))
    for key in (torn, wrong):
        shelves.age(home_dir, key, DAY_S)

    done = recompress.recompress(home_dir, "none")

    assert (done.blobs, done.damaged) == (0, 2)
    assert Path(layout.blob(home_dir, torn[7:])).read_bytes() == b"BRB1g"


def test_a_use_during_the_swap_is_not_lost(home_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the blob would look unused and could be collected."""
    key = stored(home_dir, text(1), DAY_S)
    (before,) = scan.blobs(home_dir)
    move = files.move

    def used_just_before(source: str, target: str) -> None:
        if "/blobs/" in target:
            files.touch(home_dir, key[7:])
        move(source, target)

    monkeypatch.setattr(files, "move", used_just_before)

    assert recompress.recompress(home_dir, "none").blobs == 1
    (after,) = scan.blobs(home_dir)
    assert after.used_ns > before.used_ns + 80_000 * 10**9


def test_what_was_removed_meanwhile_does_not_come_back(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user who forgot it has the last word."""
    key = stored(home_dir, text(1), DAY_S)
    write = files.write_aside

    def removed_meanwhile(*arguments: object, **options: object) -> str:
        if os.path.exists(layout.blob(home_dir, key[7:])):
            os.unlink(layout.blob(home_dir, key[7:]))
        return write(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(files, "write_aside", removed_meanwhile)
    recompress.recompress(home_dir, "none")

    assert scan.blobs(home_dir) == []
    assert shelves.temporary_files(home_dir) == []
