"""The benchmarks run, tell the truth about their samples, and leave nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

ROOT = Path(__file__).parent.parent
SOURCE = "\n".join(
    f"def handler_{n}(request):\n    return render_{n}(request, {n})\n" for n in range(900)
)


@pytest.fixture(autouse=True)
def checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the `benchmarks` package of the checkout importable."""
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.mark.parametrize("growth", ["", "missing.csv"])
def test_the_quick_mode_measures_every_case_and_leaves_only_the_page(
    world: Path, growth: str
) -> None:
    """The printed page is the written one; trouble is one line and a non-zero exit code."""
    (world / "tmp").mkdir()
    environment = {"PATH": os.defpath, "HOME": str(world), "TMPDIR": str(world / "tmp")}
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks/run.py", "--quick", "--output", world / "page.md"],
        env=environment | ({"BRIMLINE_GROWTH": str(world / growth)} if growth else {}),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert list((world / "tmp").iterdir()) == []
    if growth:
        assert (done.returncode != 0, done.stderr.count("\n")) == (True, 1)
        assert not (world / "page.md").exists()
        return
    assert done.returncode == 0, done.stderr
    page = (world / "page.md").read_text(encoding="utf-8")
    assert done.stdout == page
    assert "quiet PostToolUse, transcript of 2 MB" in page
    assert "PostToolUse that crosses a tier" in page
    assert str(world) not in page


def test_the_ratio_lies_in_its_interval_and_uses_every_sample() -> None:
    """Twice as slow in every round is a ratio of two, whatever the load did."""
    from benchmarks import stats

    base = [1.0, 9.0, 2.0, 1.5, 3.0, 1.2]

    assert stats.ratio([2 * seconds for seconds in base], base) == (2.0, 2.0, 2.0, 2.0)
    assert stats.figures(base).median_ms == 1_750


@pytest.mark.parametrize(
    ("source", "complaint"),
    [("print('more')", "printed something"), ("raise SystemExit(3)", "ended with exit code 3")],
)
def test_a_process_that_misbehaves_ends_the_run(world: Path, source: str, complaint: str) -> None:
    """A sample of the wrong thing is no sample."""
    from benchmarks import spawn

    def check(output: bytes) -> str | None:
        return "printed something" if output else None

    case = spawn.Case("the case", [sys.executable, "-c", source], os.devnull, check)

    with pytest.raises(spawn.BenchError, match=complaint):
        spawn.Launcher({}, str(world / "output")).time(case)


def test_a_hook_that_left_no_record_is_found_out(world: Path) -> None:
    """A broken hook is as silent as a quiet one, so its record is what counts."""
    from benchmarks import spawn
    from benchmarks.world import MEGABYTE, World

    place = World(str(world / "place"), os.path.realpath(sys.executable))
    launcher = spawn.Launcher(place.environment(), str(world / "output"))
    spawn.interleave(place.cases([MEGABYTE]), launcher, warmup=0, rounds=1)

    place.check_records(1)
    with pytest.raises(spawn.BenchError):
        place.check_records(2)


def test_a_wheel_holds_the_package_and_nothing_else() -> None:
    """The smoke test finds what is missing and what is too much."""
    from benchmarks import smoke

    assert smoke.problem_with(["brimline/py.typed", "brimline-1.dist-info/RECORD"]) is None
    assert smoke.problem_with(["brimline/__init__.py"]) == "py.typed is missing."
    told = smoke.problem_with(["brimline/py.typed", "tests/conftest.py"])
    assert told == "tests/conftest.py does not belong there."


def test_both_servers_are_started_in_turn_and_compared(world: Path) -> None:
    """With two samples only: the figures are for `benchmarks/`, not for a test."""
    from benchmarks import mcp

    found = mcp.measure(str(world), 2, 0)
    page = mcp.render(found)

    assert [len(one.bare) for one in found] == [len(one.ours) for one in found] == [2, 2]
    assert "| `initialize` |" in page
    assert "| `server/discover` |" in page
    assert not (world / "brimline").exists()


def test_a_purge_is_timed_on_a_session_like_recorded_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies are 41 % of it, the same every time; what the purge leaves is told."""
    from benchmarks import purge, purge_session

    arguments = ["purge.py", "--sizes", "1", "--samples", "1", "--alone", "--folder", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setattr(purge, "_longest_bytes", lambda _folder: 1_000)

    purge.main()
    path = tmp_path / "session.jsonl"
    purge_session.write(str(path), 3_000_000)

    out, data = capsys.readouterr().out, path.read_bytes()
    assert "| 1 MB | brimline |" in out
    assert "| 100% | 100% |" in out
    copied = [json.loads(line).get("toolUseResult", "") for line in data.splitlines()]
    copies = sum(len(json.dumps(one, ensure_ascii=False).encode()) for one in copied if one)
    assert copies / len(data) == pytest.approx(0.41, abs=0.08)


def test_the_table_over_a_corpus_names_no_session(
    session: SessionBuilder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Figures and proofs, by number."""
    from benchmarks import purge_corpus

    session.prompt("secret words")
    session.tool_result(session.tool_call(50_000, command="make"), "secret output\n" * 600)
    for _ in range(11):
        session.reply(60_000)
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    shutil.copy(session.path, corpus / "secret-name.jsonl")
    monkeypatch.setenv("BRIMLINE_CORPUS", str(corpus))

    purge_corpus.main()

    out = capsys.readouterr().out
    assert "secret" not in out
    assert "| 1 | 0 | 0 | 1 | 0 | yes | yes | yes |" in out


def test_the_replay_of_offloading_counts_what_is_saved_and_missed(session: SessionBuilder) -> None:
    """A share of the fullest request, names and lines out of sight; a compaction begins anew."""
    from benchmarks import offload

    def act(tool: str, **asked: Any) -> None:
        session.tool_result(session.tool_call(120_000, tool, **asked), "done")

    def judged() -> dict[str, float]:
        return offload.figures(offload.replay(str(session.path)))

    call_id = session.tool_call(90_000, "Read", file_path="/p/a.py")
    lines = SOURCE.count("\n") + 1
    sizes = {"numLines": lines, "startLine": 1, "totalLines": lines}
    response = {"type": "text", "file": {"filePath": "/p/a.py", "content": SOURCE, **sizes}}
    session.tool_result(call_id, SOURCE, toolUseResult=response)
    session.reply(120_000)
    found = judged()
    assert found["replaced"] == 1
    assert found["saved"] == pytest.approx((len(SOURCE) - 5_800) / 2.85 / 120_000, abs=0.01)
    assert (found["retention"], found["edits"], found["recalls"]) == (1.0, 0.0, 0.0)

    act("Bash", command="grep handler_1 /p/a.py")
    assert judged()["recalls"] == 0.0
    line = "return render_700(request, 700)"
    act("Edit", file_path="/p/a.py", old_string=line, new_string="x")
    missed = judged()
    assert missed["edits"] > 0
    assert missed["retention"] < 1

    session.compact(130_000)
    session.reply(105_000)
    first, second = offload.replay(str(session.path))
    assert first.saved > second.saved == 0
