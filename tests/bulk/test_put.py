"""Taking content in: whole or not at all, once, privately, whatever the disk and the clock do."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import shutil
import stat
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.bulk import contents, layout, pins, put, removal
from brimline.errors import StoreError
from brimline.fast import io

from . import shelves
from .shelves import METHODS, Disk, noise, packed_by, stored, text

META = {"tool": "Bash", "source": "make test", "session": "s1", "exit": 0}
LARGE = (b"".join(b"%d\n" % number for number in range(1, 200_001)), shelves.noise(7, 3_000_000))


@pytest.mark.row("S3-52", "S3-57")
@given(data=st.binary(max_size=5_000) | st.sampled_from(LARGE))
def test_the_key_is_the_hash_of_the_content_and_brings_it_back(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    """Any bytes, exactly."""
    home_dir = str(tmp_path_factory.getbasetemp() / "shared-store")

    key = put.put(home_dir, data, {})

    assert key == "sha256:" + hashlib.sha256(data).hexdigest()
    assert contents.read_content(home_dir, key) == data


@pytest.mark.row("S3-53", "S3-72", "S3-73")
def test_a_put_leaves_the_documented_files_private_and_each_content_once(home_dir: str) -> None:
    """Blob, sidecar, trail, last key, format: 600 in 700 whatever the umask; long texts are cut."""
    before = os.umask(0)
    try:
        key = put.put(home_dir, b"one\ntwo", META | {"source": "x" * 2 * put._TEXT_LENGTH})
    finally:
        os.umask(before)
    assert put.put(home_dir, b"one\ntwo", {"session": "s2", "cwd": "/p"}) == key

    shard, rest = key[7:9], key[9:]
    every = [Path(home_dir), *Path(home_dir).rglob("*")]
    modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in every}
    assert modes == {(True, 0o700), (False, 0o600)}
    files = {str(path.relative_to(home_dir)): path for path in every if path.is_file()}
    names = ["clients", "format", "index.jsonl", "last_key"]
    assert sorted(files) == [
        f"store/blobs/{shard}/{rest}",
        *[f"store/{name}" for name in names],
        f"store/meta/{shard}/{rest}.json",
    ]
    assert files["store/last_key"].read_text() == key + "\n"
    assert files["store/format"].read_text() == "1\n"
    found = contents.read_sidecar(home_dir, key)
    assert found.pop("created") > 1_700_000_000
    told = META | {"v": 1, "key": key, "bytes": 7, "lines": 2, "source": "x" * put._TEXT_LENGTH}
    assert found == told
    trail = [
        (line["event"], line["session"], line.get("cwd"))
        for line in contents.read_store_events(home_dir)
    ]
    assert trail == [("put", "s1", None), ("put", "s2", "/p")]


@pytest.mark.row("S3-74")
def test_a_store_that_was_cleared_takes_content_again_and_a_newer_one_none(home_dir: str) -> None:
    """What was in it is said to be gone; what nobody here could read back is left where it is."""
    key = put.put(home_dir, text(1), {})
    shutil.rmtree(layout.store_folder(home_dir))

    with pytest.raises(StoreError, match="is not in the store: it was pruned, forgotten"):
        contents.read_content(home_dir, key)
    assert contents.read_content(home_dir, put.put(home_dir, text(1), {})) == text(1)
    Path(home_dir + layout.FORMAT_FILE).write_text("2\n", encoding="ascii")
    with pytest.raises(StoreError, match="newer brimline"):
        put.put(home_dir, b"after", {})
    assert shelves.keys(home_dir) == {key}


@pytest.mark.parametrize("kind", ["torn", "link", "endless", "pipe", "folder"])
def test_what_is_no_sound_file_in_the_place_of_a_blob_is_replaced_and_never_read(
    home_dir: str, world: Path, kind: str
) -> None:
    """A cut one, a link, also to an endless file, a pipe that nobody writes to."""
    key = put.put(home_dir, text(1), {})
    place = Path(layout.stored_path(home_dir, key[7:]))
    place.rename(world / "elsewhere")
    if kind == "torn":
        place.write_bytes((world / "elsewhere").read_bytes()[:-9])
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to(world / "elsewhere" if kind == "link" else "/dev/zero")

    assert shelves.keys(home_dir) == ({key} if kind == "torn" else set())
    with pytest.raises(StoreError, match=r"cannot be read|is damaged"):
        contents.read_content(home_dir, key)
    if kind == "folder":
        place.rmdir()
    assert put.put(home_dir, text(1), {}) == key
    assert contents.read_content(home_dir, key) == text(1)
    assert place.is_file()
    assert not place.is_symlink()


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("accident", [shelves.full, shelves.read_only])
@pytest.mark.parametrize("known", [False, True], ids=["new content", "known content"])
def test_whichever_call_fails_nothing_torn_is_visible_and_nothing_promised_is_lost(
    world: Path, monkeypatch: pytest.MonkeyPatch, accident: object, *, lasting: bool, known: bool
) -> None:
    """Every system call of a put fails once, on a disk that is full or read-only."""
    assert callable(accident)
    promised = failed = 0
    for at in range(100):
        home_dir = str(world / f"store-{at}")
        before = put.put(home_dir, text(1), {})
        data = text(1) if known else text(2)
        disk = Disk(accident, at, lasting=lasting)
        with monkeypatch.context() as patch:
            patch.setattr(io, "system", disk)
            try:
                key = put.put(home_dir, data, META)
                promised += 1
            except OSError as error:
                assert error.errno in (errno.ENOSPC, errno.EROFS)  # noqa: PT017
                key = before
                failed += 1
        for blob in contents.list_blobs(home_dir):
            contents.read_content(home_dir, blob.key)
        assert contents.read_content(home_dir, before) == text(1)
        assert contents.read_content(home_dir, key) == (data if key != before else text(1))
        assert shelves.temporary_files(home_dir) == []
        if disk.calls <= at:
            break

    assert promised
    assert failed or known
    assert disk.calls <= at


def test_a_put_that_is_killed_at_any_call_leaves_nothing_torn(world: Path) -> None:
    """At each of its system calls, half of a write included; the next put and sweep mend it."""
    for at in range(100):
        home_dir = str(world / f"store-{at}")
        before = put.put(home_dir, text(1), {})

        process = shelves.start(_KILLED, home_dir, str(at))
        out, err = process.communicate(timeout=60)

        assert process.returncode in (0, -9), err
        assert contents.read_content(home_dir, before) == text(1)
        for blob in contents.list_blobs(home_dir):
            contents.read_content(home_dir, blob.key)
        again = put.put(home_dir, text(2), {})
        removal.put_back_or_delete_tmp_files(home_dir, time.time() + 60)
        assert contents.read_content(home_dir, again) == text(2)
        assert shelves.temporary_files(home_dir) == []
        assert contents.read_sidecar(home_dir, again)["bytes"] == 4_000
        if process.returncode == 0:
            break

    assert at > 10
    assert out.decode().strip() == again


def test_the_content_is_on_the_disk_before_its_name_is(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is synchronised once, then moved to its place."""
    disk = Disk(shelves.full, -1)
    monkeypatch.setattr(io, "system", disk)

    key = put.put(home_dir, text(1), {})

    blob = [name for name in disk.names if name in ("fsync", "replace")]
    assert blob[:2] == ["fsync", "replace"]
    assert blob.count("fsync") == 1
    assert contents.read_content(home_dir, key) == text(1)


def test_content_stored_while_the_clock_was_behind_is_as_young_as_the_last(home_dir: str) -> None:
    """Once it is right again, nothing must look a month old; a put always moves the time."""
    first = put.put(home_dir, text(1), {})
    ahead = time.time_ns() + 40 * shelves.DAY_S * 1_000_000_000
    os.utime(home_dir + layout.LAST_KEY, ns=(ahead, ahead))  # as if the clock had been set back

    second = put.put(home_dir, text(2), {})
    third = put.put(home_dir, text(3), {})
    put.put(home_dir, text(1), {})

    used = {blob.key: blob.used_ns for blob in contents.list_blobs(home_dir)}
    assert used[first] >= ahead
    assert used[second] >= ahead
    assert used[third] >= ahead
    shelves.age(home_dir, first, -90 * shelves.DAY_S)
    before = max(blob.used_ns for blob in contents.list_blobs(home_dir))
    put.put(home_dir, text(1), {})
    assert max(blob.used_ns for blob in contents.list_blobs(home_dir)) > before


def test_every_record_is_in_store_time_to_the_millisecond(home_dir: str) -> None:
    """A clock that was set back does not show in what is noted of puts, pins and removals."""
    first = stored(home_dir, text(1))
    ahead = 4_000_000_000_123_456_789
    os.utime(home_dir + layout.LAST_KEY, ns=(ahead, ahead))

    second = put.put(home_dir, text(2), {})
    pins.pin(home_dir, first, "hard", "why")
    pin = pins.read_pin(home_dir, first[7:])
    removal.forget_key(home_dir, first)

    moment = 4_000_000_000.123
    noted = [(row["event"], row["key"], row["at"]) for row in contents.read_store_events(home_dir)]
    assert noted[1:] == [
        ("put", second, moment),
        ("pin", first, moment),
        ("forget", first, moment),
    ]
    assert pin == ("hard", "why", moment)
    assert contents.read_sidecar(home_dir, second)["created"] == moment


parts = st.tuples(st.binary(max_size=40), st.integers(0, 3_000))
contents_of_any_kind = st.binary(max_size=3_000) | parts.map(lambda pair: pair[0] * pair[1])


@pytest.mark.row("S3-54")
@given(data=contents_of_any_kind, method=st.sampled_from(METHODS))
def test_content_comes_back_byte_for_byte(data: bytes, method: str) -> None:
    """Whatever it is, and whatever it was compressed with."""
    packed = packed_by(data, method)

    assert put.unpack_blob(packed) == data
    assert method == "gzip" or put.read_blob_header(packed) == (put.NONE, len(data))


@pytest.mark.row("S3-54")
@pytest.mark.parametrize(
    "data",
    [text(1, put._SMALL_BYTES - 1), noise(1, 5_000), noise(2, 2_000_000)],
    ids=["small", "noise", "large"],
)
def test_what_gains_nothing_by_compression_is_kept_as_it_is(data: bytes) -> None:
    """Less than a kilobyte, and what does not shrink; other files end in an ordinary gzip file."""
    assert put.read_blob_header(put.pack_blob(data)) == (put.NONE, len(data))
    assert gzip.decompress(put.pack_blob(text(1))[put.HEADER_BYTES :]) == text(1)


@pytest.mark.row("S3-54")
def test_a_compression_that_is_not_known_is_said_and_content_that_comes_again_is_mended(
    home_dir: str,
) -> None:
    """A newer version may have written it; its size is told all the same."""
    key = stored(home_dir, text(1))
    blob = Path(layout.stored_path(home_dir, key[7:]))
    packed = blob.read_bytes()
    blob.write_bytes(packed[:4] + b"z" + packed[5:])

    with pytest.raises(StoreError) as told:
        contents.read_content(home_dir, key)
    assert str(told.value) == (
        f"{key} cannot be returned: its compression is unknown to this brimline; "
        "a newer one may know it"
    )
    assert contents.length_of_content(home_dir, key[7:]) == len(text(1))
    assert put.put(home_dir, text(1), {}) == key
    assert contents.read_content(home_dir, key) == text(1)


@pytest.mark.parametrize("method", METHODS)
def test_a_blob_that_promises_too_much_is_refused(method: str) -> None:
    """Without making room for it; what has no header is none."""
    packed, promise = packed_by(text(1), method), (1 << 60).to_bytes(8, "big")

    with pytest.raises(ValueError, match="header"):
        put.unpack_blob(text(1))
    with pytest.raises(ValueError, match="instead of"):
        put.unpack_blob(packed[:5] + promise + packed[13:])


_KILLED = """
from brimline.fast import io
io.system = shelves.Disk(shelves.killed, int(sys.argv[2]))
print(put.put(home, shelves.text(2), {"tool": "Bash"}))
"""


MOST = put._TEXT_LENGTH


@pytest.mark.parametrize("length", [MOST - 1, MOST, MOST + 1])
def test_what_is_known_of_content_is_not_long(home_dir: str, length: int) -> None:
    """Of each text; figures stay as they are."""
    key = put.put(home_dir, text(1), {"source": "s" * length, "tool": "t" * length, "exit": 1})

    known = contents.read_sidecar(home_dir, key)

    assert (known["source"], known["tool"]) == ("s" * min(length, MOST), "t" * min(length, MOST))
    assert known["exit"] == 1
