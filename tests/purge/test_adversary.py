"""Nobody loses a line: others write, disks fail and machines stop at every step of a rewrite."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from brimline.purge import recovery
from brimline.purge.errors import PurgeError

from . import machines
from .machines import Died, Machine, Writer

ROOT = Path(__file__).parent.parent.parent
SEEDS = range(3)


@pytest.mark.parametrize("kind", machines.WRITERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_machine_that_stops_at_any_step_loses_nothing(
    kind: str, seed: int, world: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the next run every row is in some file; after it the session is whole, in order."""
    for step in range(1_000):
        path = machines.make_session(world / f"at{step}" / "s.jsonl")
        writer = Writer(path, kind, seed)
        machine = Machine(writer.act)
        machine.dies_at = step
        with monkeypatch.context() as patch:
            machines.install(patch, machine)
            survived = _rewrite_survives(path, home_dir)

        assert machines.everywhere(path) >= set(range(writer.count)), machine.names
        recovery.recover(str(path))
        assert machines.numbers(path) == list(range(writer.count)), machine.names
        writer.finish()
        recovery.recover(str(path))
        assert machines.numbers(path) == list(range(writer.count)), machine.names
        assert machines.ours(path) == []
        if survived:
            break
    assert 20 < step < 999


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("kind", ["nobody", "changing"])
def test_a_disk_that_refuses_at_any_step_costs_an_error_and_nothing_else(
    code: int, kind: str, world: Path, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence, never a traceback; the session is what it was, or the rewritten one."""
    refused = 0
    for step in range(1_000):
        path = machines.make_session(world / f"at{step}" / "s.jsonl")
        writer = Writer(path, kind, seed=step)
        machine = Machine(writer.act)
        machine.fails_at, machine.failure = step, OSError(code, os.strerror(code))
        with monkeypatch.context() as patch:
            machines.install(patch, machine)
            refused += _is_refused(path, home_dir)
        writer.finish()
        recovery.recover(str(path))

        assert machines.numbers(path) == list(range(writer.count)), machine.names
        assert machines.ours(path) == []
        if len(machine.names) <= step:
            break
    assert refused > 15


def test_lines_survive_real_writers_and_real_kills(world: Path) -> None:
    """The adversary of the benchmarks, at a size for every day: a lost or moved line fails it."""
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks/adversary.py", "--rewrites", "3x2", "--kills", "40x1"],
        env={"PATH": os.defpath, "HOME": str(world), "TMPDIR": str(world)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "'kills': 40" in done.stdout


def _is_refused(path: Path, home_dir: str) -> bool:
    try:
        machines.run(path, home_dir)
    except PurgeError as error:
        return str(path.parent) in str(error)
    return False


def _rewrite_survives(path: Path, home_dir: str) -> bool:
    try:
        machines.run(path, home_dir)
    except Died:
        return False
    return True
