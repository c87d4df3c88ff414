"""`brimline demo`: every capability speaks, and nothing but a temporary folder is touched."""

from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner
from rich.console import Console

from brimline.cli import demo

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_every_capability_speaks_and_nothing_is_left_behind(
    monkeypatch: pytest.MonkeyPatch, world: Path
) -> None:
    """All tiers, advice on a skill, a reference, a few lines of it, a compaction without loss."""
    monkeypatch.setenv("TMPDIR", str(world))
    monkeypatch.setattr("tempfile.tempdir", str(world))
    result = CliRunner().invoke(demo.demo, ["--json"])
    assert result.exit_code == 0, result.output
    played: dict[str, Any] = json.loads(result.output)
    moments, figures = played["moments"], played["figures"]

    tiers = [moment["tier"] for moment in moments]
    notes = [moment["note"] for moment in moments if moment["note"]]
    assert set(tiers) == {0, 1, 2, 3, 4, None}
    assert tiers[-1] == 0
    assert sum("ceiling" in note for note in notes) == 1
    assert len(notes) >= 4
    instead = {moment["kind"]: moment["instead"] for moment in moments}
    assert "[brimline stored" in instead["bulk"]
    assert instead["recall"].startswith("$ brimline store get last --lines ")
    assert "501 rows" in instead["recall"]
    assert instead["compact"].startswith("[brimline: Grep import_rows: 4,180 bytes, recall sha256:")
    assert "Never touch prod_db." in instead["compact"]
    assert "Compacted without a summary. Moved out: 5 old results. Each" in instead["compact"]
    assert figures["results_moved_out"] == 5
    assert (moments[-1]["occupancy_tokens"] or 0) < figures["peak_tokens"] - 60_000
    assert figures["steps"] == len(moments)
    assert figures["tokens_kept_out"] > 8_000
    assert 160_000 < figures["peak_tokens"] < 167_000
    assert not [name for name in os.listdir(world) if name.startswith("brimline-demo-")]
    assert os.listdir(world / "home") == []
    assert not (world / "brimline").exists()


def test_a_pipe_gets_plain_text(world: Path) -> None:
    """Without a terminal no control sequence is printed."""
    console = Console(file=io.StringIO(), force_terminal=False, width=80)

    demo.show_story(demo.Player(str(world / "play")), console, paced=False)

    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b" not in text
    assert "compacted without a model: results become lines, words stay ─" in text
    assert "Each names its key:" in " ".join(text.replace("│", "").split())
    assert "step 6: a long output stays out" in text
    assert "after step 11, the model is told" in text, "steps are counted from 1"
    assert "78bd…" in text, "what is cut says so"
    assert " 81%  L4" in text
    assert "messages to the model  5" in text
    assert text.count("[brimline]") == 5
