"""Backups: found beside their sessions, listed, and pruned by age and number after a question."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING

import pytest

from brimline.cli.main import main
from brimline.fast import paths
from brimline.session import restore as restoring
from brimline.session.restore import Backup

from . import machines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DAY_S = 86_400


@pytest.fixture
def brimline(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """The command."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["brimline", "session", "backups", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


@pytest.fixture
def session(world: Path) -> Path:
    """A session where the client keeps sessions, with three backups: 1, 10 and 40 days old."""
    folder = f"{paths.client_config_dir()}/projects/-a-project"
    path = machines.make_session(world / folder / "s1.jsonl")
    for days in (1, 10, 40):
        _backup(path, days)
    return path


def test_the_newest_backup_of_a_session_comes_first(session: Path) -> None:
    """By the time at which it was made; other files beside it are no backups."""
    for name in ("s1.jsonl.backup.today", "s1.jsonl.backup.20260101_000000.txt", "s1.jsonl.bak"):
        (session.parent / name).write_bytes(b"")
    (session.parent / "s1.jsonl.backup.20200101_000000").mkdir()

    found = restoring.of_session(str(session))

    assert [round((time.time() - b.made_at) / DAY_S) for b in found] == [1, 10, 40]
    assert {b.session for b in found} == {str(session)}


def test_backups_of_subagents_and_of_sessions_that_are_gone_are_found(session: Path) -> None:
    """Nobody else would clear them away."""
    session.unlink()
    agent = session.parent / "s1" / "subagents" / "agent-a.jsonl"
    _backup(machines.make_session(agent), 2)

    found = restoring.of_all()

    assert len(found) == 4
    assert {os.path.basename(b.session) for b in found} == {"s1.jsonl", "agent-a.jsonl"}


@pytest.mark.parametrize(
    ("older_than_days", "keep", "going"),
    [
        (5, None, ["a2", "a3", "b2"]),
        (None, 1, ["a2", "a3", "b2"]),
        (30, 2, ["a3"]),
        (30, None, ["a3", "b2"]),
        (None, 0, ["a1", "a2", "a3", "b1", "b2"]),
        (0, 3, []),
    ],
)
def test_a_backup_goes_when_it_is_old_and_not_among_the_newest(
    older_than_days: float | None, keep: int | None, going: list[str]
) -> None:
    """Each session counts for itself; with two limits both must be met."""
    ages = {"a1": 1, "a2": 10, "a3": 40, "b1": 2, "b2": 50}
    now = 100.0 * DAY_S
    there = [Backup(name, name[0], 7, now - days * DAY_S) for name, days in ages.items()]
    limit = None if older_than_days is None else older_than_days * DAY_S

    chosen = restoring.chosen(there, now, older_than_s=limit, keep=keep)

    assert sorted(backup.path for backup in chosen) == going


def test_without_a_word_all_backups_are_listed(
    session: Path, brimline: Callable[..., tuple[int, str, str]]
) -> None:
    """Size, age and path, and what they come to."""
    code, out, _ = brimline()

    assert code == 0
    assert out.count("s1.jsonl.backup.") == 3
    assert "40 d" in out
    assert "3 backups, 600 B." in out


def test_the_list_is_json_on_request(
    session: Path, brimline: Callable[..., tuple[int, str, str]]
) -> None:
    """With times that programs can read."""
    _backup(machines.make_session(session.with_name("s2.jsonl")), 3)

    of_all = json.loads(brimline("--json")[1])
    of_one = json.loads(brimline("--session", "s2", "--json")[1])
    of_file = json.loads(brimline(str(session), "--json")[1])

    assert [of_all["count"], of_one["count"], of_file["count"]] == [4, 1, 3]
    assert of_one["backups"][0]["session"].endswith("s2.jsonl")
    assert of_one["backups"][0]["made_at"].endswith("Z")


def test_pruning_needs_a_limit_and_consent(
    session: Path, brimline: Callable[..., tuple[int, str, str]]
) -> None:
    """There is no terminal here: nothing goes without --yes."""
    code, _, err = brimline("--prune")
    assert (code, "--older-than" in err) == (2, True)

    code, _, err = brimline("--prune", "--keep", "1")

    assert (code, "--yes" in err) == (1, True)
    assert len(restoring.of_session(str(session))) == 3


def test_a_dry_run_deletes_nothing_and_the_real_one_what_it_said(
    session: Path, brimline: Callable[..., tuple[int, str, str]]
) -> None:
    """The session itself is never touched."""
    before = session.read_bytes()

    said = json.loads(brimline("--prune", "--older-than", "5", "--dry-run", "--json")[1])
    assert len(restoring.of_session(str(session))) == 3
    done = json.loads(brimline("--prune", "--older-than", "5", "--yes", "--json")[1])

    assert said["backups"] == done["backups"]
    assert [round((time.time() - b.made_at) / DAY_S) for b in restoring.of_all()] == [1]
    assert session.read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [["nowhere.jsonl"], ["--session", "../x"], ["a", "--session", "b"]],
)
def test_a_wrong_name_is_one_sentence(
    arguments: list[str], brimline: Callable[..., tuple[int, str, str]]
) -> None:
    """And a code that is not zero."""
    code, out, err = brimline(*arguments)

    assert code in (1, 2)
    assert out == ""
    assert "Traceback" not in err


def _backup(session: Path, days: float) -> None:
    moment = time.time() - days * DAY_S
    stamp = time.strftime("%Y%m%d_%H%M%S", time.localtime(moment))
    path = session.with_name(f"{session.name}.backup.{stamp}")
    path.write_bytes(b"x" * 200)
    os.utime(path, (moment, moment))
