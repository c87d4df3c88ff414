"""What a session is known to have seen: previews since, pages of them, and what a fork was told."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.bulk import hook

from .conftest import LOG, SOURCE, Player

BUILD = LOG[:20_000]
TEXT = SOURCE[:40_000].rpartition("\n")[0]
LINES = TEXT.split("\n")


def test_a_refusal_names_the_file_and_the_ways_on(player: Player) -> None:
    """Of a long path the end."""
    path = "/p/" + "long/" * 60 + "a.py"
    player.read(path, TEXT)

    refused = player.write(path)

    assert refused is not None
    assert refused.permission == "deny"
    assert refused.reason.startswith("…")
    assert refused.reason.partition(" was shown to you as a preview")[0].endswith("/long/a.py")
    assert refused.reason.endswith("repeat the Write: it passes.")


@pytest.mark.parametrize("path", [None, 5, ["/p/a.py"]])
def test_a_write_without_a_path_is_no_business_of_ours(player: Player, path: Any) -> None:
    """The client itself refuses it."""
    player.read("/p/a.py", TEXT)
    asked = {"tool_name": "Write", "tool_input": {"file_path": path}}

    assert hook.pre_tool_use(player.turn("PreToolUse", **asked)) is None


def test_a_file_that_was_never_a_preview_may_be_overwritten(player: Player) -> None:
    """Whatever became of others."""
    player.read("/p/a.py", TEXT)

    assert player.write("/p/b.py") is None
    assert player.write("/p/a.py") is not None
