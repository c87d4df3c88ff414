"""A session goes back to before a compaction without a model, and what came after is a session."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.transcript.compacted import compact_inside

from brimline.cli.main import main
from brimline.gauge import session_status
from brimline.session import inspect, recovery, session_documents, session_text, undo_compaction
from brimline.session import restore as restoring
from brimline.session.disk import InUseError, RewriteError
from brimline.settings import config
from brimline.state.session import MOD_READING, SessionState, Snapshot
from brimline.transcript import find, usage

from . import machines
from .machines import LONG_AGO, Died, Machine
from .recorded import QUIET_S, Recorded, output

if TYPE_CHECKING:
    from collections.abc import Callable

KILLS, FIRST_STEP = 20, 26
# A process that kills itself at one of its writing system calls.
_UNDO = """
import os, signal, sys
from brimline.session import disk, undo_compaction
left = int(sys.argv[3])
class Killer:
    def __getattr__(self, name):
        def call(*arguments):
            global left
            left -= name in ("open", "write", "fsync", "link", "replace", "unlink")
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return getattr(os, name)(*arguments)
        return call
disk.system = Killer()
undo_compaction.cut_before_compaction(undo_compaction.plan_cut_before(*sys.argv[1:3]), quiet_s=0.01)
"""


@pytest.fixture
def before(session: Recorded) -> bytes:
    """The bytes of a session before it was compacted and went on."""
    session.prompt("Make it pass.")
    for number in range(4):
        session.call(output(str(number)))
    written = session.data
    go_on(session)
    return written


def go_on(session: Recorded, *, is_rebuilt: bool = True) -> None:
    """A compaction without a model, and two turns behind it."""
    compact_inside(session, is_rebuilt=is_rebuilt)
    session.prompt("And now?")
    session.talk(2)
    os.utime(session.path, (LONG_AGO, LONG_AGO))


def go_back(session: Recorded) -> str:
    """Undo the last compaction; returns the file of the second session."""
    os.utime(session.path, (LONG_AGO, LONG_AGO))
    plan = undo_compaction.plan_cut_before(session.path, session.home_dir)
    undo_compaction.cut_before_compaction(plan, quiet_s=QUIET_S)
    return plan.second


def test_the_session_is_what_it_was_and_the_rest_is_a_second_one(
    session: Recorded, before: bytes
) -> None:
    """Byte for byte, but for the id of the second, which is older; a backup has all of it."""

    def named(data: bytes, session_id: str) -> bytes:
        """The same rows of another session."""
        return re.sub(rb'("sessionId":)"[^"]*"', rb'\1"%s"' % session_id.encode(), data)

    first_id = find.session_id_of(session.path)
    whole = session.data = named(session.data, first_id)

    second = go_back(session)

    assert session.data == named(before, first_id)
    second_id = find.session_id_of(second)
    rest = Path(second).read_bytes()
    assert rest == named(whole[len(session.data) :], second_id)
    assert {json.loads(row)["sessionId"] for row in rest.splitlines()} == {second_id}
    assert os.path.getmtime(second) == os.path.getmtime(session.path) - 1
    (backup,) = restoring.backups_of(session.path)
    assert Path(backup.path).read_bytes() == whole
    assert machines.ours(Path(session.path)) == []


def test_rows_that_hang_on_those_before_bring_them_along(session: Recorded) -> None:
    """What another mod kept by handle cannot stand alone, so the second session has all rows."""
    session.prompt()
    call_id = session.tool_call(50_000)
    session.tool_result(call_id, output("a"), sourceToolAssistantUUID=session.parent)
    before = session.data
    go_on(session, is_rebuilt=False)
    whole = session.data
    told = session_text.undo_plan_sentence(
        undo_compaction.plan_cut_before(session.path, session.home_dir)
    )
    assert "brimline session repair" in told.replace("\n", " ")

    second = go_back(session)

    assert session.data == before
    assert len(Path(second).read_bytes().splitlines()) == len(whole.splitlines())


def test_compactions_are_undone_one_after_the_other(session: Recorded, before: bytes) -> None:
    """The last one first; one by a model between them goes with what came after."""
    once = session.data
    go_on(session)
    session.compact(100_000)
    session.talk(1)

    seconds = [go_back(session)]
    assert session.data == once
    seconds.append(go_back(session))

    assert session.data == before
    assert len(set(seconds)) == 2
    with pytest.raises(RewriteError, match="no compaction without a model"):
        go_back(session)


def test_it_is_refused_with_the_reason(session: Recorded, before: bytes) -> None:
    """In use, purged since, or without the rows from before: nothing changes."""
    whole = session.data
    os.utime(session.path)
    with pytest.raises(InUseError, match="in use"):
        undo_compaction.cut_before_compaction(
            undo_compaction.plan_cut_before(session.path, session.home_dir), quiet_s=QUIET_S
        )
    assert session.data == whole

    session.purge(keep_requests=0)
    purged = session.data
    assert purged != whole
    with pytest.raises(RewriteError, match="purged or repaired since"):
        go_back(session)
    assert session.data == purged
    session.restore()

    session.data = whole[len(before) :]
    with pytest.raises(RewriteError, match="no longer has the rows"):
        go_back(session)

    session.data = before
    session.compact(100_000)
    with pytest.raises(RewriteError, match="no compaction without a model"):
        go_back(session)
    names = {path.name for path in Path(session.path).parent.glob("*.jsonl")}
    assert names == {Path(session.path).name}


@pytest.mark.parametrize("is_rebuilt", [True, False])
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_a_compaction_that_was_cut_off_is_told_and_taken_back(
    session: Recorded, is_rebuilt: bool, rows: int
) -> None:
    """No repair guesses what it kept. With nothing behind it a resume sends all from before it."""
    session.prompt("Make it pass.")
    for number in range(4):
        session.call(output(str(number)))
    before, whole = session.data, inspect.inspect(session.path)
    compact_inside(session, is_rebuilt=is_rebuilt)
    assert "cut_off_compaction" not in _kinds(session)
    lines = session.data[len(before) :].splitlines(keepends=True)
    session.data = before + b"".join(lines[: 1 + rows]) + lines[1 + rows][:40]

    cut = inspect.inspect(session.path)
    assert _kinds(session) == ["cut_off_compaction"]
    assert not cut.findings.mendable_faults
    shown = session_text.inspection_text(
        session_documents.inspection_document(session.path, session.home_dir)
    )
    assert "session restore --before-compaction" in " ".join(shown.split())
    if not rows:
        assert cut.is_undone
        assert cut.resume_tokens == whole.resume_tokens
    go_back(session)
    assert session.data == before
    assert _kinds(session) == []


def _kinds(session: Recorded) -> list[str]:
    return [fault.kind for fault in inspect.inspect(session.path).findings.faults]


def test_what_changed_since_the_plan_is_refused(session: Recorded, before: bytes) -> None:
    """A row that came meanwhile belongs to what is saved."""
    plan = undo_compaction.plan_cut_before(session.path, session.home_dir)
    session.talk(1)
    whole = session.data
    os.utime(session.path, (LONG_AGO, LONG_AGO))

    with pytest.raises(RewriteError, match="changed meanwhile"):
        undo_compaction.cut_before_compaction(plan, quiet_s=QUIET_S)

    assert session.data == whole
    assert len(whole) > len(before)
    assert not os.path.exists(plan.second)


@pytest.mark.parametrize("failure", ["dies", "full", "killed"])
def test_a_machine_that_stops_a_full_disk_or_a_kill_at_any_step_loses_nothing(
    session: Recorded, before: bytes, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    """Either all is as it was, or both sessions are there; the next attempt makes no third.

    Killed are twenty real processes, each a step later than the one before.
    """
    whole, outcomes = session.data, set()
    for step in range(FIRST_STEP, FIRST_STEP + KILLS) if failure == "killed" else range(1_000):
        session.data = whole
        plan = undo_compaction.plan_cut_before(session.path, session.home_dir)
        if failure == "killed":
            is_last = _is_over_before_the_kill(session, step)
            assert not is_last
        else:
            with monkeypatch.context() as patch:
                is_last = _is_over_before_the_failure(plan, failure, step, patch)
        recovery.finish_rewrites_at_path(session.path)
        outcomes.add(session.data)
        if session.data == whole:
            go_back(session)
        assert session.data == before, step
        assert Path(plan.second).read_bytes().count(b"\n") == whole[len(before) :].count(b"\n")
        assert len(list(Path(session.path).parent.glob("*.jsonl"))) == 2
        assert machines.ours(Path(session.path)) == []
        for path in [
            plan.second,
            *[one.path for one in restoring.backups_of(session.path)],
        ]:
            os.unlink(path)
        if is_last:
            break
    assert outcomes == {whole, before}


def _is_over_before_the_kill(session: Recorded, step: int) -> bool:
    """Undo in a process that is killed at a step, if it gets there."""
    arguments = [sys.executable, "-c", _UNDO, session.path, session.home_dir, str(step)]
    return subprocess.run(arguments, check=False).returncode != -signal.SIGKILL


def _is_over_before_the_failure(
    plan: undo_compaction.Undoing, failure: str, step: int, patch: pytest.MonkeyPatch
) -> bool:
    """Undo on a machine that dies, or whose disk is full, at a step, if it gets there."""
    machine = Machine()
    machine.dies_at, machine.fails_at = (step, None) if failure == "dies" else (None, step)
    machines.install(patch, machine)
    with contextlib.suppress(Died, RewriteError):
        undo_compaction.cut_before_compaction(plan, quiet_s=QUIET_S)
    return len(machine.names) <= step


@pytest.mark.parametrize("rewrite", [go_back, functools.partial(Recorded.purge, keep_requests=1)])
def test_how_full_it_is_is_read_from_the_file_again(
    session: Recorded, before: bytes, rewrite: Callable[[Recorded], object]
) -> None:
    """Others measured the session as it was before its file was rewritten; the window holds."""
    state = SessionState(session.home_dir, find.session_id_of(session.path))
    measured = Snapshot(at=time.time(), occupancy_tokens=9_000, window_tokens=180_000)
    state.save_snapshot(measured)
    state.save_document(
        MOD_READING, {"at": time.time(), "occupancy_tokens": 9_100, "source": "client"}
    )
    state.save_size_at_compaction(len(before))

    rewrite(session)

    policy = config.build_live_policy(session.home_dir, session.cwd)
    status = session_status.read_status_document(session.path, session.home_dir, policy)
    last = usage.read_tail(session.path).usage
    assert last is not None
    assert status["measured_by"] == "transcript"
    assert status["occupancy_tokens"] == last.prompt_tokens
    assert (status["window_tokens"], status["window_source"]) == (180_000, "statusline")
    assert "compacted-" not in "".join(os.listdir(state.folder))


def test_the_command_says_what_it_will_do(
    session: Recorded,
    before: bytes,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The plan names the second session; a refusal is one sentence and not zero."""

    def run(*arguments: str) -> tuple[int, str, str]:
        command = ["brimline", "session", "restore", session.path, "--before-compaction"]
        monkeypatch.setattr(sys, "argv", [*command, *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    whole = session.data
    second = undo_compaction.plan_cut_before(session.path, session.home_dir).second
    code, shown, _ = run("--dry-run")
    assert (code, session.data) == (0, whole)
    assert find.session_id_of(second) in shown
    assert "repair" not in shown

    code, shown, _ = run("--yes", "--json")
    assert code == 0
    assert session.data == before
    document = json.loads(shown)
    assert (document["applied"], document["second_path"]) == (True, second)

    code, _, problem = run("--yes")
    assert code == 1
    assert "no compaction without a model" in problem
