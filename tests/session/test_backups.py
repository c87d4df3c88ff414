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


def _backup(session: Path, days: float) -> None:
    moment = time.time() - days * DAY_S
    stamp = time.strftime("%Y%m%d_%H%M%S", time.localtime(moment))
    path = session.with_name(f"{session.name}.backup.{stamp}")
    path.write_bytes(b"x" * 200)
    os.utime(path, (moment, moment))


def test_backups_are_found_the_newest_first_also_of_what_is_gone(session: Path) -> None:
    """Subagents' too; other files beside them are no backups."""
    for name in ("s1.jsonl.backup.today", "s1.jsonl.backup.20260101_000000.txt", "s1.jsonl.bak"):
        (session.parent / name).write_bytes(b"")
    (session.parent / "s1.jsonl.backup.20200101_000000").mkdir()
    session.unlink()
    agent = session.parent / "s1" / "subagents" / "agent-a.jsonl"
    _backup(machines.make_session(agent), 2)

    found = restoring.of_session(str(session))

    assert [round((time.time() - b.made_at) / DAY_S) for b in found] == [1, 10, 40]
    assert [b.session for b in restoring.of_all()] == [
        str(session), str(agent), str(session), str(session)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("older_than_days", "keep", "going"),
    [
        (5, None, ["a2", "a3", "b2"]),
        (None, 1, ["a2", "a3", "b2"]),
        (30, 2, ["a3"]),
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


def test_backups_are_listed_for_people_and_programs(
    session: Path, brimline: Callable[..., tuple[int, str, str]]
) -> None:
    """All of them, those of an id, or those of a file."""
    _backup(machines.make_session(session.with_name("s2.jsonl")), 3)

    found = [
        json.loads(brimline(*named, "--json")[1])
        for named in ((), ("--session", "s2"), (str(session),))
    ]
    code, out, _ = brimline(str(session))

    assert [one["count"] for one in found] == [4, 1, 3]
    assert found[1]["backups"][0]["made_at"].endswith("Z")
    assert (code, out.count("s1.jsonl.backup."), "3 backups, 600 B." in out) == (0, 3, True)


def test_pruning_needs_a_limit_and_consent_and_a_dry_run_says_what_it_would_do(
    session: Path, brimline: Callable[..., tuple[int, str, str]]
) -> None:
    """There is no terminal here; the session itself is never touched."""
    before = session.read_bytes()
    for arguments, code, word in (((), 2, "--older-than"), (("--keep", "1"), 1, "--yes")):
        refused = brimline("--prune", *arguments)
        assert (refused[0], word in refused[2]) == (code, True)
    said = json.loads(brimline("--prune", "--older-than", "5", "--dry-run", "--json")[1])
    assert len(restoring.of_session(str(session))) == 3

    done = json.loads(brimline("--prune", "--older-than", "5", "--yes", "--json")[1])

    assert said["backups"] == done["backups"]
    assert [round((time.time() - b.made_at) / DAY_S) for b in restoring.of_all()] == [1]
    assert session.read_bytes() == before


@pytest.mark.parametrize("arguments", [["nowhere.jsonl"], ["--session", "../x"]])
def test_a_wrong_name_is_one_sentence(
    arguments: list[str], brimline: Callable[..., tuple[int, str, str]]
) -> None:
    """And a code that is not zero."""
    code, out, err = brimline(*arguments)

    assert (code in (1, 2), out, "Traceback" in err) == (True, "", False)
