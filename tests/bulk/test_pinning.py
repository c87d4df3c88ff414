"""The pin that a user asks for in a session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.bulk import contents, layout, pinning, pins, put
from brimline.errors import StoreError
from brimline.fast import io

from .conftest import LOG

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

    from .conftest import Player

SMALL = "\n".join(f"line {number}" for number in range(700))
KEY = "sha256:" + put.sha256(SMALL.encode())


@pytest.fixture(autouse=True)
def _recorded(player: Player, session: SessionBuilder) -> None:
    player.transcript = str(session.path)


def pin_last(player: Player, level: str = "soft", reason: str | None = None) -> str:
    """What the person is told who pins the last large result."""
    return pinning.pin_last_large_result(player.turn("UserPromptSubmit"), level, reason)


def pinned(player: Player, *keys: str) -> list[str]:
    """How firmly results are held."""
    return [pins.pin_level_of(player.home_dir, layout.digest_of_key(key)) for key in keys]


@pytest.mark.row("S3-58")
def test_the_last_result_is_pinned_though_it_stayed_in_the_window(
    player: Player, session: SessionBuilder
) -> None:
    """It is stored for that; smaller ones after it, and answers of ours, are passed over."""
    session.tool_result("t1", SMALL)
    session.tool_result("t2", "small")
    session.tool_result("t3", f"[brimline recall: hits 1-9 of 9 that hold 'x']\n{SMALL}")
    session.tool_result("t4", f"[brimline recall sha256:{'0' * 12} (Bash): all 9 lines]\n{SMALL}")

    told = pin_last(player, "hard", "the build")

    found = pins.read_pin(player.home_dir, layout.digest_of_key(KEY))
    assert found is not None
    assert (found.level, found.reason) == ("hard", "the build")
    assert told == f"brimline: pinned {KEY[:19]} (hard)."


@pytest.mark.row("S3-58", "S3-71")
def test_the_last_result_is_pinned_by_its_reference(
    player: Player, session: SessionBuilder
) -> None:
    """What was swapped is in the store already."""
    shown = player.bash("make all", LOG)
    assert shown is not None
    session.tool_result("toolu_1", shown)

    pin_last(player)

    assert pinned(player, "sha256:" + put.sha256(LOG.encode())) == ["soft"]


def test_a_pin_is_renewed_or_made_firmer_but_not_loosened_by_a_weaker_one(
    player: Player, session: SessionBuilder
) -> None:
    """Only who unpins it lets it go."""
    session.tool_result("t1", SMALL)
    short = KEY[:19]

    said = [
        pin_last(player, "soft", "one"),
        pin_last(player, "hard", "two"),
        pin_last(player, "hard", "three"),
        pin_last(player, "soft", "four"),
    ]

    assert said == [
        f"brimline: pinned {short} (soft).",
        f"brimline: pinned {short} (hard).",
        f"brimline: pinned {short} (hard).",
        f"brimline: {short} stays pinned (hard): unpin it first.",
    ]
    found = pins.read_pin(player.home_dir, layout.digest_of_key(KEY))
    assert found is not None
    assert found.reason == "three"


@pytest.mark.parametrize("end", ["", SMALL])
def test_a_printed_reference_pins_nothing_else(
    player: Player, session: SessionBuilder, end: str
) -> None:
    """The result that printed it is pinned itself, though this session stored what it names."""
    shown = player.bash("make all", LOG) or ""
    printed = (shown if end else shown.partition("\n")[0]) + "\n" + SMALL
    session.tool_result("t9", printed)

    pin_last(player)

    named = "sha256:" + put.sha256(LOG.encode())
    assert pinned(player, named, "sha256:" + put.sha256(printed.encode())) == ["none", "soft"]


def test_a_forks_preview_is_what_its_origin_was_shown(
    player: Player, session: SessionBuilder
) -> None:
    """The record is that of a session whose file lies beside its own."""
    shown = player.bash("make all", LOG) or ""
    player.session_id = "s2"
    Path(session.path).with_name("s1.jsonl").touch()
    session.tool_result("toolu_1", shown)

    pin_last(player)

    assert pinned(player, "sha256:" + put.sha256(LOG.encode())) == ["soft"]


@pytest.mark.parametrize(
    "text",
    [
        '[brimline recall {short} (Bash "make all" exit 0): all 700 lines]\n' + SMALL,
        "[brimline recall {short}: lines 1-3 of 700]\na\nb",
        SMALL,
    ],
    ids=["all of it", "a part", "by command"],
)
def test_after_a_recall_the_last_result_is_the_original(
    player: Player, session: SessionBuilder, text: str
) -> None:
    """Through our tool, or by our command, of whose output the client takes the last line break."""
    key = put.put(player.home_dir, SMALL.encode() + b"\n", {"tool": "Bash"})
    session.tool_result("t1", text.replace("{short}", key[:19]))

    pin_last(player, "hard")

    assert pinned(player, key) == ["hard"]
    assert [blob.key for blob in contents.list_blobs(player.home_dir)] == [key]


def test_a_pin_that_cannot_be_set_is_told(player: Player, session: SessionBuilder) -> None:
    """In a sentence."""
    assert pin_last(player) == "brimline: there is no large result to pin yet."
    session.tool_result("t1", SMALL)
    put.put(player.home_dir, b"x", {})
    io.replace_file(player.home_dir + layout.FORMAT_FILE, b"2\n")

    with pytest.raises(StoreError, match="was written by a newer brimline"):
        pin_last(player)
