"""Handing content back: exact, in parts, by a short key, and never damaged."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from brimline.bulk import contents, layout, put, removal
from brimline.errors import StoreError
from brimline.fast import io

from .shelves import METHODS, Disk, golden, packed_by, read_only, stored, text


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("place", [0, 4, 7, 13, 40, -1, None])
def test_a_blob_that_fails_its_hash_is_reported_and_never_returned(
    home_dir: str, method: str, place: int | None
) -> None:
    """One flipped bit anywhere is enough, and so is sound content under another key."""
    key = stored(home_dir, text(1))
    damaged = bytearray(packed_by(text(1 if place is not None else 2), method))
    damaged[place or 0] ^= 0 if place is None else 4
    Path(layout.stored_path(home_dir, key[7:])).write_bytes(damaged)

    with pytest.raises(StoreError, match=f"{key} cannot be returned: it"):
        contents.read_content(home_dir, key)


def test_reading_counts_as_a_use_unless_told_otherwise_or_the_disk_is_read_only(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Age is counted from the last use; that it cannot be noted keeps nothing back."""
    key = stored(home_dir, text(1), age_s=1_000)
    (before,) = contents.list_blobs(home_dir)

    contents.read_content(home_dir, key, touch=False)
    (same,) = contents.list_blobs(home_dir)
    contents.read_content(home_dir, key)
    (after,) = contents.list_blobs(home_dir)

    assert same == before
    assert after.used_ns > before.used_ns + 900 * 10**9
    monkeypatch.setattr(io, "system", Disk(read_only, 0, lasting=True))
    assert contents.read_content(home_dir, key) == text(1)
    with pytest.raises(OSError, match="Read-only"):
        put.put(home_dir, text(2), {})


def test_what_a_killed_removal_left_aside_is_found(home_dir: str) -> None:
    """A reader brings it back."""
    key = stored(home_dir, text(1))
    removal.move_file_aside(home_dir, "blob", key[7:])
    assert contents.list_blobs(home_dir) == []

    assert contents.resolve_key(home_dir, key) == key
    removal.move_file_aside(home_dir, "blob", key[7:])
    assert contents.read_content(home_dir, key) == text(1)
    assert [blob.key for blob in contents.list_blobs(home_dir)] == [key]


def test_a_key_can_be_written_in_short(home_dir: str) -> None:
    """Eight digits that fit one blob, in either case; foreign text never becomes a path."""
    key = stored(home_dir, text(1))
    digest, short = key[7:], key[7:15]
    for written in (key, digest, short, "sha256:" + short, digest.upper(), f" {short} ", "last"):
        assert contents.resolve_key(home_dir, written) == key

    other = digest[:-1] + ("0" if key[-1] != "0" else "1")
    Path(layout.stored_path(home_dir, other)).write_bytes(b"")
    with pytest.raises(StoreError, match="2 keys begin with"):
        contents.resolve_key(home_dir, key[7:20])
    assert contents.resolve_key(home_dir, key) == key
    for written in ("", "1234567", "../../../../etc/passwd", "sha256:", "g" * 64, "0" * 65):
        with pytest.raises(StoreError, match="is not a key"):
            contents.resolve_key(home_dir, written)
        with pytest.raises(StoreError, match="is not a key"):
            contents.read_content(home_dir, written)


def test_the_last_key_is_what_was_stored_last(home_dir: str) -> None:
    """Without a note of it the one used last; an empty store and one that is gone say so."""
    last = Path(home_dir + layout.LAST_KEY)
    with pytest.raises(StoreError, match="nothing has been stored yet"):
        contents.resolve_key(home_dir, "last")
    stored(home_dir, text(1), age_s=1_000)
    newer = stored(home_dir, text(2))
    assert contents.resolve_key(home_dir, "last") == newer
    noted = last.read_bytes()
    for note in (b"", b"sha256:zz\n", b"\xff" * 900, noted):
        last.write_bytes(note)
        assert contents.resolve_key(home_dir, "last") == newer

    os.unlink(layout.stored_path(home_dir, newer[7:]))
    with pytest.raises(StoreError, match="is not in the store"):
        contents.resolve_key(home_dir, "last")


@pytest.mark.parametrize("row", golden("spans.json"), ids=lambda row: row["asked"])
def test_lines_are_asked_for_in_the_ways_that_people_and_models_write(row: dict[str, Any]) -> None:
    """Either end may be left out, and below 0 it counts from the end; else one sentence."""
    if isinstance(row["wanted"], list):
        assert list(contents.parse_range(row["asked"], 10)) == row["wanted"]
    else:
        with pytest.raises(StoreError, match=row["wanted"]):
            contents.parse_range(row["asked"], 10)


@pytest.mark.parametrize(("length", "shown"), [(40, 40), (41, 40)])
def test_what_is_no_range_is_named_by_forty_characters(length: int, shown: int) -> None:
    """Whoever wrote it."""
    with pytest.raises(StoreError) as raised:
        contents.parse_range("x" * length, 5)

    told = f"{'x' * shown!r} is not a range of lines: write A:B, A: or :B"
    assert str(raised.value) == told


@pytest.mark.parametrize(
    ("written", "span"),
    [
        ("999999999999:", None),
        ("1:999999999999", (1, 5)),
        ("1:9999999999999", None),
        ("2@7:", (2, 5)),
    ],
)
def test_a_line_number_has_up_to_twelve_digits(written: str, span: tuple[int, int] | None) -> None:
    """What ends behind the last line ends with it."""
    if span is None:
        with pytest.raises(StoreError):
            contents.parse_range(written, 5)
    else:
        assert contents.parse_range(written, 5)[:2] == span
