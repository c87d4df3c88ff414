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

    from .conftest import Golden

# Before each step; a prompt adds to what the next request takes.
OCCUPANCIES = [
    *(None, 24_300, 26_200, 46_000, 53_400, 74_600, 74_950, 75_042, 93_942, 93_942, 100_442),
    *(103_842, 107_742, 109_242, 114_542, 117_742, 117_742, 120_542, 122_442, 125_542, 129_042),
    *(137_642, 141_042, 142_942, 152_742, 158_142, None, None, 82_642),
]


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
    assert instead["compact"].startswith("[brimline: Read src/importer/pipeline.py: 43,560 bytes, ")
    assert "Never touch prod_db." in instead["compact"]
    assert "Compacted without a summary. Moved out: 6 old results. Each" in instead["compact"]
    assert figures["results_moved_out"] == 6
    assert (moments[-1]["occupancy_tokens"] or 0) < figures["peak_tokens"] - 60_000
    assert figures["steps"] == len(moments)
    assert figures["tokens_kept_out"] > 8_000
    assert 160_000 < figures["peak_tokens"] < 167_000
    assert not [name for name in os.listdir(world) if name.startswith("brimline-demo-")]
    assert os.listdir(world / "home") == []
    assert not (world / "brimline").exists()


def test_a_pipe_gets_plain_text(
    world: Path, golden: Golden, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a terminal no control sequence is printed, and the story is the same every time."""
    player = demo.Player(str(world / "play"))

    for told in demo.told_in_story(player):
        output.say(told)

    text = capsys.readouterr().out
    assert "\x1b" not in text
    golden("demo.txt", text)
    assert [moment.reading.occupancy_tokens for moment in player.moments] == OCCUPANCIES
    assert player.tokens == 92_042
    assert list(player.sizes.values())[4:6] == [350, 92], "of a long output, and of a part of it"
    lengths = [
        len(str(block["content"]))
        for row in map(json.loads, Path(player.session.path).read_text("utf-8").splitlines())
        for block in row.get("message", {}).get("content", [])
        if isinstance(block, dict) and block["type"] == "tool_result"
    ]
    assert max(lengths) == 7_500
    events = [
        each["event"] for each in read_spooled_events(player.home_dir, player.session.session_id)
    ]
    assert (events[0], events.count("SessionStart")) == ("SessionStart", 2)
    assert events.count("PostCompact") == 1


def test_a_bar_has_fifty_cells_however_full_the_window_is(world: Path) -> None:
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

    assert [len(bar[:50].rstrip()) for bar in bars] == [50] * 5
    assert [bar[:50].count("█") for bar in bars[:4]] == [0, 0, 25, 41]
    assert [bar[:50].index("┃") for bar in bars[:4]] == [41] * 4
    assert [bar[50:] for bar in bars[:4]] == ["", "   1%  L0", "  50%  L0", "  83%  L4"]
    for kind, most in (("bulk", 8), ("compact", 16)):
        shown = []
        for count in (most, most + 1):
            rows = "\n".join(str(number) for number in range(count))
            moment = demo.Moment(demo.Step(kind, "x"), found, "", rows)
            (told,) = demo._told_of_moment(moment, 3)
            shown.append([row.strip() for row in told.split("\n")[1:-1]])
        assert shown[0] == [str(number) for number in range(most)]
        assert shown[1] == [*(str(number) for number in range(most - 2)), "…", str(most)]
