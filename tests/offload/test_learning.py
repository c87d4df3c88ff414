"""What experience teaches: calls whose references come back are left alone."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from brimline.offload import learning, savings

from .player import LOG, Player

BUILD = LOG[:20_000]


def fetch_back(player: Player, times: int) -> None:
    """A command's output is replaced, and fetched back at once."""
    for number in range(times):
        shown = player.bash(f"make deploy n={number}", f"{BUILD}\n{number}")
        assert shown is not None
        key = player.turn("Stop").state.last_line("Offloaded")["key"]
        player.bash(f"brimline store get {key}", f"{BUILD}\n{number}")


@pytest.mark.row("S3-11")
def test_a_command_whose_references_come_back_passes_in_its_project(player: Player) -> None:
    """Every fifth is replaced all the same: else nothing could ever change."""
    fetch_back(player, 3)

    passed = [
        player.bash(f"make deploy --again {n}", f"{BUILD}\n again {n}") is None for n in range(5)
    ]

    assert passed == [True, True, True, True, False]
    elsewhere = Player(player.home_dir, "/other", "s2")
    assert elsewhere.bash("make deploy", BUILD) is not None
    (entry, *_) = learning.learned(player.home_dir, player.project_dir)
    assert (entry.pattern, entry.recalls, len(entry.sizes_bytes)) == ("make deploy", 3, 8)


@pytest.mark.row("S3-27")
def test_what_is_older_than_thirty_days_does_not_count(home_dir: str) -> None:
    """Nor what a clock that ran ahead wrote."""
    learning.note(home_dir, learning.STUB, ("/p", "Bash", "make all"), 9_000)
    path = Path(learning.file(home_dir))
    line = json.loads(path.read_text(encoding="utf-8"))
    assert len(learning.learned(home_dir)) == 1
    moved = [line["at"] - learning.EXPIRY_S - 60, line["at"] + learning.EXPIRY_S + 60]
    lines = [json.dumps(line | {"at": at}, separators=(",", ":")) for at in moved]
    path.write_text("\n".join(lines), encoding="utf-8")

    assert learning.learned(home_dir) == []


@pytest.mark.row("S3-76")
def test_what_was_learned_is_listed_and_forgotten(home_dir: str) -> None:
    """By project or in all of them."""
    for project in ("/a", "/b"):
        learning.note(home_dir, learning.STUB, (project, "Bash", "make all"), 9_000, "1" * 64)

    assert [len(entry.sizes_bytes) for entry in learning.learned(home_dir)] == [2]
    assert learning.forget(home_dir, "make all", "/a") == 1
    assert learning.learned(home_dir, "/a") == []
    assert learning.forget(home_dir, "make all") == 1
    assert learning.learned(home_dir) == []


def test_damage_and_a_full_file_cost_nothing(home_dir: str) -> None:
    """Torn lines, foreign values, lines of the last version; a large file is put aside."""
    path = Path(learning.file(home_dir))
    path.parent.mkdir(parents=True)
    old = {"v": 1, "at": time.time(), "kind": "stub", "project": "/p", "tool": "Bash"}
    old |= {"pattern": "npm run build", "bytes": 9_000, "key": "1" * 12}
    lines = [json.dumps(old), '{"v":1,"at":', json.dumps(old | {"at": "x"}), '{"v":9}', "[]"]
    path.write_text("\n".join([*lines, "x" * 300_000, json.dumps(old)]), encoding="utf-8")
    Path(home_dir, "offload-learned.12.jsonl").write_text("", encoding="utf-8")

    learning.tidy(home_dir)
    learning.note(home_dir, learning.STUB, ("/p", "Bash", "npm run build"), 8_500)

    (entry,) = learning.learned(home_dir, "/p")
    assert entry.sizes_bytes == [9_000, 9_000, 8_500]
    assert sorted(one.name for one in Path(home_dir).iterdir()) == [
        "offload-learned.jsonl",
        "offload-learned.jsonl.old",
    ]


@pytest.mark.row("S3-01", "S3-28")
def test_what_was_kept_out_is_counted_from_the_spool(player: Player) -> None:
    """What would have been shown, less references, less what was fetched back or repeated."""
    shown = player.bash("cat app.log", BUILD)
    assert shown is not None
    player.read("/p/a.log", LOG[:60_000])
    player.bash("cat app.log", BUILD)

    found = savings.session(player.home_dir, "s1")

    assert (found.references, found.recalls) == (2, 1)
    assert found.stored_bytes == len(BUILD) + 60_000
    assert found.recalled == len(BUILD)
    assert found.kept_out == found.would - found.shown - len(BUILD)
    assert 55_000 < found.kept_out < 65_000
