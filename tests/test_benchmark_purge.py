"""The purge benchmarks: what they generate is what they say, and what they prove is proven."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import purge, purge_corpus, purge_session

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder


def test_a_generated_session_has_the_shares_of_recorded_ones(tmp_path: Path) -> None:
    """Copies 41 %, progress 16 %, results 13 %, each within a few points; the same every time."""
    path = tmp_path / "session.jsonl"
    purge_session.write(str(path), 3_000_000)
    first = path.read_bytes()
    purge_session.write(str(path), 3_000_000)

    copies = progress = results = 0
    for line in first.splitlines():
        row = json.loads(line)
        if row["type"] == "progress":
            progress += len(line)
        elif "toolUseResult" in row:
            copies += len(json.dumps(row["toolUseResult"], ensure_ascii=False).encode())
            results += len(json.dumps(row["message"], ensure_ascii=False).encode())
    assert path.read_bytes() == first
    assert 3_000_000 <= len(first) < 3_300_000
    assert copies / len(first) == pytest.approx(0.41, abs=0.08)
    assert progress / len(first) == pytest.approx(0.16, abs=0.05)
    assert results / len(first) == pytest.approx(0.13, abs=0.08)


def test_the_benchmark_runs_and_tells_what_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a session of one megabyte, without the other tools."""
    arguments = ["purge.py", "--sizes", "1", "--samples", "1", "--alone", "--folder", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setattr(purge, "_longest_bytes", lambda _folder: 1_000)

    purge.main()

    out = capsys.readouterr().out
    assert "| 1 MB | brimline |" in out
    assert "| 100% | 100% |" in out


def test_the_table_over_a_corpus_names_no_session(
    session: SessionBuilder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Figures and proofs, by number."""
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
