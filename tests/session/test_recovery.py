"""What an earlier command left: finished up to a size, swept after a day."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from brimline.session import disk, recovery

from . import machines
from .machines import line


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(28, "No space left on device", "/p/x"), "(/p/x: No space left on device)"),
        (OSError(28, "No space left on device"), "(/p: No space left on device)"),
        (OSError("odd"), "(/p: odd)"),
        (OSError(28, "Full", b"/p/\xff"), "(/p/\udcff: Full)"),
    ],
)
def test_what_the_disk_refused_is_told_with_its_place(error: OSError, told: str) -> None:
    """In one sentence."""
    sentence = str(recovery.disk_refusal_error(error, "/p/s.jsonl"))

    assert sentence == f"/p/s.jsonl cannot be rewritten {told}; nothing was changed"


@pytest.fixture
def path(world: Path) -> Path:
    """A session of forty rows."""
    return machines.make_session(world / "p" / "s.jsonl")


@pytest.mark.parametrize(("less", "lines"), [(0, [1]), (1, [])])
def test_a_session_is_finished_up_to_a_size(
    path: Path, home_dir: str, less: int, lines: list[int]
) -> None:
    """That size included; a larger one is left to the next command."""
    with path.open("ab", buffering=0) as held:
        machines.run(path, home_dir)
        held.write(line(40))

    size = path.stat().st_size
    done = recovery.finish_rewrites_at_path(str(path.parent), most_bytes=size - less)

    assert [one.lines for one in done] == lines


DAY_S = 86_400


@pytest.mark.parametrize(("age_s", "is_swept"), [(DAY_S - 60, False), (DAY_S + 1, True)])
def test_what_was_kept_for_a_removed_session_goes_after_a_day(
    path: Path, age_s: float, is_swept: bool
) -> None:
    """Counted from the last line that came to it."""
    kept = [disk.path_beside(str(path), name) for name in ("old-12", "swap")]
    for name, age in zip(kept, (age_s, 2 * DAY_S), strict=True):
        Path(name).write_bytes(line(0))
        os.utime(name, (time.time() - age, time.time() - age))
    os.unlink(path)

    assert recovery.finish_rewrites_at_path(str(path)) == []

    assert [os.path.exists(name) for name in kept] == [not is_swept] * 2
