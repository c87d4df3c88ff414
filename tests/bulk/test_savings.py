"""What was kept out of a session and what came back, as its spool tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.figures import savings
from brimline.state.session import SessionState

from .conftest import LOG, Player

if TYPE_CHECKING:
    from pathlib import Path

BUILD = LOG[:20_000]


@pytest.mark.row("S3-01")
def test_what_was_kept_out_is_counted_from_the_spool(player: Player) -> None:
    """What would have been shown, less references, less what was fetched back or repeated."""
    shown = player.bash("cat app.log", BUILD)
    assert shown is not None
    player.read("/p/a.log", LOG[:60_000])
    player.bash("cat app.log", BUILD)

    found = savings.saved_in_one_session(player.home_dir, "s1")

    assert (found.references, found.recalls) == (2, 1)
    assert found.stored_bytes == len(BUILD) + 60_000
    assert found.recalled == len(BUILD)
    kept_out = found.client_shown_characters - found.shown - len(BUILD)
    assert found.kept_out_tokens == round(kept_out / 2.85)
    assert 55_000 < kept_out < 65_000


def test_only_what_was_offloaded_or_fetched_counts_whatever_else_names_it(player: Player) -> None:
    """As far as its figures are numbers; of several sessions all together."""
    for session_id in ("a", "b"):
        state = SessionState(player.home_dir, session_id)
        state.spool_event("Stop", {"said": "Offloaded"})
        state.spool_event("Offloaded", {"key": "k", "bytes": 900, "would": 500, "shown": "many"})
        state.spool_event("Offloaded", {"key": "l", "bytes": 100, "would": 50, "shown": 30})
        state.spool_event("Recalled", {"key": "k", "shown": 70})
        state.spool_event("Recalled", {"key": "of another", "shown": 7_000})

    alone = savings.saved_in_one_session(player.home_dir, "a")

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
    assert savings.saved_in_one_session(player.home_dir, "s1").kept_out_text == (
        f"better previews, ~{more:,} tokens more than the client's"
    )
