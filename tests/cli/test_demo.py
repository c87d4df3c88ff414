"""`brimline demo`: every capability speaks, and nothing but a temporary folder is touched."""

from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from brimline.cli import demo, demo_player

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
    """A climb through all tiers, a ceiling advice, a scout hint, and a second climb."""
    notes = [moment["note"] for moment in played["moments"] if moment["note"]]

    first_words = [f"Context tier L{level}" for level in (1, 2, 3, 4)]
    for words in [*first_words, "Over the context ceiling", "node_modules/", "Still critical"]:
        assert any(words in note for note in notes), words
    assert sum("Context tier L1" in note for note in notes) == 2
    assert any("requests (" in note for note in notes)


def test_a_result_is_kept_out_fetched_back_and_counted(played: dict[str, Any]) -> None:
    """The model gets a reference, asks for a few lines, and the books say what that saved."""
    instead = {moment["kind"]: moment["instead"] for moment in played["moments"]}
    figures = played["figures"]

    assert "[brimline stored" in instead["bulk"]
    assert "ERROR batch 611" in instead["bulk"]
    assert instead["recall"].startswith("$ brimline store get sha256:")
    assert "501 rows" in instead["recall"]
    assert figures["references"] == 2
    assert 0 < figures["recalled_bytes"] < 1_000
    assert figures["kept_out_tokens"] > 10_000


def test_a_compaction_is_crossed(played: dict[str, Any]) -> None:
    """The summary forgets, the card brings back, and the last lines say how much."""
    (card,) = [moment["instead"] for moment in played["moments"] if moment["kind"] == "compact"]
    figures = played["figures"]

    assert "Never touch prod_db." in card
    assert "48213" in card
    assert figures["messages_of_the_user"] > figures["held"] >= 0


def test_the_figures_are_those_of_the_moments(played: dict[str, Any]) -> None:
    """What the last lines say is what was played."""
    figures = played["figures"]

    assert figures["steps"] == len(played["moments"])
    assert figures["messages"] == sum(bool(moment["note"]) for moment in played["moments"])
    assert figures["compactions"] == 1
    assert figures["hook_processes"] > figures["steps"]


def test_nothing_is_left_behind(played: dict[str, Any], world: Path) -> None:
    """Its folder is gone, and the user's home and data folder were never made."""
    assert not [name for name in os.listdir(world) if name.startswith("brimline-demo-")]
    assert os.listdir(world / "home") == []
    assert not (world / "brimline").exists()


def test_a_pipe_gets_plain_text(world: Path) -> None:
    """Without a terminal no control sequence is printed."""
    console = Console(file=io.StringIO(), force_terminal=False, width=100)

    demo.show(demo_player.Player(str(world / "play")), console, paced=False)

    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b" not in text
    assert "Context tier L4 Critical" in text
    assert "Figures" in text
