"""The store's size and age, kept at most once a day and within a budget of time."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from brimline.store import audit, caps, layout, pins, put, scan

from . import shelves
from .shelves import DAY_S, noise, stored, text


def test_what_is_too_old_or_too_much_goes(home_dir: str) -> None:
    """By age first, then by size; what was used within the hour stays."""
    old = stored(home_dir, noise(1, 1_000), 31 * DAY_S)
    large = stored(home_dir, noise(2, 900_000), 2 * DAY_S)
    small = stored(home_dir, noise(3, 150_000), DAY_S)
    fresh = stored(home_dir, noise(4, 800_000))

    done = caps.enforce_caps(home_dir, max_mb=1)

    assert done is not None
    assert done.keys == [old, large]
    assert shelves.keys(home_dir) == {small, fresh}


def test_it_is_done_at_most_once_a_day(home_dir: str) -> None:
    """The second session of a day finds it done, the first of the next does it again."""
    stored(home_dir, text(1))
    now = time.time()

    assert caps.enforce_caps(home_dir, now=now) is not None
    assert caps.enforce_caps(home_dir, now=now + 86_000) is None
    assert caps.enforce_caps(home_dir, now=now + 86_500) is not None


def test_without_a_store_nothing_happens(home_dir: str) -> None:
    """No folder is made for it."""
    assert caps.enforce_caps(home_dir) is None
    assert not os.path.exists(home_dir)


@pytest.mark.parametrize("marker", ["", "soon", "9999999999", "nan", "-5"])
def test_a_marker_that_makes_no_sense_does_not_stop_it(home_dir: str, marker: str) -> None:
    """Damaged, or from a clock that was wrong."""
    stored(home_dir, text(1))
    Path(caps.marker(home_dir)).write_text(marker)

    assert caps.enforce_caps(home_dir) is not None


def test_a_clock_that_goes_back_deletes_nothing_early(home_dir: str) -> None:
    """Neither while it is wrong nor once it is right again."""
    now = time.time()
    before = stored(home_dir, text(1))
    caps.enforce_caps(home_dir, now=now)
    # The clock is set back by forty days: what is written now must not look that old later.
    back = now - 40 * DAY_S
    assert caps.enforce_caps(home_dir, now=back) is not None
    ahead = int((now + 3) * 1e9)
    os.utime(layout.last_key(home_dir), ns=(ahead, ahead))
    meanwhile = put.put(home_dir, text(2), {})
    caps.enforce_caps(home_dir, now=now + 29 * DAY_S)

    assert shelves.keys(home_dir) == {before, meanwhile}
    caps.enforce_caps(home_dir, now=now + 31 * DAY_S)
    assert shelves.keys(home_dir) == set()


def test_a_pass_that_runs_out_of_time_goes_on_the_same_day(home_dir: str, world: Path) -> None:
    """Nothing is removed on half a search, and the next session continues."""
    key = stored(home_dir, text(1), 40 * DAY_S)
    transcript = world / "s.jsonl"
    transcript.write_text("nothing")

    unfinished = caps.enforce_caps(home_dir, budget_s=-1, paths=[str(transcript)])
    assert unfinished is not None
    assert not unfinished.finished
    assert shelves.keys(home_dir) == {key}

    finished = caps.enforce_caps(home_dir, paths=[str(transcript)])
    assert finished is not None
    assert finished.keys == [key]


def test_pins_and_references_hold_and_the_shortfall_is_told(home_dir: str, world: Path) -> None:
    """The caps are no exception to the promise."""
    pinned = stored(home_dir, noise(1, 600_000), 90 * DAY_S)
    mentioned = stored(home_dir, noise(2, 600_000), 90 * DAY_S)
    pins.pin(home_dir, pinned, "soft")
    (world / "s.jsonl").write_text(mentioned)

    done = caps.enforce_caps(home_dir, max_mb=0.1, paths=[str(world / "s.jsonl")])

    assert done is not None
    assert done.keys == [pinned]
    assert done.shortfall_bytes == 500_013
    assert done.held_bytes == {"referenced": 600_013}


def test_leftovers_go_and_a_large_trail_is_put_away(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What killed processes left, and an audit trail that has grown for years."""
    key = stored(home_dir, text(1), session="s1")
    unfinished = Path(layout.tmp_dir(home_dir), "1.2.tmp")
    unfinished.write_bytes(b"half")
    os.utime(unfinished, (1_000, 1_000))

    caps.enforce_caps(home_dir)
    audit.rotate(home_dir, at_bytes=10)

    assert shelves.temporary_files(home_dir) == []
    assert not os.path.exists(layout.index(home_dir))
    assert list(audit.sessions_of_keys(home_dir)) == [key]
    assert [blob.key for blob in scan.blobs(home_dir)] == [key]
