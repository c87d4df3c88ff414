"""Results that the mod hands on: judged once, with the gate it goes by until it asks again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from brimline.bulk import marks
from brimline.hooks import entry
from brimline.state.session import MOD_ALIVE, SessionState
from brimline.testing import SessionBuilder, bash_event

if TYPE_CHECKING:
    from tests.guard.dialogue import Talk

LOG = "\n".join(f"2026-11-15 10:00:{n % 60:02d} INFO worker {n} finished" for n in range(1_500))
# A window of 200,000 is compacted at 167,000; a point is 2,000.
CALM = {
    "bytes": 8_000,
    "reads": True,
    "measured": 40_000,
    "publishes_at": 50_000,
    "speaks_at": 167_000 - 60_000 - 2_000,
    "steep": (167_000 - 40_121) // 6,
}


def hand_on(
    session: SessionBuilder, home_dir: str, stdout: str = "ok", results: int = 1, **fields: Any
) -> dict[str, Any]:
    """Answer a result as the mod brings it."""
    told = {"results": results, "is_later": fields.pop("is_later", False)}
    payload = bash_event(session, stdout, brimline=told, **fields)
    said = entry.respond("PostToolUse", json.dumps(payload).encode(), home_dir)
    document: dict[str, Any] = json.loads(said)
    return document


def gate_at(session: SessionBuilder, home_dir: str, tokens: int) -> dict[str, Any]:
    """The gate that a reading leads to."""
    session.reply(tokens)
    found: dict[str, Any] = hand_on(session, home_dir)["brimline"]
    return found


def test_a_calm_session_says_up_to_where_nothing_is_needed(
    session: SessionBuilder, home_dir: str
) -> None:
    """Sizes, the tokens of the first tier less a point, and the growth that would be steep."""
    assert gate_at(session, home_dir, 40_000) == CALM


def test_in_a_tier_the_next_one_is_waited_for_and_the_last_speaks_with_each_request(
    session: SessionBuilder, home_dir: str
) -> None:
    """So calls between two tiers start nothing."""
    gate_at(session, home_dir, 104_000)
    session.reply(107_500)
    told = hand_on(session, home_dir)
    assert "Context tier L1" in told["hookSpecificOutput"]["additionalContext"]
    assert told["brimline"]["speaks_at"] == 167_000 - 30_000 - 2_000
    assert told["brimline"]["steep"] == 10_000
    assert gate_at(session, home_dir, 165_000)["speaks_at"] == 0


def test_without_a_reading_each_call_is_asked_about(session: SessionBuilder, home_dir: str) -> None:
    """Nobody can say how far there is to go."""
    session.prompt("go")

    assert hand_on(session, home_dir)["brimline"]["speaks_at"] == 0


def test_a_session_that_was_silenced_needs_nothing(session: SessionBuilder, home_dir: str) -> None:
    """Until it is asked again, with the next prompt."""
    session.reply(40_000)
    SessionState(home_dir, session.session_id).switch_off_or_on(off=True)

    assert hand_on(session, home_dir, LOG) == {"brimline": {}}


def test_what_nobody_waits_for_announces_nothing(session: SessionBuilder, home_dir: str) -> None:
    """The tier is told by the next answer that is waited for."""
    session.reply(40_000)
    hand_on(session, home_dir)
    session.reply(116_000)

    assert "hookSpecificOutput" not in hand_on(session, home_dir, is_later=True)
    said = hand_on(session, home_dir)
    assert "Context tier L" in said["hookSpecificOutput"]["additionalContext"]


def test_what_the_client_brought_is_not_judged_anew(session: SessionBuilder, home_dir: str) -> None:
    """The same call again would count as a repetition of its own preview."""
    session.reply(40_000)
    state = SessionState(home_dir, session.session_id)
    state.save_document(MOD_ALIVE, {"at": 0.0})
    mode: dict[str, Any] = {"permission_mode": "bypassPermissions"}
    payload = bash_event(session, LOG, **mode)
    said = entry.respond("PostToolUse", json.dumps(payload).encode(), home_dir)
    assert b"updatedToolOutput" in said

    assert list(hand_on(session, home_dir, LOG)) == ["brimline"]
    call: dict[str, Any] = {
        "tool_use_id": "toolu_000002",
        "tool_input": {"command": "docker logs web"},
    }
    other = hand_on(session, home_dir, LOG, **mode, **call)
    assert "updatedToolOutput" in other["hookSpecificOutput"]


@pytest.mark.parametrize(
    ("results", "is_whole"), [(1, True), (2, True), (10, True), (11, False), (12, False)]
)
def test_results_that_came_without_a_process_close_an_offer(
    results: int, is_whole: bool, session: SessionBuilder, home_dir: str
) -> None:
    """The same call again passes among the next ten results."""
    session.reply(40_000)
    call: dict[str, Any] = {
        "tool_input": {"command": "cat app.log"},
        "permission_mode": "bypassPermissions",
    }
    assert "hookSpecificOutput" in hand_on(session, home_dir, LOG, **call)

    said = hand_on(session, home_dir, LOG, results, tool_use_id="toolu_000002", **call)

    assert ("hookSpecificOutput" not in said) is is_whole


def test_a_file_shown_as_a_preview_has_every_read_looked_at(
    session: SessionBuilder, home_dir: str
) -> None:
    """And in a session with a past, until it is known that there was none."""
    state = SessionState(home_dir, session.session_id)
    state.spool_event("SessionStart", {})
    open(f"{state.folder}/{marks.PAST}", "w").close()
    assert gate_at(session, home_dir, 40_000)["reads"] is False
    open(f"{state.folder}/{marks.PREVIEWED}x", "w").close()
    assert gate_at(session, home_dir, 40_100)["reads"] is True


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"offload__preset": "off"}, ["measured", "publishes_at", "speaks_at", "steep"]),
        ({"guard__preset": "off"}, ["bytes", "reads", "measured", "publishes_at"]),
        (
            {"guard__velocity_points": 0},
            ["bytes", "reads", "measured", "publishes_at", "speaks_at"],
        ),
        ({"guard__preset": "off", "offload__preset": "off"}, ["measured", "publishes_at"]),
    ],
)
def test_of_what_is_switched_off_nothing_is_waited_for(
    talk: Talk, settings: dict[str, object], told: list[str]
) -> None:
    """The rest has the same figures."""
    talk.use(**settings)

    gate = gate_at(talk.session, talk.home_dir, 40_000)

    assert gate == {name: CALM[name] for name in told}


@pytest.mark.parametrize(
    ("inline", "read", "most"),
    [(8_000, 24_000, 8_000), (9_000, 7_000, 7_000), (9_000, 9_000, 9_000)],
)
def test_the_smaller_of_two_sizes_is_the_one_that_is_looked_at(
    talk: Talk, inline: int, read: int, most: int
) -> None:
    """Whichever it is."""
    talk.use(offload__inline_bytes=inline, offload__read_bytes=read)

    assert gate_at(talk.session, talk.home_dir, 40_000)["bytes"] == most


@pytest.mark.parametrize(("others", "is_whole"), [(0, True), (9, True), (10, False)])
def test_each_result_that_is_handed_on_counts_once(
    others: int, is_whole: bool, session: SessionBuilder, home_dir: str
) -> None:
    """So that the same call again passes among the next ten, and not beyond them."""
    session.reply(40_000)
    call: dict[str, Any] = {
        "tool_input": {"command": "cat app.log"},
        "permission_mode": "bypassPermissions",
    }
    hand_on(session, home_dir, LOG, **call)
    for number in range(others):
        other: dict[str, Any] = {"tool_input": {"command": f"echo {number}"}}
        hand_on(session, home_dir, tool_use_id=f"toolu_1{number:05}", **other)

    said = hand_on(session, home_dir, LOG, tool_use_id="toolu_000002", **call)

    assert ("hookSpecificOutput" not in said) is is_whole


@pytest.mark.parametrize(
    ("tiers", "speaks_at"), [([30, 15], 0), ([30, 15, 7], 0), ([30], None)], ids=str
)
def test_the_last_of_several_tiers_speaks_with_each_request(
    tiers: list[int], speaks_at: int | None, talk: Talk
) -> None:
    """One that is alone has spoken, and is waited for no more."""
    talk.use(guard__tiers=tiers)

    assert gate_at(talk.session, talk.home_dir, 165_000).get("speaks_at") == speaks_at
