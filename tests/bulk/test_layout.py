"""Files of the store: whatever their mode, and none stays open."""

from __future__ import annotations

import errno
import gc
import os
import stat
import time
from pathlib import Path

import pytest

from brimline.bulk import contents, layout, pins, retention
from brimline.bulk.retention import Limits, Pass, prune
from brimline.errors import StoreError
from brimline.rooms import values_in_all_traces

from .shelves import DAY_S, stored, text, transcript


def test_a_file_of_the_store_is_one_whatever_others_may_do_with_it(home_dir: str) -> None:
    """A copy from another disk may have come with any mode."""
    key = stored(home_dir, text(1))
    path = layout.stored_path(home_dir, key[7:])
    Path(path).chmod(0o701)

    assert contents.read_content(home_dir, key) == text(1)
    assert layout.mark_as_used(home_dir, key[7:])


LONG_AGO = 40 * DAY_S


GARBAGE = Limits(grace_s=retention.GRACE_S, unreferenced=True)


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="the system does not list them")
def test_no_file_stays_open(home_dir: str, world: Path) -> None:
    """A server puts and gets for days."""
    key = stored(home_dir, text(1), LONG_AGO)
    folder = world / "folder"
    folder.mkdir()
    gc.collect()
    open_before = len(os.listdir("/proc/self/fd"))

    for number in range(3):
        stored(home_dir, text(number + 2))
        contents.read_content(home_dir, key)
        contents.length_of_content(home_dir, key[7:])
        pins.pin(home_dir, key)
        pins.read_pin(home_dir, key[7:])
        list(contents.read_store_events(home_dir))
        with pytest.raises(OSError, match="not a regular file"):
            layout.read_store_file(str(folder))
        transcript(f"{key}\n")
        prune(home_dir, GARBAGE, Pass(values_in_all_traces))
        with pytest.raises(OSError, match="directory"):
            layout.write_atomically(home_dir, str(folder), b"x")

    assert len(os.listdir("/proc/self/fd")) <= open_before
    assert os.listdir(home_dir + layout.TMP) == []


def test_what_is_no_file_is_said_to_be_invalid(home_dir: str, world: Path) -> None:
    """As the system would."""
    with pytest.raises(OSError, match="it is not a regular file") as raised:
        layout.read_store_file(str(world))

    assert (raised.value.errno, raised.value.filename) == (errno.EINVAL, str(world))


def test_a_use_is_later_than_any_before(home_dir: str) -> None:
    """By a microsecond where the clock is behind."""
    key = stored(home_dir, text(1))
    path = layout.stored_path(home_dir, key[7:])
    ahead_ns = time.time_ns() + 3_600_000_000_000
    os.utime(path, ns=(ahead_ns, ahead_ns))

    assert layout.mark_as_used(home_dir, key[7:])
    assert os.stat(path).st_mtime_ns == ahead_ns + 1_000
    assert not layout.mark_as_used(home_dir, "0" * 64)


@pytest.mark.parametrize(("noted", "is_refused"), [("1" + " " * 18 + "9", False), ("9" * 20, True)])
def test_of_the_format_twenty_characters_are_read(
    home_dir: str, noted: str, is_refused: bool
) -> None:
    """More is not a number of a version."""
    path = Path(home_dir + layout.FORMAT_FILE)
    path.parent.mkdir(parents=True)
    path.write_text(noted)

    if is_refused:
        with pytest.raises(StoreError, match="newer"):
            layout.refuse_newer_format(home_dir)
    else:
        layout.refuse_newer_format(home_dir)


def test_files_of_the_store_are_the_users_alone(home_dir: str) -> None:
    """Those that are made with the first folder, and later ones."""
    for number in (1, 2):
        stored(home_dir, text(number))

    files = [path for path in Path(layout.store_folder(home_dir)).rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert len(files) >= 8
