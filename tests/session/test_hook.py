"""Housekeeping after a hook: rewrites that were cut short, and ways back that lead nowhere."""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from brimline.session import hook, restore

from . import machines
from .machines import line

DAY_S = 86_400


@pytest.fixture
def path(world: Path) -> Path:
    """A session of forty rows."""
    return machines.make_session(world / "p" / "s.jsonl")


def tidied(transcript: str, home_dir: str, until: float = math.inf) -> None:
    turn: Any = SimpleNamespace(event=SimpleNamespace(transcript=transcript), home=home_dir)
    hook.tidy(turn, until)


@pytest.mark.parametrize(("most_bytes", "is_merged"), [(None, True), (10, False)])
def test_what_came_late_to_a_session_of_the_folder_is_merged(
    most_bytes: int | None,
    is_merged: bool,
    path: Path,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Large ones are left to the next command; without a transcript there is no folder."""
    with path.open("ab", buffering=0) as held:
        machines.run(path, home_dir)
        held.write(line(40))
    tidied("", home_dir)
    assert machines.numbers(path) == list(range(40))
    if most_bytes is not None:
        monkeypatch.setattr(hook, "_MOST_MERGED_BYTES", most_bytes)

    tidied(str(path.parent / "another.jsonl"), home_dir)

    assert machines.numbers(path) == list(range(40 + is_merged))


@pytest.mark.parametrize(
    ("age_days", "has_time", "stays"),
    [(29.999, True, True), (30.000_01, True, False), (30.1, False, True)],
)
def test_the_way_back_of_a_gone_session_goes_after_a_month(
    age_days: float, has_time: bool, stays: bool, path: Path, home_dir: str
) -> None:
    """Where there is time for it."""
    machines.run(path, home_dir)
    (note,) = restore.read_notes_and_problems(home_dir, "s")[0]
    told = json.loads(Path(note.file).read_text())
    Path(note.file).write_text(json.dumps(told | {"at": time.time() - age_days * DAY_S}) + "\n")
    os.unlink(path)

    tidied(str(path), home_dir, math.inf if has_time else 0.0)

    assert restore.sessions_with_notes(home_dir) == (["s"] if stays else [])
