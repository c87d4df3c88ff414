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
        env=environment | ({"BENCH_GROWTH": str(world / growth)} if growth else {}),
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


@pytest.mark.parametrize(
    "parts", [(150, 5, 150, 3), pytest.param((5_000, 150, 1_500, 24), marks=pytest.mark.long)]
)
def test_nothing_escapes_what_is_thrown_at_it(world: Path, parts: tuple[int, ...]) -> None:
    """The hostile benchmark, at a size for every day: a violation is a failure."""
    names = ("--events", "--processes", "--arguments", "--kills")
    sizes = [f"{name}={size}" for name, size in zip(names, parts, strict=True)]
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks/hostile.py", *sizes],
        env={"PATH": os.defpath, "HOME": str(world)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=1_200,
    )

    assert done.returncode == 0, done.stdout[-2_000:]


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
    for _ in range(40):
        session.tool_result(session.tool_call(60_000, command="true"), "ok")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    shutil.copy(session.path, corpus / "secret-name.jsonl")
    monkeypatch.setenv("BENCH_CORPUS", str(corpus))

    purge_corpus.main()

    out = capsys.readouterr().out
    assert "secret" not in out
    assert " | 1 | yes | yes | yes |" in out


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


def test_questions_are_answered_by_what_a_compaction_leaves(
    session: SessionBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Of an old result and a reply: by the client's summary, by ours, and with a recall."""
    from benchmarks import questions

    session.prompt("Measure the feeds.")
    asked = []
    for number in range(40):
        text = f"feed {number} took {number}31 ms\n" + f"row {number} passed\n" * 900
        told = session.tool_result(session.tool_call(3_500 * number, command=f"./b {number}"), text)
        asked += [("How many ms did feed 0 take?", "old", told["uuid"], "took 031 ms", text)]
    (said,) = session.reply(150_000, {"type": "text", "text": "Feed 31 is slow."})
    asked += [("Which feed is slow?", "reply", said["uuid"], "Feed 31", "Feed 31 is slow.")]
    session.compact(160_000, summary="They were measured: feed 31 is slow.")
    session.reply(9_000)
    keys = ("question", "kind", "session", "row", "block", "start", "length", "sha256")
    rows = [
        (
            name,
            kind,
            "session.jsonl",
            row,
            0,
            text.index(words),
            len(words),
            questions.digest(words),
        )
        for name, kind, row, words, text in (asked[0], asked[-1])
    ]
    (tmp_path / "corpus").mkdir()
    shutil.copy(session.path, tmp_path / "corpus" / "session.jsonl")
    page = tmp_path / "questions.json"
    page.write_text(json.dumps([dict(zip(keys, row, strict=True)) for row in rows]))
    monkeypatch.setattr(questions, "QUESTIONS", page)
    monkeypatch.setenv("BENCH_CORPUS", str(tmp_path / "corpus"))
    monkeypatch.setattr(sys, "argv", ["questions.py"])

    questions.main()

    out = capsys.readouterr().out
    assert "| old tool results | 1 | 0 | 0 | 1 |" in out
    assert "| replies | 1 | 1 | 1 | 1 |" in out


def test_the_page_of_results_is_what_a_run_would_write() -> None:
    """Behind hooks and forecast stand the pages of the other benchmarks, word for word."""
    page = (ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8")
    others = sorted((ROOT / "benchmarks/results").glob("*.md"))

    kept = [other.read_text(encoding="utf-8").strip() for other in others]

    assert len(kept) > 5
    assert page.endswith("\n\n" + "\n\n".join(kept) + "\n")
