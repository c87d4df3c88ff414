"""The inside of a blob file: exact for every content and method, and honest about damage."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brimline.store import blobfile

from .examples import thorough
from .shelves import METHODS, noise, text

contents = st.one_of(
    st.binary(max_size=3_000),
    st.builds(lambda part, times: part * times, st.binary(max_size=40), st.integers(0, 3_000)),
)


@pytest.mark.row("S3-54")
@thorough
@given(data=contents, method=st.sampled_from(METHODS))
@example(data=b"", method="gzip")
@example(data=b"\0" * 1_024, method="gzip")
def test_content_comes_back_byte_for_byte(data: bytes, method: str) -> None:
    """Whatever it is, and whatever it was compressed with."""
    packed = blobfile.pack(data, method)

    assert blobfile.unpack(packed) == data
    assert blobfile.read_header(packed)[1] == len(data)


@pytest.mark.row("S3-54")
@pytest.mark.parametrize("method", METHODS)
def test_the_file_names_its_method(method: str) -> None:
    """No sidecar is needed to read it."""
    assert blobfile.read_header(blobfile.pack(text(1), method)) == (method, 4_000)


@pytest.mark.row("S3-54")
@pytest.mark.parametrize("data", [text(1, 1_023), noise(1, 5_000)], ids=["small", "noise"])
@pytest.mark.parametrize("method", METHODS)
def test_what_gains_nothing_by_compression_is_kept_as_it_is(data: bytes, method: str) -> None:
    """Less than a kilobyte, and content that does not shrink."""
    assert blobfile.read_header(blobfile.pack(data, method))[0] == "none"


def test_a_gzip_blob_can_be_read_without_brimline() -> None:
    """Behind the header is an ordinary gzip file."""
    packed = blobfile.pack(text(1))

    assert gzip.decompress(packed[blobfile.HEADER_BYTES :]) == text(1)


@thorough
@given(data=st.binary(max_size=200))
def test_foreign_bytes_are_no_blob(data: bytes) -> None:
    """Any file may lie there; it is damaged, never an unexpected error."""
    with pytest.raises(ValueError, match="header"):
        blobfile.unpack(data)


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
    packed = bytearray(blobfile.pack(text(1), method))
    if cut:
        del packed[place % len(packed) :]
    else:
        packed[place % len(packed)] ^= change

    try:
        found = blobfile.unpack(bytes(packed))
    except ValueError:
        return

    assert len(found) == len(text(1))
    assert not cut


def test_a_damaged_length_does_not_fill_the_memory() -> None:
    """A small file that promises an exabyte is damaged."""
    packed = blobfile.pack(text(1))
    promise = (1 << 60).to_bytes(8, "big")

    with pytest.raises(ValueError, match="instead of"):
        blobfile.unpack(packed[:5] + promise + packed[13:])
