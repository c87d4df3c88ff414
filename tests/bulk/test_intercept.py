"""What becomes of a large result, and what experience teaches of calls like it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from brimline.bulk import experience, hook, intercept, judge, put, traces
from brimline.errors import StoreError
from brimline.models import MOST_CHARACTERS_PER_TOKEN
from brimline.state import forgotten

from .conftest import LOG, SOURCE, Player, cut

BUILD = LOG[:20_000]
ENOUGH, EXPIRY = intercept._CAME_BACK, intercept._EXPIRY_S
# Of a window of a million tokens.
MOST = int(judge._CONTENT_SHARE * 1_000_000 * MOST_CHARACTERS_PER_TOKEN)


def fetch_back(player: Player, times: int) -> None:
    """A command's output is replaced, and fetched back at once."""
    for number in range(times):
        shown = player.bash(f"make deploy n={number}", f"{BUILD}\n{number}")
        assert shown is not None
        key = player.turn("Stop").state.last_spooled_row_of("Offloaded")["key"]
        player.bash(f"brimline store get {key}", f"{BUILD}\n{number}")


@pytest.mark.row("S3-11")
def test_a_command_whose_references_come_back_passes_in_its_project(player: Player) -> None:
    """A few are replaced all the same: else nothing could ever change."""
    fetch_back(player, ENOUGH)

    passed = [
        player.bash(f"make deploy --again {n}", f"{BUILD}\n again {n}") is None
        for n in range(intercept._PROBE_EVERY)
    ]

    assert all(passed[:-1])
    assert not passed[-1]
    elsewhere = Player(player.home_dir, "/other", "s2")
    assert elsewhere.bash("make deploy", BUILD) is not None


@pytest.mark.parametrize(("share", "stays"), [(0.49, False), (0.51, True)])
def test_a_reference_of_which_half_came_back_did_not_pay(
    player: Player, share: float, *, stays: bool
) -> None:
    """In one go or in several."""
    for number in range(ENOUGH):
        text = f"{BUILD}\n{number}"
        assert player.bash(f"make deploy n={number}", text) is not None
        command = f"brimline store get {put.sha256(text.encode())} --lines 1:2"
        for _ in range(2):
            player.bash(command, text[: int(len(text) * share / 2)])

    assert (player.bash("make deploy", BUILD) is None) == stays


@pytest.mark.row("S3-27")
@pytest.mark.parametrize(
    ("moved_s", "counts"),
    [(0, True), (EXPIRY - 99, True), (EXPIRY + 99, False), (-EXPIRY - 99, False)],
)
def test_what_is_old_does_not_count(player: Player, moved_s: int, *, counts: bool) -> None:
    """Nor what a clock that ran ahead wrote; torn and foreign lines cost nothing."""
    fetch_back(player, ENOUGH)
    path = Path(player.home_dir, "offload-learned.jsonl")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    moved = [json.dumps(line | {"at": line["at"] - moved_s}) for line in lines]
    damaged = [json.dumps(lines[0] | {"at": "x"}), '{"v":1,"at":', "[]", '{"v":9}']
    text = "\n".join([*damaged, *moved]).replace('{"v": ', '{"v":')
    path.write_text(text, encoding="utf-8")

    assert (player.bash("make deploy", BUILD) is None) == counts


def test_a_large_file_is_put_aside_and_still_counts(player: Player) -> None:
    """As it did before."""
    fetch_back(player, ENOUGH)
    with open(f"{player.home_dir}/offload-learned.jsonl", "a", encoding="utf-8") as file:
        file.write("x" * hook._ROTATE_AT_BYTES)

    hook.tidy(player.turn("Stop"), 0.0)

    assert [path.name for path in Path(player.home_dir).glob("offload*")] == [
        "offload-learned.jsonl.old"
    ]
    assert player.bash("make deploy", BUILD) is None


@pytest.mark.row("S3-76")
@pytest.mark.parametrize("is_all", [False, True])
def test_what_was_learned_can_be_read_taken_back_and_forgotten(
    player: Player, is_all: bool
) -> None:
    """In words, without secrets; a project's lines go with it."""
    fetch_back(player, ENOUGH)
    player.bash("deploy --token=ghp_abcdefghijklmnopqrstuvwxyz0123456789", BUILD)

    (newest, made) = experience.document(player.home_dir)["calls"]
    assert (made["words"], made["folder"]) == ("Bash make deploy", player.project_dir)
    assert [newest["stays"], made["stays"]] == [False, True]
    assert "ghp_" not in Path(player.home_dir, "offload-learned.jsonl").read_text(encoding="utf-8")
    assert "make deploy" in experience.text(experience.document(player.home_dir))
    assert experience.take_back(player.home_dir, "Bash make deploy") == 1
    assert "make deploy" not in experience.text(experience.document(player.home_dir))
    assert player.bash("make deploy", BUILD) is not None
    with pytest.raises(StoreError, match="store learned"):
        experience.take_back(player.home_dir, "Bash nothing")
    asked = forgotten.Asked((), project="/" if is_all else player.project_dir)
    told = [traces.forget(player.home_dir, asked, dry_run=dry)["entries"] for dry in (True, False)]
    assert told[0] == told[1] > 3
    assert experience.document(player.home_dir)["calls"] == []


@pytest.mark.parametrize(
    ("settings", "passes", "is_shown"),
    [
        ({"context_window": 1_000_000}, MOST - 1, MOST + 1),
        ({"context_window": 200_000}, 24_999, 25_001),
        ({}, 24_999, 25_001),
        ({"context_window": 1_000_000, "offload.read_bytes": 30_000}, 29_999, 30_001),
    ],
    ids=["a million tokens", "200,000", "nobody knows", "as the user says"],
)
def test_how_much_content_passes_depends_on_a_window_that_is_known(
    player: Player, settings: dict[str, Any], passes: int, is_shown: int
) -> None:
    """A share of it, and 25,000 bytes at the least; bulk is bulk in any window."""
    player.values = settings

    assert player.bash("cat a.py", cut(SOURCE, passes)) is None
    assert player.bash("cat b.py", cut(SOURCE, is_shown)) is not None
    assert player.bash("docker logs web", cut(LOG, 9_000)) is not None
