"""Pins that a user asks for in a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from brimline.fast import io
from brimline.offload import pinning
from brimline.offload.hook import PINS_WAIT
from brimline.state.session import SessionState
from brimline.store import contents, layout, pins, put

from .player import LOG, Player

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

SMALL = "\n".join(f"line {number}" for number in range(700))


def say(prompt: str, session: SessionBuilder, home_dir: str, **changes: Any) -> tuple[str, ...]:
    """What a prompt is answered."""
    player = Player(home_dir, session.cwd, source="")
    player.transcript, player.values = str(session.path), changes
    return player.say(prompt)


def result(home_dir: str, stdout: str) -> str:
    """A command's result comes; the key it has or would have."""
    Player(home_dir, "/p", source="").bash("make all", stdout)
    return "sha256:" + put.sha256(stdout.encode())


def pinned(home_dir: str, key: str) -> str:
    """How firmly a result is held."""
    return pins.level_of(home_dir, layout.digest_of(key))


@pytest.mark.row("S3-58")
def test_the_last_result_is_pinned_though_it_stayed_in_the_window(
    session: SessionBuilder, home_dir: str
) -> None:
    """It is stored for that; smaller ones after it are passed over."""
    session.tool_result("t1", SMALL)
    session.tool_result("t2", "small")

    notes = say('ccm:pin last level=hard reason="the build"', session, home_dir)

    key = "sha256:" + put.sha256(SMALL.encode())
    found = pins.read(home_dir, layout.digest_of(key))
    assert found is not None
    assert (found.level, found.reason) == ("hard", "the build")
    assert notes == (f"brimline: pinned {key[:19]} (hard).",)


@pytest.mark.row("S3-58")
def test_the_last_result_is_pinned_by_its_reference(session: SessionBuilder, home_dir: str) -> None:
    """What was swapped is in the store already."""
    shown = Player(home_dir, session.cwd).bash("make all", LOG)
    assert shown is not None
    session.tool_result("t1", shown)
    key = SessionState(home_dir, "s1").last_line("Offloaded")["key"]

    say("brim:pin last", session, home_dir)

    assert pinned(home_dir, key) == "soft"


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
    session: SessionBuilder, home_dir: str, text: str
) -> None:
    """Through our tool, or by our command, of whose output the client takes the last line break."""
    key = put.put(home_dir, SMALL.encode() + b"\n", {"tool": "Bash"})
    session.tool_result("t1", text.replace("{short}", key[:19]))

    say("/brim:pin-last hard", session, home_dir)

    assert pinned(home_dir, key) == "hard"
    assert [blob.key for blob in contents.blobs(home_dir)] == [key]


def test_answers_of_ours_that_are_no_output_are_passed_over(
    session: SessionBuilder, home_dir: str
) -> None:
    """A search through the store, and a recall of what is gone."""
    session.tool_result("t1", SMALL)
    session.tool_result("t2", f"[brimline recall: hits 1-9 of 9 that hold 'x']\n{SMALL}")
    session.tool_result("t3", f"[brimline recall sha256:{'0' * 12} (Bash): all 9 lines]\n{SMALL}")

    say("brim:pin last", session, home_dir)

    assert pinned(home_dir, "sha256:" + put.sha256(SMALL.encode())) == "soft"


def test_a_store_of_a_newer_format_is_told(session: SessionBuilder, home_dir: str) -> None:
    """In the sentence that the command would say."""
    put.put(home_dir, b"x", {})
    io.replace_file(home_dir + layout.FORMAT_FILE, b"2\n")
    session.tool_result("t1", SMALL)

    (told,) = say("brim:pin last", session, home_dir)

    assert "was written by a newer brimline" in told


@pytest.mark.row("S3-59")
def test_the_next_large_result_is_pinned_and_no_other(
    session: SessionBuilder, home_dir: str
) -> None:
    """Also one that stays in the window; nothing waits afterwards."""
    say("brim:pin next level=hard", session, home_dir)

    tiny, first, second = (result(home_dir, text) for text in ("tiny", SMALL, SMALL + "\nmore"))

    assert [pinned(home_dir, key) for key in (tiny, first, second)] == ["none", "hard", "none"]
    assert PINS_WAIT not in SessionState(home_dir, "s1").names


@pytest.mark.row("S3-60")
def test_a_range_is_pinned_when_it_ends(session: SessionBuilder, home_dir: str) -> None:
    """Results before and after it are not."""
    before = result(home_dir, SMALL + "\nbefore")
    say("brim:pin start", session, home_dir)
    inside = [result(home_dir, f"{SMALL}\n{number}") for number in range(2)]
    assert [pinned(home_dir, key) for key in inside] == ["none", "none"]

    notes = say("brim:pin end", session, home_dir)
    after = result(home_dir, SMALL + "\nafter")

    assert [pinned(home_dir, key) for key in inside] == ["soft", "soft"]
    assert [pinned(home_dir, key) for key in (before, after)] == ["none", "none"]
    assert notes == ("brimline: pinned 2 large results of the range.",)
    assert PINS_WAIT not in SessionState(home_dir, "s1").names


@pytest.mark.row("S3-60")
def test_an_end_without_a_start_pins_nothing(session: SessionBuilder, home_dir: str) -> None:
    """And leaves nothing waiting."""
    assert say("brim:pin end", session, home_dir) == (
        "brimline: pinned 0 large results of the range.",
    )
    assert PINS_WAIT not in SessionState(home_dir, "s1").names


@pytest.mark.row("S3-61", "S3-71")
def test_the_level_of_a_pin_that_names_none_is_a_setting(
    session: SessionBuilder, home_dir: str
) -> None:
    """It is written down with what waits."""
    say("Brim:Pin next", session, home_dir, **{"store.pin_level": "hard"})

    assert pinned(home_dir, result(home_dir, SMALL)) == "hard"


def test_without_results_there_is_nothing_to_pin(session: SessionBuilder, home_dir: str) -> None:
    """Said in a sentence; a prompt without a directive is not answered."""
    assert say("brim:pin last", session, home_dir) == (
        "brimline: there is no large result to pin yet.",
    )
    assert say("pin this on the wall", session, home_dir) == ()


def test_a_quoted_reason_survives_waiting(session: SessionBuilder, home_dir: str) -> None:
    """Quotes and backslashes included."""
    say(r'brim:pin next reason="a \"b\" \\ c"', session, home_dir)

    key = result(home_dir, SMALL)

    found = pins.read(home_dir, layout.digest_of(key))
    assert found is not None
    assert found.reason == r'a "b" \ c'


@pytest.mark.row("S3-75")
def test_a_compaction_finds_all_that_was_named_in_the_store_and_pinned(
    session: SessionBuilder, home_dir: str
) -> None:
    """The last result, the next one, and those of a range that is still open."""
    session.tool_result("t0", SMALL + "0")
    say("brim:pin last level=hard", session, home_dir)
    say("brim:pin next", session, home_dir)
    say("brim:pin start level=hard", session, home_dir)
    keys = ["sha256:" + put.sha256((SMALL + "0").encode())]
    keys += [result(home_dir, SMALL + str(number)) for number in (1, 2)]

    count = pinning.before_compaction(SessionState(home_dir, "s1"), home_dir)

    assert count == 2
    assert [pinned(home_dir, key) for key in keys] == ["hard", "hard", "hard"]
    assert contents.get(home_dir, keys[2]).decode() == SMALL + "2"
    later = result(home_dir, SMALL + "3")
    say("brim:pin end", session, home_dir)
    assert pinned(home_dir, later) == "hard"


@pytest.mark.row("S3-75")
def test_without_open_directives_a_compaction_pins_nothing(
    session: SessionBuilder, home_dir: str
) -> None:
    """A directive that still waits keeps waiting across it."""
    assert pinning.before_compaction(SessionState(home_dir, "s1"), home_dir) == 0
    say("brim:pin next", session, home_dir)

    assert pinning.before_compaction(SessionState(home_dir, "s1"), home_dir) == 0
    assert pinned(home_dir, result(home_dir, SMALL)) == "soft"
