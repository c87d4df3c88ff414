"""Finding the keys that files mention, and remembering what was found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.store import references
from brimline.store.references import Cache

from .examples import thorough

DIGEST = "0123456789abcdef" * 4


def old_file(folder: Path, content: bytes, name: str = "a.jsonl") -> str:
    """A file that was written a while ago."""
    path = folder / name
    path.write_bytes(content)
    os.utime(path, (1_000_000, 1_000_000))
    return str(path)


@pytest.mark.row("S3-69")
@pytest.mark.parametrize("offset", [-72, -71, -40, -7, -1, 0, 1])
def test_a_key_across_the_border_of_two_blocks_is_found(world: Path, offset: int) -> None:
    """Files are read in blocks of four megabytes."""
    before = b"x" * ((4 << 20) + offset)
    path = old_file(world, before + f"sha256:{DIGEST}".encode() + b"y" * 100)

    assert references.find([path]).digests == {DIGEST}


@thorough
@given(around=st.binary(max_size=30), after=st.binary(max_size=30))
def test_a_key_is_found_whatever_is_around_it(
    tmp_path_factory: pytest.TempPathFactory, around: bytes, after: bytes
) -> None:
    """Raw bytes: no JSON, no encoding, no line is assumed."""
    path = tmp_path_factory.getbasetemp() / "around.jsonl"
    path.write_bytes(around + b"sha256:" + DIGEST.encode() + after)

    assert DIGEST in references.find([str(path)]).digests


def test_an_unchanged_file_is_not_read_again(home_dir: str, world: Path) -> None:
    """Size and time tell; a change of either makes it read again."""
    path = old_file(world, f"sha256:{DIGEST}".encode())
    cache = references.load(home_dir)
    references.find([path], cache)
    references.save(home_dir, cache)
    Path(path).write_bytes(b"-" * 71)
    os.utime(path, (1_000_000, 1_000_000))

    kept = references.load(home_dir)
    assert references.find([path], kept).digests == {DIGEST}
    os.utime(path, (1_000_001, 1_000_001))
    assert references.find([path], kept).digests == set()


def test_a_file_that_changed_just_now_is_not_remembered(home_dir: str, world: Path) -> None:
    """It may change again within the tick of the clock."""
    path = world / "live.jsonl"
    path.write_text(f"sha256:{DIGEST}")
    cache = Cache()

    assert references.find([str(path)], cache).digests == {DIGEST}
    assert cache.entries == {}


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"v":1}', b'{"v":2,"files":{}}', b'{"v":1,"files":{"a":3}}']
)
def test_a_damaged_memory_is_as_good_as_none(home_dir: str, world: Path, content: bytes) -> None:
    """It costs time, nothing else."""
    path = old_file(world, f"sha256:{DIGEST}".encode(), "a")
    Path(home_dir, "store").mkdir(parents=True)
    Path(references.cache_file(home_dir)).write_bytes(content)

    assert references.find([path], references.load(home_dir)).digests == {DIGEST}


def test_files_that_are_gone_are_forgotten(home_dir: str, world: Path) -> None:
    """What is remembered does not grow for ever."""
    first, second = old_file(world, b"1", "1"), old_file(world, b"2", "2")
    cache = Cache()
    references.find([first, second], cache)
    os.unlink(first)
    references.save(home_dir, cache)

    assert list(references.load(home_dir).entries) == [second]


def test_what_is_no_file_mentions_nothing_and_what_is_gone_neither(world: Path) -> None:
    """Folders, and files that were deleted meanwhile."""
    assert references.find([str(world), str(world / "gone")]) == references.Found()
