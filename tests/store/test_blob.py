"""The inside of a blob file: exact for every content and method, and honest about damage."""

from __future__ import annotations

import gzip
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brimline.errors import StoreError
from brimline.store import contents, layout, put

from .examples import thorough
from .shelves import METHODS, noise, packed_by, stored, text

anything = st.one_of(
    st.binary(max_size=3_000),
    st.builds(lambda part, times: part * times, st.binary(max_size=40), st.integers(0, 3_000)),
)


@pytest.mark.row("S3-54")
@thorough
@given(data=anything, method=st.sampled_from(METHODS))
@example(data=b"", method="gzip")
@example(data=b"\0" * 1_024, method="gzip")
def test_content_comes_back_byte_for_byte(data: bytes, method: str) -> None:
    """Whatever it is, and whatever it was compressed with."""
    packed = packed_by(data, method)

    assert put.unpack(packed) == data
    assert put.read_header(packed)[1] == len(data)


@pytest.mark.row("S3-54")
@pytest.mark.parametrize("method", METHODS)
def test_the_file_names_its_method(method: str) -> None:
    """No sidecar is needed to read it."""
    assert put.read_header(packed_by(text(1), method)) == (method, 4_000)


@pytest.mark.row("S3-54")
@pytest.mark.parametrize(
    "data", [text(1, 1_023), noise(1, 5_000), noise(2, 2_000_000)], ids=["small", "noise", "large"]
)
def test_what_gains_nothing_by_compression_is_kept_as_it_is(data: bytes) -> None:
    """Less than a kilobyte, and content that does not shrink."""
    assert put.read_header(put.pack(data)) == ("none", len(data))


@pytest.mark.row("S3-54")
def test_where_zstd_is_missing_it_is_said_what_to_install(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier versions wrote it; content that comes again is stored so that all can read it."""
    key = stored(home_dir, text(1))
    path = layout.file(home_dir, key[7:])
    with open(path, "wb") as file:
        file.write(packed_by(text(1), "zstd"))
    assert contents.get(home_dir, key) == text(1)
    for name in ("zstandard", "compression", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(StoreError, match="is compressed with zstd: pip install zstandard"):
        contents.get(home_dir, key)
    assert put.put(home_dir, text(1), {}) == key
    assert contents.get(home_dir, key) == text(1)


def test_a_gzip_blob_can_be_read_without_brimline() -> None:
    """Behind the header is an ordinary gzip file."""
    packed = put.pack(text(1))

    assert gzip.decompress(packed[put.HEADER_BYTES :]) == text(1)


@thorough
@given(data=st.binary(max_size=200))
def test_foreign_bytes_are_no_blob(data: bytes) -> None:
    """Any file may lie there; it is damaged, never an unexpected error."""
    with pytest.raises(ValueError, match="header"):
        put.unpack(data)


@thorough
@given(
    method=st.sampled_from(METHODS),
    place=st.integers(0, 10_000),
    change=st.integers(1, 255),
    cut=st.booleans(),
)
def test_damage_is_an_error_or_changes_nothing_but_the_content(
    method: str, place: int, change: int, *, cut: bool
) -> None:
    """A flipped byte or a missing end never gives anything but a plain error or other bytes."""
    packed = bytearray(packed_by(text(1), method))
    if cut:
        del packed[place % len(packed) :]
    else:
        packed[place % len(packed)] ^= change

    try:
        found = put.unpack(bytes(packed))
    except ValueError:
        return

    assert len(found) == len(text(1))
    assert not cut


def test_a_damaged_length_does_not_fill_the_memory() -> None:
    """A small file that promises an exabyte is damaged."""
    packed = put.pack(text(1))
    promise = (1 << 60).to_bytes(8, "big")

    with pytest.raises(ValueError, match="instead of"):
        put.unpack(packed[:5] + promise + packed[13:])
