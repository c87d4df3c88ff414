"""Handing content back: exact, in parts, by a short key, and never damaged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from brimline.errors import StoreError
from brimline.fast import io
from brimline.store import contents, layout, put, removal

from .shelves import METHODS, Disk, packed_by, read_only, stored, text


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("place", [0, 4, 7, 13, 40, -1])
def test_a_blob_that_fails_its_hash_is_reported_and_never_returned(
    home_dir: str, method: str, place: int
) -> None:
    """One flipped bit anywhere is enough."""
    key = stored(home_dir, text(1))
    blob = Path(layout.file(home_dir, key[7:]))
    damaged = bytearray(packed_by(text(1), method))
    damaged[place] ^= 4
    blob.write_bytes(damaged)

    with pytest.raises(StoreError, match=f"{key} is damaged and was not returned"):
        contents.get(home_dir, key)


def test_content_put_in_the_wrong_place_is_not_returned(home_dir: str) -> None:
    """A sound blob under another key is damage too."""
    first, second = stored(home_dir, text(1)), stored(home_dir, text(2))
    os.replace(layout.file(home_dir, first[7:]), layout.file(home_dir, second[7:]))

    with pytest.raises(StoreError, match="does not match the key"):
        contents.get(home_dir, second)


def test_reading_counts_as_a_use_unless_told_otherwise(home_dir: str) -> None:
    """Age is counted from the last use."""
    key = stored(home_dir, text(1), age_s=1_000)
    (before,) = contents.blobs(home_dir)

    contents.get(home_dir, key, touch=False)
    (same,) = contents.blobs(home_dir)
    contents.get(home_dir, key)
    (after,) = contents.blobs(home_dir)

    assert same == before
    assert after.used_ns > before.used_ns + 900 * 10**9


def test_a_store_that_is_read_only_can_be_read(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That the use cannot be noted is no reason to keep content back."""
    key = stored(home_dir, text(1))
    monkeypatch.setattr(io, "system", Disk(read_only, 0, lasting=True))

    assert contents.get(home_dir, key) == text(1)
    with pytest.raises(OSError, match="Read-only"):
        put.put(home_dir, text(2), {})


def test_a_lost_or_damaged_sidecar_costs_nothing_but_what_it_said(home_dir: str) -> None:
    """The content is there; what is known about it is nothing."""
    first, second = stored(home_dir, text(1)), stored(home_dir, text(2))
    os.unlink(layout.file(home_dir, first[7:], "json"))
    Path(layout.file(home_dir, second[7:], "json")).write_text('{"v": 1, "by')

    assert (contents.get(home_dir, first), contents.meta(home_dir, first)) == (text(1), {})
    assert (contents.get(home_dir, second), contents.meta(home_dir, second)) == (text(2), {})


def test_what_a_killed_removal_left_aside_is_found(home_dir: str) -> None:
    """A reader brings it back."""
    key = stored(home_dir, text(1))
    removal.move_aside(home_dir, "blob", key[7:])
    assert contents.blobs(home_dir) == []

    assert contents.resolve(home_dir, key) == key
    removal.move_aside(home_dir, "blob", key[7:])
    assert contents.get(home_dir, key) == text(1)
    assert [blob.key for blob in contents.blobs(home_dir)] == [key]


@pytest.mark.parametrize(
    "written", ["{key}", "{digest}", "{short}", "sha256:{short}", "{upper}", " {short} ", "last"]
)
def test_a_key_can_be_written_in_short(home_dir: str, written: str) -> None:
    """Eight digits that fit one blob only, in either case, with or without the prefix."""
    key = stored(home_dir, text(1))
    names = {"key": key, "digest": key[7:], "short": key[7:15], "upper": key[7:].upper()}

    assert contents.resolve(home_dir, written.format(**names)) == key


def test_digits_that_fit_two_keys_are_not_enough(home_dir: str) -> None:
    """The choice is the user's."""
    key = stored(home_dir, text(1))
    other = key[7:-1] + ("0" if key[-1] != "0" else "1")
    Path(layout.file(home_dir, other)).write_bytes(b"")

    with pytest.raises(StoreError, match="2 keys begin with"):
        contents.resolve(home_dir, key[7:20])
    assert contents.resolve(home_dir, key) == key


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
        contents.resolve(home_dir, written)


def test_an_empty_store_says_so(home_dir: str) -> None:
    """Nothing was stored, or what was stored last is gone."""
    with pytest.raises(StoreError, match="nothing has been stored yet"):
        contents.resolve(home_dir, "last")
    key = stored(home_dir, text(1))
    os.unlink(layout.file(home_dir, key[7:]))
    with pytest.raises(StoreError, match="is not in the store"):
        contents.resolve(home_dir, "last")


@pytest.mark.parametrize("note", [None, b"", b"sha256:zz\n", b"\xff" * 900])
def test_the_last_key_is_known_even_where_its_note_is_lost(
    home_dir: str, note: bytes | None
) -> None:
    """It is what was used last."""
    stored(home_dir, text(1), age_s=1_000)
    newer = stored(home_dir, text(2))
    os.unlink(home_dir + layout.LAST_KEY)
    if note is not None:
        Path(home_dir + layout.LAST_KEY).write_bytes(note)

    assert contents.resolve(home_dir, "last") == newer


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("3:5", contents.Span(3, 5)),
        ("3:", contents.Span(3, 10)),
        (":5", contents.Span(1, 5)),
        ("-2:", contents.Span(9, 10)),
        (":-9", contents.Span(1, 2)),
        ("4", contents.Span(4, 4)),
        (" 2 - 4 ", contents.Span(2, 4)),
        ("9:99", contents.Span(9, 10)),
        ("0:2", contents.Span(1, 2)),
        ("2@501:4", contents.Span(2, 4, 500)),
    ],
)
def test_lines_are_asked_for_in_the_ways_that_people_and_models_write(
    asked: str, wanted: contents.Span
) -> None:
    """Either end may be left out, and below 0 it counts from the end."""
    assert contents.span(asked, 10) == wanted


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ("", "is no range of lines: write A:B"),
        (":", "is no range"),
        ("a:b", "is no range"),
        ("1:2:3", "is no range"),
        ("1" * 40, "is no range"),
        ("11:", "there is no line 11: the last one is 10"),
        ("5:3", "ends before it begins"),
    ],
)
def test_what_is_no_range_is_refused_in_one_sentence(asked: str, complaint: str) -> None:
    """With how to write one."""
    with pytest.raises(StoreError, match=complaint):
        contents.span(asked, 10)


def test_a_newer_store_is_left_to_a_newer_brimline(home_dir: str) -> None:
    """The format says who can read it."""
    stored(home_dir, text(1))
    layout.check_format(home_dir)
    Path(home_dir + layout.FORMAT_FILE).write_text("2\n")

    with pytest.raises(StoreError, match="was written by a newer brimline"):
        layout.check_format(home_dir)
