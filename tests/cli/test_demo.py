"""`brimline demo`: every capability speaks, and nothing but a temporary folder is touched."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from brimline import output
from brimline.cli import demo
from brimline.fast import policy
from brimline.figures.spool import read_spooled_events
from brimline.gauge import reading
from brimline.state.session import SessionState

if TYPE_CHECKING:
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
    assert instead["compact"].startswith("[brimline: Read src/importer/pipeline.py: ")
    assert "Never touch prod_db." in instead["compact"]
    moved_out = figures["results_moved_out"]
    assert f"Compacted without a summary. Moved out: {moved_out} old res" in instead["compact"]
    assert moments[-1]["occupancy_tokens"] < figures["peak_tokens"] / 2 + 10_000
    assert figures["steps"] == len(moments)
    assert figures["tokens_kept_out"] > 0
    assert not [name for name in os.listdir(world) if name.startswith("brimline-demo-")]
    assert os.listdir(world / "home") == []
    assert not (world / "brimline").exists()


def test_a_pipe_gets_plain_text(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal no control sequence is printed, and everything is told in its order."""
    player = demo.Player(str(world / "play"))

    for told in demo.told_in_story(player):
        output.say(told)

    text = capsys.readouterr().out
    assert "\x1b" not in text
    titles = [line.partition(": ")[2] for line in text.splitlines() if line.startswith("step ")]
    assert titles == list(demo._TITLES.values())
    notes = [moment for moment in player.moments if moment.note]
    assert text.count(", the model is told\n") == text.count("  [brimline] ") == len(notes)
    assert "\nFigures\n" in text
    lengths = [
        len(str(block["content"]))
        for row in map(json.loads, Path(player.session.path).read_text("utf-8").splitlines())
        for block in row.get("message", {}).get("content", [])
        if isinstance(block, dict) and block["type"] == "tool_result"
    ]
    assert max(lengths) == demo._MOST_CHARACTERS
    events = [
        each["event"] for each in read_spooled_events(player.home_dir, player.session.session_id)
    ]
    assert (events[0], events.count("SessionStart")) == ("SessionStart", 2)
    assert events.count("PostCompact") == 1


def test_a_bar_is_as_long_however_full_the_window_is(world: Path) -> None:
    """The compaction point is in it; where nothing is known no share is told."""
    player = demo.Player(str(world / "play"))
    player.session.model = "claude-sonnet-4-6"
    state = SessionState(player.home_dir, player.session.session_id)
    rules = policy.load(player.home_dir, player.session.cwd)
    bars = []
    for tokens in (None, 2_000, 100_000, 166_000, 260_000):
        if tokens:
            player.session.reply(tokens, output_tokens=0)
        found = reading.measure_session(player.session.path, state, rules)
        bars.append(demo._window_bar(found))

    cells = demo._BAR_CELLS
    point = 167 * cells // 200
    assert [len(bar[:cells].rstrip()) for bar in bars] == [cells] * 5
    filled = [0, 2 * cells // 200, cells // 2, 166 * cells // 200]
    assert [bar[:cells].count("█") for bar in bars[:4]] == filled
    assert [bar[:cells].index("┃") for bar in bars[:4]] == [point] * 4
    assert [bar[cells:] for bar in bars[:4]] == ["", "   1%  L0", "  50%  L0", "  83%  L4"]
    for kind, most in (("bulk", demo._SHOWN_LINES), ("compact", 2 * demo._SHOWN_LINES)):
        shown = []
        for count in (most, most + 1):
            rows = "\n".join(str(number) for number in range(count))
            moment = demo.Moment(demo.Step(kind, "x"), found, "", rows)
            (told,) = demo._told_of_moment(moment, 3)
            shown.append([row.strip() for row in told.split("\n")[1:-1]])
        assert shown[0] == [str(number) for number in range(most)]
        assert shown[1] == [*(str(number) for number in range(most - 2)), "…", str(most)]
