"""Nobody loses a line: others write, disks fail and machines stop at every step of a rewrite."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.session import recovery
from brimline.session import restore as restoring
from brimline.session.disk import RewriteError, RewrittenError

from . import machines
from .machines import Died, Machine, Writer

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent.parent
# More of them are for `make test-long`.
SEEDS = [0, *[pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3)]]
CTRL_C = 0


@pytest.mark.parametrize("kind", machines.WRITERS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("action", ["rewrite", "restore"])
def test_a_machine_that_stops_at_any_step_loses_nothing(
    action: str, kind: str, seed: int, world: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the next run every row is in some file; after it the session is whole, in order.

    And whatever was rewritten by then can be put back, byte for byte.
    """
    for step in range(1_000):
        path, home = machines.make_session(world / f"at{step}" / "s.jsonl"), f"{home_dir}-{step}"
        original = path.read_bytes()
        work = _prepared(action, path, home)
        writer = Writer(path, kind, seed)
        machine = Machine(writer.act)
        machine.dies_at = step
        with monkeypatch.context() as patch:
            machines.install(patch, machine)
            survived = _survives(work)

        assert machines.everywhere(path) >= set(range(writer.count)), machine.names
        recovery.finish_rewrites_at_path(str(path))
        assert machines.numbers(path) == list(range(writer.count)), machine.names
        writer.finish()
        recovery.finish_rewrites_at_path(str(path))
        assert machines.numbers(path) == list(range(writer.count)), machine.names
        assert machines.ours(path) == []
        machines.restore(path, home)
        appended = b"".join([machines.line(number) for number in range(40, writer.count)])
        assert path.read_bytes() == original + appended, machine.names
        if survived:
            break
    assert 20 < step < 999


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES, CTRL_C])
@pytest.mark.parametrize("kind", ["nobody", "changing"])
@pytest.mark.parametrize("action", ["rewrite", "restore"])
def test_a_failure_at_any_step_says_whether_the_session_was_rewritten_and_costs_nothing(
    action: str, code: int, kind: str, world: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that refuses, or Ctrl-C: there is a way back if and only if the swap happened."""
    ends = []
    for step in range(1_000):
        path, home = machines.make_session(world / f"at{step}" / "s.jsonl"), f"{home_dir}-{step}"
        original = path.read_bytes()
        work = _prepared(action, path, home)
        before = path.read_bytes()
        writer = Writer(path, kind, seed=step)
        machine = Machine(writer.act)
        machine.fails_at = step
        machine.failure = OSError(code, os.strerror(code)) if code else KeyboardInterrupt()
        with monkeypatch.context() as patch:
            machines.install(patch, machine)
            error = _error(work)
        if error:
            is_rewritten = isinstance(error, RewrittenError)
            ends.append(is_rewritten)
            assert path.read_bytes().startswith(before) is not is_rewritten, machine.names
            has_note = restoring.read_notes_and_problems(home, "s") != ([], [])
            assert has_note is (is_rewritten or action == "restore"), machine.names
        writer.finish()
        recovery.finish_rewrites_at_path(str(path))

        assert machines.numbers(path) == list(range(writer.count)), machine.names
        assert machines.ours(path) == []
        machines.restore(path, home)
        appended = b"".join([machines.line(number) for number in range(40, writer.count)])
        assert path.read_bytes() == original + appended, machine.names
        if len(machine.names) <= step:
            break
    assert len(ends) > 15
    assert set(ends) == {True, False}


@pytest.mark.parametrize(
    ("purges", "kills"), [("2x1", 10), pytest.param("3x2", 40, marks=pytest.mark.long)]
)
def test_lines_survive_real_writers_and_real_kills(purges: str, kills: int, world: Path) -> None:
    """The adversary of the benchmarks, at a size for every day: a lost or moved line fails it."""
    sizes = ["--purges", purges, "--kills", f"{kills}x1"]
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks/adversary.py", *sizes],
        env={"PATH": os.defpath, "HOME": str(world), "TMPDIR": str(world)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"'kills': {kills}" in done.stdout


def _prepared(action: str, path: Path, home_dir: str) -> Callable[[], object]:
    """A rewrite, or the restore of one that is done already."""
    if action == "rewrite":
        return lambda: machines.run(path, home_dir)
    machines.run(path, home_dir)
    os.utime(path, (machines.LONG_AGO, machines.LONG_AGO))
    return lambda: restoring.restore(restoring.plan_full_restore(str(path), home_dir), quiet_s=0)


def _error(work: Callable[[], object]) -> BaseException | None:
    try:
        work()
    except (KeyboardInterrupt, RewriteError) as error:
        return error
    return None


def _survives(work: Callable[[], object]) -> bool:
    try:
        work()
    except Died:
        return False
    return True
