"""`brimline session` and others: numbers within their limits, and old backups."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.fast import paths
from brimline.session import backups
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from .conftest import Run


def test_old_backups_are_those_that_were_made_so_many_days_ago(
    project_dir: str, brimline: Run
) -> None:
    """To the second; younger ones stay."""
    path = f"{paths.project_transcripts_dir(project_dir)}/abc.jsonl"
    SessionBuilder(path, session_id="abc", cwd=project_dir).prompt("hello")
    now = time.time()
    names = {f"{path}.backup.20260101_00000{n}": age for n, age in enumerate((172_790, 172_800))}
    for name, age_s in names.items():
        Path(name).write_text("old")
        os.utime(name, (now - age_s, now - age_s))

    done = brimline("session", "backups", "--prune", "2", "--yes")

    assert done.out == "1 backup (3 B) deleted.\n"
    assert [backup.path for backup in backups.beside(path)] == [next(iter(names))]
    assert brimline("session", "backups", "--prune", "2").out == "0 backups (0 B) deleted.\n"


@pytest.mark.parametrize(
    ("words", "is_taken"),
    [
        ("store prune --dry-run --max-age-days 0", True),
        ("store prune --dry-run --max-age-days 1000000000", True),
        ("store prune --dry-run --max-age-days 1000000001", False),
        ("store prune --dry-run --max-size-mb 1000000000", True),
        ("store prune --dry-run --max-size-mb 1000000001", False),
        ("store prune --dry-run --max-size-mb -1", False),
        ("store list --limit 0", True),
        ("store list --limit -1", False),
        ("memory search x --limit 1", True),
        ("memory search x --limit 100", True),
        ("memory search x --limit 0", False),
        ("memory search x --limit 101", False),
        ("budget alerts --priority 0", True),
        ("budget alerts --priority 10", True),
        ("budget alerts --priority 11", False),
        ("budget alerts --priority -1", False),
        ("session purge --dry-run --threshold 1", True),
        ("session purge --dry-run --threshold 0", False),
        ("session purge --dry-run --keep-recent 0", True),
        ("session purge --dry-run --keep-recent -1", False),
        ("session backups --prune 0", True),
        ("session backups --prune -0.1", False),
    ],
)
def test_numbers_are_taken_within_their_limits(
    words: str, is_taken: bool, brimline: Run, project_dir: str
) -> None:
    """What is beyond is wrong usage, in one line."""
    path = f"{paths.project_transcripts_dir(project_dir)}/abc.jsonl"
    SessionBuilder(path, session_id="abc", cwd=project_dir).prompt("hello")

    done = brimline(*words.split())

    assert done.code == (0 if is_taken else 2), done
    assert is_taken or ("is not in the range" in done.err and done.err.count("\n") == 1)
