"""The error log: one line per failure, bounded, without private values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from brimline.fast import paths
from brimline.state import logs

if TYPE_CHECKING:
    import pytest


def test_a_failure_is_one_line_with_its_place(home_dir: str) -> None:
    """Event, kind, message, file and line; enough to report it."""
    _fail(home_dir, "one\ntwo")

    (line,) = Path(paths.error_log(home_dir)).read_text().splitlines()
    entry = json.loads(line)

    assert entry["event"] == "PostToolUse"
    assert entry["error"] == "RuntimeError"
    assert entry["message"] == "one\ntwo"
    assert entry["where"].startswith("state/test_failures.py:")
    assert entry["v"] == failures.FORMAT


def test_long_messages_and_names_are_cut(home_dir: str) -> None:
    """A log line stays a line."""
    logs.record_failure(home_dir, "E" * 1_000, ValueError("x" * 100_000))

    assert Path(paths.error_log(home_dir)).stat().st_size < 1_000


def test_recent_failures_are_found_by_time(home_dir: str) -> None:
    """Oldest first; lines that are torn or foreign are passed over."""
    path = Path(paths.error_log(home_dir))
    path.parent.mkdir(parents=True)
    path.write_bytes(
        b'{"at":5,"error":"A"}\n\xff\n{"at":"x"}\n[1]\n{"at":7,"error":"B"}\n{"at":8,"err'
    )

    assert [entry["error"] for entry in logs.recent_failures(home_dir, 5)] == ["A", "B"]
    assert [entry["error"] for entry in logs.recent_failures(home_dir, 6)] == ["B"]


def test_no_log_means_no_failures(home_dir: str) -> None:
    """A missing or unreadable log is empty."""
    assert logs.recent_failures(home_dir, 0) == []

    Path(paths.error_log(home_dir)).mkdir(parents=True)
    assert logs.recent_failures(home_dir, 0) == []


def test_a_full_log_is_put_aside_once(home_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current log starts anew and the previous one is kept beside it."""
    monkeypatch.setattr(failures, "_LOG_LIMIT_BYTES", 1_000)
    for number in range(30):
        _fail(home_dir, f"failure {number}")

    current = Path(paths.error_log(home_dir))
    assert current.stat().st_size < 1_500
    assert Path(f"{current}.old").stat().st_size < 1_500
    assert logs.recent_failures(home_dir, 0)[-1]["message"] == "failure 29"


def test_messages_that_are_no_unicode_are_kept(home_dir: str) -> None:
    """A path of any bytes may be part of a message."""
    logs.record_failure(home_dir, "PostToolUse", OSError("cannot open \udcff"))

    assert logs.recent_failures(home_dir, 0)[0]["message"] == "cannot open \udcff"


def _fail(home_dir: str, message: str) -> None:
    try:
        _raise(message)
    except RuntimeError as error:
        logs.record_failure(home_dir, "PostToolUse", error)


def _raise(message: str) -> None:
    raise RuntimeError(message)
