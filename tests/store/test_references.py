"""Finding the keys that files mention, and remembering what was found."""

from __future__ import annotations

import json
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
@pytest.mark.parametrize("offset", [-72, -71, -55, -40, -7, -1, 0, 1])
def test_a_key_across_the_border_of_two_blocks_is_found(world: Path, offset: int) -> None:
    """Files are read in blocks of four megabytes."""
    before = b"x" * ((4 << 20) + offset)
    path = old_file(world, before + f"sha256:{DIGEST}".encode() + b"y" * 100)

    assert references.find([path]).mentions == {DIGEST}


@pytest.mark.row("S3-69")
@pytest.mark.parametrize(
    ("written", "digits"),
    [
        (f"in sha256:{DIGEST[:12]}…", 12),
        (f"[brimline recall sha256:{DIGEST[:12]} (Bash)]", 12),
        (f"sha256:{DIGEST[:8]}", 8),
        (f"SHA256:{DIGEST.upper()}", 64),
        (f"Sha256:{DIGEST[:20].upper()}", 20),
        (f'"sha256\\u003a{DIGEST}"', 64),
        (f'"{{\\"a\\":\\"sha256\\\\u003A{DIGEST[:10]}\\"}}"', 10),
        (f'"command":"brimline store get {DIGEST[:8]} --lines 1:5"', 8),
        (f"brimline store grep '{DIGEST[:9]}' x", 9),
        (f'"input":{{"key":"{DIGEST[:12]}"}}', 12),
    ],
)
def test_a_key_is_found_however_it_is_written(world: Path, written: str, digits: int) -> None:
    """Shortened as we print it ourselves, in capitals, escaped, and bare where it is asked for."""
    path = old_file(world, written.encode())

    assert references.find([path]).mentions == {DIGEST[:digits]}


@pytest.mark.parametrize("written", [f"sha256:{DIGEST[:7]} ", f"commit {DIGEST[:40]}", "sha256:"])
def test_what_nobody_could_fetch_by_is_no_mention(world: Path, written: str) -> None:
    """Too few digits, or nothing that says that they are a key."""
    assert references.find([old_file(world, written.encode())]).mentions == set()


def test_first_digits_hold_every_blob_that_has_them() -> None:
    """In doubt everything stays, and nothing else does."""
    others = ["0" * 64, DIGEST[:11] + "0" * 53, "f" * 64]

    assert references.held([DIGEST, *others], {DIGEST[:12], "abcdef00"}) == {DIGEST}
    assert references.held([DIGEST, *others], {DIGEST[:11]}) == {DIGEST, others[1]}
    assert references.held([DIGEST], {DIGEST}) == {DIGEST}
    assert references.held([], {DIGEST}) == set()


def test_what_an_older_search_remembered_is_searched_anew(home_dir: str, world: Path) -> None:
    """It knew complete keys only, and an unchanged file would hide its short ones for ever."""
    path = old_file(world, f"sha256:{DIGEST[:12]}".encode())
    status = os.stat(path)
    known = [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, []]
    Path(home_dir, "store").mkdir(parents=True)
    Path(references.cache_file(home_dir)).write_text(json.dumps({"v": 1, "files": {path: known}}))

    assert references.find([path], references.load(home_dir)).mentions == {DIGEST[:12]}


@thorough
@given(around=st.binary(max_size=30), after=st.binary(max_size=30))
def test_a_key_is_found_whatever_is_around_it(
    tmp_path_factory: pytest.TempPathFactory, around: bytes, after: bytes
) -> None:
    """Raw bytes: no JSON, no encoding, no line is assumed."""
    path = tmp_path_factory.getbasetemp() / "around.jsonl"
    path.write_bytes(around + b"sha256:" + DIGEST.encode() + after)

    assert DIGEST in references.find([str(path)]).mentions


def test_an_unchanged_file_is_not_read_again(home_dir: str, world: Path) -> None:
    """Size and time tell; a change of either makes it read again."""
    path = old_file(world, f"sha256:{DIGEST}".encode())
    cache = references.load(home_dir)
    references.find([path], cache)
    references.save(home_dir, cache)
    Path(path).write_bytes(b"-" * 71)
    os.utime(path, (1_000_000, 1_000_000))

    kept = references.load(home_dir)
    assert references.find([path], kept).mentions == {DIGEST}
    os.utime(path, (1_000_001, 1_000_001))
    assert references.find([path], kept).mentions == set()


def test_a_file_that_changed_just_now_is_not_remembered(home_dir: str, world: Path) -> None:
    """It may change again within the tick of the clock."""
    path = world / "live.jsonl"
    path.write_text(f"sha256:{DIGEST}")
    cache = Cache()

    assert references.find([str(path)], cache).mentions == {DIGEST}
    assert cache.entries == {}


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"v":2}', b'{"v":3,"files":{}}', b'{"v":2,"files":{"a":3}}']
)
def test_a_damaged_memory_is_as_good_as_none(home_dir: str, world: Path, content: bytes) -> None:
    """It costs time, nothing else."""
    path = old_file(world, f"sha256:{DIGEST}".encode(), "a")
    Path(home_dir, "store").mkdir(parents=True)
    Path(references.cache_file(home_dir)).write_bytes(content)

    assert references.find([path], references.load(home_dir)).mentions == {DIGEST}


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
