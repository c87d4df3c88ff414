"""Handing content back: exact, in parts, by a short key, and never damaged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline import fastio
from brimline.store import layout, put, read, removal, scan
from brimline.store.errors import StoreError

from .examples import thorough
from .shelves import METHODS, Disk, read_only, stored, text


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("place", [0, 4, 7, 13, 40, -1])
def test_a_blob_that_fails_its_hash_is_reported_and_never_returned(
    home_dir: str, method: str, place: int
) -> None:
    """One flipped bit anywhere is enough."""
    from brimline.store import blobfile

    key = stored(home_dir, text(1))
    blob = Path(layout.blob(home_dir, key[7:]))
    damaged = bytearray(blobfile.pack(text(1), method))
    damaged[place] ^= 4
    blob.write_bytes(damaged)

    with pytest.raises(StoreError, match=f"{key} is damaged and was not returned"):
        read.get(home_dir, key)


def test_content_put_in_the_wrong_place_is_not_returned(home_dir: str) -> None:
    """A sound blob under another key is damage too."""
    first, second = stored(home_dir, text(1)), stored(home_dir, text(2))
    os.replace(layout.blob(home_dir, first[7:]), layout.blob(home_dir, second[7:]))

    with pytest.raises(StoreError, match="does not match the key"):
        read.get(home_dir, second)


def test_reading_counts_as_a_use_unless_told_otherwise(home_dir: str) -> None:
    """Age is counted from the last use."""
    key = stored(home_dir, text(1), age_s=1_000)
    (before,) = scan.blobs(home_dir)

    read.get(home_dir, key, touch=False)
    (same,) = scan.blobs(home_dir)
    read.get(home_dir, key)
    (after,) = scan.blobs(home_dir)

    assert same == before
    assert after.used_ns > before.used_ns + 900 * 10**9


def test_a_store_that_is_read_only_can_be_read(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That the use cannot be noted is no reason to keep content back."""
    key = stored(home_dir, text(1))
    monkeypatch.setattr(fastio, "system", Disk(read_only, 0, lasting=True))

    assert read.get(home_dir, key) == text(1)
    with pytest.raises(OSError, match="Read-only"):
        put.put(home_dir, text(2), {})


def test_a_lost_or_damaged_sidecar_costs_nothing_but_what_it_said(home_dir: str) -> None:
    """The content is there; what is known about it is nothing."""
    first, second = stored(home_dir, text(1)), stored(home_dir, text(2))
    os.unlink(layout.sidecar(home_dir, first[7:]))
    Path(layout.sidecar(home_dir, second[7:])).write_text('{"v": 1, "by')

    assert (read.get(home_dir, first), read.meta(home_dir, first)) == (text(1), {})
    assert (read.get(home_dir, second), read.meta(home_dir, second)) == (text(2), {})


def test_what_a_killed_removal_left_aside_is_found(home_dir: str) -> None:
    """A reader brings it back."""
    key = stored(home_dir, text(1))
    removal._move_aside(home_dir, "blob", key[7:])
    assert scan.blobs(home_dir) == []

    assert read.resolve(home_dir, key) == key
    removal._move_aside(home_dir, "blob", key[7:])
    assert read.get(home_dir, key) == text(1)
    assert [blob.key for blob in scan.blobs(home_dir)] == [key]


@pytest.mark.parametrize(
    "written", ["{key}", "{digest}", "{short}", "sha256:{short}", "{upper}", " {short} ", "last"]
)
def test_a_key_can_be_written_in_short(home_dir: str, written: str) -> None:
    """Eight digits that fit one blob only, in either case, with or without the prefix."""
    key = stored(home_dir, text(1))
    names = {"key": key, "digest": key[7:], "short": key[7:15], "upper": key[7:].upper()}

    assert read.resolve(home_dir, written.format(**names)) == key


def test_digits_that_fit_two_keys_are_not_enough(home_dir: str) -> None:
    """The choice is the user's."""
    key = stored(home_dir, text(1))
    other = key[7:-1] + ("0" if key[-1] != "0" else "1")
    Path(layout.blob(home_dir, other)).write_bytes(b"")

    with pytest.raises(StoreError, match="2 keys begin with"):
        read.resolve(home_dir, key[7:20])
    assert read.resolve(home_dir, key) == key


@pytest.mark.parametrize(
    "written",
    [
        "",
        "abc",
        "1234567",
        "../../../../etc/passwd",
        "sha256:",
        "g" * 64,
        "0" * 65,
        "sha1:" + "0" * 40,
    ],
)
def test_what_is_no_key_is_refused(home_dir: str, written: str) -> None:
    """Foreign text never becomes a path."""
    with pytest.raises(StoreError, match="is no key"):
        read.resolve(home_dir, written)


def test_an_empty_store_says_so(home_dir: str) -> None:
    """Nothing was stored, or what was stored last is gone."""
    with pytest.raises(StoreError, match="nothing has been stored yet"):
        read.resolve(home_dir, "last")
    key = stored(home_dir, text(1))
    os.unlink(layout.blob(home_dir, key[7:]))
    with pytest.raises(StoreError, match="is not in the store"):
        read.resolve(home_dir, "last")


@pytest.mark.parametrize("note", [None, b"", b"sha256:zz\n", b"\xff" * 900])
def test_the_last_key_is_known_even_where_its_note_is_lost(
    home_dir: str, note: bytes | None
) -> None:
    """From the audit trail; without it, what was used last."""
    older, newer = stored(home_dir, text(1)), stored(home_dir, text(2), age_s=1_000)
    os.unlink(layout.last_key(home_dir))
    if note is not None:
        Path(layout.last_key(home_dir)).write_bytes(note)

    assert read.resolve(home_dir, "last") == newer
    os.unlink(layout.index(home_dir))
    assert read.resolve(home_dir, "last") == older


@thorough
@given(
    data=st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\xff"]), max_size=40).map(b"".join),
    first=st.integers(-12, 12) | st.none(),
    last=st.integers(-12, 12) | st.none(),
)
def test_a_range_of_lines_is_cut_at_line_breaks_only(
    data: bytes, first: int | None, last: int | None
) -> None:
    """Both ends are counted from 1 and included; the bytes in between are untouched."""
    ends = [line + b"\n" for line in data.split(b"\n")]
    ends[-1] = ends[-1][:-1]
    numbered = {number: line for number, line in enumerate(ends, 1) if line}
    count = len(numbered)
    low = 1 if first is None else first if first >= 0 else count + 1 + first
    high = count if last is None else last if last >= 0 else count + 1 + last
    wanted = b"".join(line for number, line in numbered.items() if low <= number <= high)

    assert read.lines(data, first, last) == wanted
    assert put.count_lines(data) == count


@pytest.mark.parametrize(
    ("written", "ends"),
    [
        ("3:5", (3, 5)),
        ("3:", (3, None)),
        (":5", (None, 5)),
        ("-5:", (-5, None)),
        (" 1 : 2 ", (1, 2)),
    ],
)
def test_a_range_is_written_with_a_colon(written: str, ends: tuple[int | None, int | None]) -> None:
    """Either end may be left out."""
    assert read.parse_range(written) == ends


@pytest.mark.parametrize("written", ["", ":", "5", "a:b", "1:2:3", "1-2"])
def test_what_is_no_range_is_refused(written: str) -> None:
    """With a sentence that says how to write one."""
    with pytest.raises(StoreError, match="is no range: write A:B"):
        read.parse_range(written)


def test_a_newer_store_is_left_to_a_newer_brimline(home_dir: str) -> None:
    """The format says who can read it."""
    stored(home_dir, text(1))
    scan.check_format(home_dir)
    Path(layout.format_file(home_dir)).write_text("2\n")

    with pytest.raises(StoreError, match="was written by a newer brimline"):
        scan.check_format(home_dir)
