"""`brimline demo`: every capability speaks, and nothing but a temporary folder is touched."""

from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from brimline.cli import demo

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, world: Path) -> dict[str, Any]:
    """The demo's own report, with its temporary folder inside the test's world."""
    monkeypatch.setenv("TMPDIR", str(world))
    monkeypatch.setattr("tempfile.tempdir", str(world))
    result = CliRunner().invoke(demo.demo, ["--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.output)
    return found


def test_every_capability_speaks_in_the_demo(played: dict[str, Any]) -> None:
    """A climb through all tiers, advice about a skill, and a quiet start after the compaction."""
    tiers = [moment["tier"] for moment in played["moments"]]
    notes = [moment["note"] for moment in played["moments"] if moment["note"]]

    assert set(tiers) == {0, 1, 2, 3, 4, None}
    assert tiers[-1] == 0
    assert sum("ceiling" in note for note in notes) == 1
    assert len(notes) >= 4


def test_a_result_is_kept_out_and_a_compaction_is_crossed(played: dict[str, Any]) -> None:
    """The model gets a reference and asks for a few lines; the card has what a summary forgot."""
    instead = {moment["kind"]: moment["instead"] for moment in played["moments"]}
    figures = played["figures"]

    assert "[brimline stored" in instead["bulk"]
    assert instead["recall"].startswith("$ brimline store get last --lines ")
    assert "501 rows" in instead["recall"]
    assert "Never touch prod_db." in instead["compact"]
    assert "48213" in instead["compact"]
    assert figures["steps"] == len(played["moments"]) < figures["processes"]
    assert figures["tokens_kept_out"] > 8_000
    assert 160_000 < figures["peak_tokens"] < 167_000


def test_nothing_is_left_behind(played: dict[str, Any], world: Path) -> None:
    """Its folder is gone, and the user's home and data folder were never made."""
    assert not [name for name in os.listdir(world) if name.startswith("brimline-demo-")]
    assert os.listdir(world / "home") == []
    assert not (world / "brimline").exists()


def test_a_pipe_gets_plain_text(world: Path) -> None:
    """Without a terminal no control sequence is printed."""
    console = Console(file=io.StringIO(), force_terminal=False, width=100)

    demo.show(demo.Player(str(world / "play")), console, paced=False)

    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b" not in text
    assert "the client compacts, and the model is given back" in text
    assert "as tool calls lef…" in text, "what is cut says so"
    assert "Figures" in text
