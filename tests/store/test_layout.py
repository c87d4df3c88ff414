"""Files of the store: whatever their mode, and none stays open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from brimline.fast import paths
from brimline.store import contents, layout, pins, retention
from brimline.store.retention import Limits, Pass, prune

from .shelves import DAY_S, stored, text


def test_a_file_of_the_store_is_one_whatever_others_may_do_with_it(home_dir: str) -> None:
    """A copy from another disk may have come with any mode."""
    key = stored(home_dir, text(1))
    path = layout.file_path(home_dir, key[7:])
    Path(path).chmod(0o701)

    assert contents.get(home_dir, key) == text(1)
    assert layout.mark_as_used(home_dir, key[7:])


LONG_AGO = 40 * DAY_S


def transcript(content: str, name: str = "a.jsonl") -> Path:
    """A transcript that was written a while ago."""
    path = Path(paths.client_config_dir(), "projects/p", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    os.utime(path, (1_000_000, 1_000_000))
    return path


GARBAGE = Limits(grace_s=retention.GRACE_S, unreferenced=True)


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="the system does not list them")
def test_no_file_stays_open(home_dir: str, world: Path) -> None:
    """A server puts and gets for days."""
    key = stored(home_dir, text(1), LONG_AGO)
    folder = world / "folder"
    folder.mkdir()
    open_before = len(os.listdir("/proc/self/fd"))

    for number in range(3):
        stored(home_dir, text(number + 2))
        contents.get(home_dir, key)
        contents.content_bytes(home_dir, key[7:])
        pins.pin(home_dir, key)
        pins.read_pin(home_dir, key[7:])
        list(contents.trail_rows(home_dir))
        with pytest.raises(OSError, match="not a regular file"):
            layout.read_file(str(folder))
        transcript(f"{key}\n")
        prune(home_dir, GARBAGE, Pass())
        with pytest.raises(OSError, match="directory"):
            layout.write_atomically(home_dir, str(folder), b"x")

    assert len(os.listdir("/proc/self/fd")) == open_before
    assert os.listdir(home_dir + layout.TMP) == []
