"""Pins that a user asks for in a prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.bulk import contents, layout, pins, put
from brimline.bulk.marks import PINS_WAIT
from brimline.fast import io
from brimline.hooks import entry

from .conftest import LOG

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

    from .conftest import Player

SMALL = "\n".join(f"line {number}" for number in range(700))
KEY = "sha256:" + put.sha256(SMALL.encode())


@pytest.fixture(autouse=True)
def _recorded(player: Player, session: SessionBuilder) -> None:
    player.transcript = str(session.path)


def result(player: Player, stdout: str) -> str:
    """A command's result comes; the key it has or would have."""
    player.bash("make all", stdout)
    return "sha256:" + put.sha256(stdout.encode())


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

    notes = player.say('ccm:pin last level=hard reason="the build"')

    found = pins.read_pin(player.home_dir, layout.digest_of_key(KEY))
    assert found is not None
    assert (found.level, found.reason) == ("hard", "the build")
    assert notes == (f"brimline: pinned {KEY[:19]} (hard).",)


@pytest.mark.row("S3-58", "S3-61", "S3-71")
def test_the_last_result_is_pinned_by_its_reference(
    player: Player, session: SessionBuilder
) -> None:
    """What was swapped is in the store already; the level is soft unless given."""
    shown = player.bash("make all", LOG)
    assert shown is not None
    session.tool_result("toolu_1", shown)

    player.say("brim:pin last")

    assert pinned(player, "sha256:" + put.sha256(LOG.encode())) == ["soft"]


def test_a_pin_is_renewed_or_made_firmer_but_not_loosened_by_a_weaker_one(
    player: Player, session: SessionBuilder
) -> None:
    """Only who asks for none lets it go."""
    session.tool_result("t1", SMALL)
    short = KEY[:19]

    said = [
        *player.say("brim:pin last reason=one"),
        *player.say("brim:pin last level=hard reason=two"),
        *player.say("brim:pin last level=hard reason=three"),
        *player.say("brim:pin last level=soft reason=four"),
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
    player.say("brim:pin last level=none")
    assert pinned(player, KEY) == ["none"]


@pytest.mark.parametrize("end", ["", SMALL])
def test_a_printed_reference_pins_nothing_else(
    player: Player, session: SessionBuilder, end: str
) -> None:
    """The result that printed it is pinned itself, though this session stored what it names."""
    shown = player.bash("make all", LOG) or ""
    printed = (shown if end else shown.partition("\n")[0]) + "\n" + SMALL
    session.tool_result("t9", printed)

    player.say("brim:pin last")

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

    player.say("brim:pin last")

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

    player.say("brim:pin last level=hard")

    assert pinned(player, key) == ["hard"]
    assert [blob.key for blob in contents.list_blobs(player.home_dir)] == [key]


def test_a_pin_that_cannot_be_set_is_told(player: Player, session: SessionBuilder) -> None:
    """In a sentence; a prompt without a directive is not answered."""
    assert player.say("pin this on the wall") == ()
    assert player.say("brim:pin last") == ("brimline: there is no large result to pin yet.",)
    session.tool_result("t1", SMALL)
    put.put(player.home_dir, b"x", {})
    io.replace_file(player.home_dir + layout.FORMAT_FILE, b"2\n")

    (told,) = player.say("brim:pin last")

    assert "was written by a newer brimline" in told


@pytest.mark.row("S3-59")
def test_the_next_large_result_is_pinned_and_no_other(player: Player) -> None:
    """Also one that stays in the window; a quoted reason survives; nothing waits afterwards."""
    player.say(r'brim:pin next level=hard reason="a \"b\" \\ c"')

    keys = [result(player, text) for text in ("tiny", SMALL, SMALL + "\nmore")]

    assert pinned(player, *keys) == ["none", "hard", "none"]
    assert pins.all_pins(player.home_dir)[KEY[7:]].reason == r'a "b" \ c'
    assert PINS_WAIT not in player.turn("Stop").state.names


@pytest.mark.row("S3-60")
def test_a_range_is_pinned_when_it_ends(player: Player) -> None:
    """Results before and after it are not; an end without a start pins nothing."""
    assert player.say("brim:pin end") == ("brimline: pinned 0 large results of the range.",)
    assert PINS_WAIT not in player.turn("Stop").state.names
    keys = [result(player, SMALL + "\nbefore")]
    player.say("brim:pin start")
    keys += [result(player, f"{SMALL}\n{number}") for number in range(2)]
    assert pinned(player, *keys) == ["none"] * 3

    notes = player.say("brim:pin end")
    keys.append(result(player, SMALL + "\nafter"))

    assert pinned(player, *keys) == ["none", "soft", "soft", "none"]
    assert notes == ("brimline: pinned 2 large results of the range.",)
    assert PINS_WAIT not in player.turn("Stop").state.names


@pytest.mark.row("S3-75")
def test_a_compaction_finds_all_that_was_named_in_the_store_and_pinned(
    player: Player, session: SessionBuilder
) -> None:
    """The last result, the next one, and those of a range that stays open across it."""
    compaction = json.dumps(player.turn("PreCompact", trigger="auto").event.payload).encode()
    entry.respond("PreCompact", compaction, player.home_dir)
    session.tool_result("t0", SMALL)
    player.say("brim:pin last level=hard")
    player.say("brim:pin next")
    player.say("brim:pin start level=hard")
    keys = [KEY, *[result(player, SMALL + str(number)) for number in (1, 2)]]

    entry.respond("PreCompact", compaction, player.home_dir)

    assert pinned(player, *keys) == ["hard"] * 3
    assert contents.read_content(player.home_dir, keys[2]).decode() == SMALL + "2"
    later = result(player, SMALL + "3")
    player.say("brim:pin end")
    assert pinned(player, later) == ["hard"]
