"""What experience teaches: calls whose references come back are left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from brimline.offload import hook, savings
from brimline.state.session import SessionState
from brimline.store import put

from .conftest import LOG, Player

BUILD = LOG[:20_000]


def fetch_back(player: Player, times: int) -> None:
    """A command's output is replaced, and fetched back at once."""
    for number in range(times):
        shown = player.bash(f"make deploy n={number}", f"{BUILD}\n{number}")
        assert shown is not None
        key = player.turn("Stop").state.last_spooled("Offloaded")["key"]
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


def test_a_recall_by_its_key_counts_where_the_output_was_replaced(player: Player) -> None:
    """Also where it is asked for in another project, which learns nothing from it."""
    elsewhere = Player(player.home_dir, "/other", "s2")
    for number in range(3):
        text = f"{BUILD}\n{number}"
        assert player.bash(f"make deploy n={number}", text) is not None
        elsewhere.bash(f"brimline store get {put.sha256(text.encode())}", text)

    assert player.bash("make deploy", BUILD) is None
    assert elsewhere.bash("make deploy", BUILD) is not None


@pytest.mark.row("S3-27")
@pytest.mark.parametrize(("days", "counts"), [(0, True), (29, True), (31, False), (-31, False)])
def test_what_is_older_than_thirty_days_does_not_count(
    player: Player, days: int, *, counts: bool
) -> None:
    """Nor what a clock that ran ahead wrote; torn and foreign lines cost nothing."""
    fetch_back(player, 3)
    path = Path(player.home_dir, "offload-learned.jsonl")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    moved = [json.dumps(line | {"at": line["at"] - days * 86_400}) for line in lines]
    damaged = [json.dumps(lines[0] | {"at": "x"}), '{"v":1,"at":', "[]", '{"v":9}']
    text = "\n".join([*damaged, *moved]).replace('{"v": ', '{"v":')
    path.write_text(text, encoding="utf-8")

    assert (player.bash("make deploy", BUILD) is None) == counts


def test_a_large_file_is_put_aside_and_still_counts(player: Player) -> None:
    """As it did before."""
    fetch_back(player, 3)
    with open(f"{player.home_dir}/offload-learned.jsonl", "a", encoding="utf-8") as file:
        file.write("x" * 300_000)

    hook.tidy(player.turn("Stop"), 0.0)

    assert [path.name for path in Path(player.home_dir).glob("offload*")] == [
        "offload-learned.jsonl.old"
    ]
    assert player.bash("make deploy", BUILD) is None


@pytest.mark.row("S3-01")
def test_what_was_kept_out_is_counted_from_the_spool(player: Player) -> None:
    """What would have been shown, less references, less what was fetched back or repeated."""
    shown = player.bash("cat app.log", BUILD)
    assert shown is not None
    player.read("/p/a.log", LOG[:60_000])
    player.bash("cat app.log", BUILD)

    found = savings.saved_by(player.home_dir, "s1")

    assert (found.references, found.recalls) == (2, 1)
    assert found.stored_bytes == len(BUILD) + 60_000
    assert found.recalled == len(BUILD)
    kept_out = found.client_shown_characters - found.shown - len(BUILD)
    assert found.kept_out_tokens == round(kept_out / 2.85)
    assert 55_000 < kept_out < 65_000


def test_what_the_client_cuts_counts_as_what_it_shows_of_it(player: Player, tmp_path: Path) -> None:
    """Of a very long output the client shows the beginning; fetching more of it saves nothing."""
    kept = tmp_path / "kept.txt"
    kept.write_text(LOG, encoding="utf-8")
    response = {"persistedOutputPath": str(kept), "persistedOutputSize": len(LOG)}
    shown = player.bash("cat app.log", LOG[:30_000], response=response)
    assert shown is not None
    kept_out = 2_300 - len(shown)
    assert savings.saved_by(player.home_dir, "s1").kept_out_tokens == round(kept_out / 2.85)
    player.bash(f"brimline store get {'sha256:' + put.sha256(LOG.encode())}", LOG[:20_000])

    found = savings.saved_by(player.home_dir, "s1")

    assert (found.recalls, found.client_shown_characters, found.recalled) == (1, 2_300, 20_000)
    assert found.kept_out_tokens == round((kept_out - 20_000) / 2.85)


def test_what_a_compaction_moved_out_costs_nothing_here_when_it_is_fetched_back(
    player: Player,
) -> None:
    """Only what was replaced on arrival is set against what was fetched of it."""
    key = put.put(player.home_dir, BUILD.encode(), {"tool": "Bash", "session": "s1"})
    player.bash(f"brimline store get {key}", BUILD)

    assert savings.saved_by(player.home_dir, "s1") == savings.Saved()


def test_only_what_was_offloaded_or_fetched_counts_whatever_else_names_it(player: Player) -> None:
    """As far as its figures are numbers; of several sessions all together."""
    for session_id in ("a", "b"):
        state = SessionState(player.home_dir, session_id)
        state.spool_event("Stop", {"said": "Offloaded"})
        state.spool_event("Offloaded", {"key": "k", "bytes": 900, "would": 500, "shown": "many"})
        state.spool_event("Offloaded", {"key": "l", "bytes": 100, "would": 50, "shown": 30})
        state.spool_event("Recalled", {"key": "k", "shown": 70})
        state.spool_event("Recalled", {"key": "of another", "shown": 7_000})

    alone = savings.saved_by(player.home_dir, "a")

    assert alone == savings.Saved(2, 1_000, 550, 30, 1, 70)
    assert alone.kept_out_tokens == 158
    assert savings.document(player.home_dir, ["a", "b"]) == {
        "references": 4,
        "stored_bytes": 2_000,
        "recalls": 2,
        "would_have_shown_characters": 1_100,
        "reference_characters": 60,
        "recalled_characters": 140,
        "tokens_estimated": 316,
        "gateway_tokens": 0,
    }


@pytest.mark.row("S3-01")
def test_a_preview_larger_than_what_the_client_shows_is_said_to_take_more(
    player: Player, tmp_path: Path
) -> None:
    """Of a large diff the client shows 2,300 characters, and its preview the changed lines."""
    diff = "diff --git a/x b/x\n@@ -1,9 +1,9 @@\n" + "".join(
        f"+new line {n}\n" for n in range(4_000)
    )
    kept = tmp_path / "kept.txt"
    kept.write_text(diff, encoding="utf-8")
    response = {"persistedOutputPath": str(kept), "persistedOutputSize": len(diff)}

    shown = player.bash("git diff", diff[:30_000], response=response)

    assert shown is not None
    more = round((len(shown) - 2_300) / 2.85)
    assert savings.saved_by(player.home_dir, "s1").in_words == (
        f"better previews, ~{more:,} tokens more than the client's"
    )


def test_what_was_learned_names_nothing_of_a_session(player: Player) -> None:
    """Neither its project, nor its commands, nor its files, so that there is nothing to forget."""
    fetch_back(player, 2)
    player.read("/p/secret-plans.log", LOG[:60_000])

    learned = Path(player.home_dir, "offload-learned.jsonl").read_text(encoding="utf-8")

    assert learned.count("\n") >= 5
    for name in (player.project_dir, "make", "deploy", "secret", "Read", 's1"'):
        assert name not in learned
