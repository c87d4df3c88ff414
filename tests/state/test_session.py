"""What is kept of a session: snapshot, claims, spool, observed window."""

from __future__ import annotations

import stat
import time
from pathlib import Path
from typing import Any

import pytest

from brimline.fast import json
from brimline.figures import spool
from brimline.state import session
from brimline.state.session import FORMAT, WINDOW, SessionState, Snapshot


def line(number: int, at: float = 1.5, **fields: Any) -> str:
    """One event as `SessionState.spool_event` writes it."""
    return json.dumps({"v": 1, "at": at, "event": f"E{number}"} | fields)


def names(events: list[dict[str, Any]]) -> list[str]:
    """What the events are called."""
    return [event["event"] for event in events]


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b"null", b"{}", b'{"v":99,"at":1}', b'{"v":1}'),
        b'{"v":1,"at":1,"model":7}',
    ],
)
def test_a_snapshot_comes_back_as_it_was_unless_damaged(content: bytes, home_dir: str) -> None:
    """Every part, known or unknown; torn, foreign or newer files are ignored."""
    saved = Snapshot(at=5.25, window_tokens=1_000_000, occupancy_tokens=7, model="claude-opus-5")
    state = SessionState(home_dir, "abc")
    state.save_snapshot(saved)
    found = SessionState(home_dir, "abc").snapshot()
    assert found is not None
    assert vars(found) == vars(saved)
    Path(f"{state.folder}/statusline.json").write_bytes(content)

    assert SessionState(home_dir, "abc").snapshot() is None


def test_looking_creates_nothing_and_what_is_made_is_private(home_dir: str) -> None:
    """Folders 700, files 600, from the moment they exist; the largest window counts."""
    state = SessionState(home_dir, "abc")
    assert (
        state.snapshot(),
        state.largest_number_after_prefix(WINDOW),
        state.offsets_of_spoken_levels(),
    ) == (
        None,
        None,
        {},
    )
    assert not state.has_spoken
    assert not Path(home_dir).exists()
    state.save_snapshot(Snapshot(at=1.0))
    state.spool_event("PostToolUse", {})
    state.claim_level(1, 0)
    for tokens in (1_000_000, 2_000_000, 1_000_000):
        state.save_proved_window(tokens)

    assert SessionState(home_dir, "abc").largest_number_after_prefix(WINDOW) == 2_000_000
    found = [Path(home_dir), *Path(home_dir).rglob("*")]
    assert len(found) == 8
    for path in found:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_a_tier_is_claimed_once_and_released_and_a_request_once(home_dir: str) -> None:
    """The second claim fails until somebody lets go; the offset stays with the claim."""
    state = SessionState(home_dir, "abc")

    assert state.claim_level(2, 1_234) is True
    assert state.claim_level(2, 9_999) is False
    again = SessionState(home_dir, "abc")
    assert again.has_spoken
    assert again.offsets_of_spoken_levels() == {2: 1_234}
    again.release_level(2)
    again.release_level(2)
    assert SessionState(home_dir, "abc").offsets_of_spoken_levels() == {}
    assert state.claim_level(2, 5) is True
    for offset in (7, 8):
        assert [
            SessionState(home_dir, "abc").claim_speaking_for_request(offset) for _ in range(2)
        ] == [*(True, False)]
    assert [name for name in SessionState(home_dir, "abc").names if "again" in name] == [
        "spoke-again-8"
    ]


def test_what_a_session_spools_is_read_back(home_dir: str) -> None:
    """One line each, whatever text; a stamp tells of news; spools put away earlier come first."""
    state = SessionState(home_dir, "abc")
    assert spool.stamp_of_folder(state.folder) == []
    state.spool_event("PostToolUse", {"tier": 1, "text": "a\nb\ud800"})
    first = spool.stamp_of_folder(state.folder)
    state.spool_event("PreCompact", {"trigger": "auto"})

    events, damaged = spool.read_events_and_damage(state.folder)

    assert list(events[0]) == ["v", "at", "event", "ms", "tier", "text"]
    assert (events[0]["v"], damaged) == (FORMAT, 0)
    assert names(events) == ["PostToolUse", "PreCompact"]
    assert spool.stamp_of_folder(state.folder) != first
    for number, name in enumerate(["spool.9.jsonl", "spool.10.jsonl"]):
        Path(state.folder, name).write_text(line(number, at=float(number)) + "\n")
    assert names(spool.read_events_and_damage(state.folder)[0])[:2] == ["E0", "E1"]


def test_the_newer_of_status_line_and_mod_is_told(home_dir: str) -> None:
    """The mod tells how full it is; all else is as the status line told it."""
    state = SessionState(home_dir, "s")
    shown = Snapshot(at=5.0, window_tokens=9, occupancy_tokens=1, model="m", cost_usd=0.5)
    state.save_snapshot(shown)
    for at, occupancy, source in ((4.0, 1, "statusline"), (5.0, 1, "statusline"), (6.0, 7, "mod")):
        state.save_document("mod-reading", {"at": at, "occupancy_tokens": 7, "source": "mod"})
        found = SessionState(home_dir, "s").snapshot()
        assert found is not None
        assert (found.occupancy_tokens, found.source) == (occupancy, source)
        assert (found.window_tokens, found.model, found.cost_usd) == (9, "m", 0.5)


def test_marks_have_numbers_and_the_largest_counts(home_dir: str) -> None:
    """One compaction is remembered, every window, each tier with its place."""
    for size in (30, 5):
        SessionState(home_dir, "s").save_size_at_compaction(size)
    for tokens in (5, 30, 7):
        SessionState(home_dir, "s").save_proved_window(tokens)
    assert SessionState(home_dir, "s").claim_level(2, 70) is True
    state = SessionState(home_dir, "s")
    assert state.claim_level(2, 80) is False
    assert (
        state.largest_number_after_prefix("compacted-"),
        state.largest_number_after_prefix(WINDOW),
    ) == (
        5,
        30,
    )
    assert state.largest_number_after_prefix("none-") is None
    assert state.offsets_of_spoken_levels() == {2: 70}
    assert state.has_spoken is True
    state.release_level(2)
    assert SessionState(home_dir, "s").has_spoken is False


def test_a_request_is_claimed_once_and_the_one_before_goes(home_dir: str) -> None:
    """By where its reply stands."""
    assert SessionState(home_dir, "s").claim_speaking_for_request(5) is True
    assert SessionState(home_dir, "s").claim_speaking_for_request(5) is False
    assert SessionState(home_dir, "s").claim_speaking_for_request(9) is True
    assert len(SessionState(home_dir, "s").names) == 1


@pytest.mark.parametrize(
    ("content", "occupancy", "saved"),
    [(b"70 500", 500, 70), (b"70 500", 501, None), (b"70", 500, None), (b"a b", 500, None)],
)
def test_what_a_gateway_saved_holds_for_its_own_request(
    home_dir: str, content: bytes, occupancy: int, saved: int | None
) -> None:
    """Known by how large that was."""
    state = SessionState(home_dir, "s")
    state.switch_off_or_on(off=True)
    Path(f"{state.folder}/gateway-saved").write_bytes(content)

    assert state.last_gateway_saved_tokens(occupancy) == saved


def test_a_session_begins_with_its_first_line(home_dir: str) -> None:
    """Without one, or with one that is not an event, nobody knows."""
    state = SessionState(home_dir, "s")
    assert state.begun_at() is None
    state.switch_off_or_on(off=True)
    path = Path(f"{state.folder}/spool.jsonl")
    for text, expected in (
        ('{"at": 5}\n{"at": 6}\n', 5),
        ('{"at": 5}', 5),
        ('{"at": "5"}', None),
    ):
        path.write_text(text, encoding="utf-8")
        assert state.begun_at() == expected
    path.write_text("[]", encoding="utf-8")
    assert state.begun_at() is None


def test_a_session_is_switched_off_and_on(home_dir: str) -> None:
    """By a file in its folder."""
    assert SessionState(home_dir, "s").is_off is False
    SessionState(home_dir, "s").switch_off_or_on(off=True)
    assert SessionState(home_dir, "s").is_off is True
    SessionState(home_dir, "s").switch_off_or_on(off=False)
    assert SessionState(home_dir, "s").is_off is False


@pytest.mark.parametrize(
    ("moved_s", "announced_s", "is_told"),
    [
        (0, None, True),
        *[(side * (session._OLDEST_MOVE_S - 10), None, True) for side in (-1, 1)],
        *[(side * (session._OLDEST_MOVE_S + 10), None, False) for side in (-1, 1)],
        (-60, -61, True),
        (-60, -60, False),
        (-60, -59, False),
    ],
)
def test_what_was_moved_out_just_now_is_known_for_a_while(
    home_dir: str, moved_s: float, announced_s: float | None, is_told: bool
) -> None:
    """Unless the client has announced a summary of its own since."""
    state, now = SessionState(home_dir, "abc"), time.time()
    state.spool_event("MovedOut", {"at": now + moved_s, "results": 3})
    if announced_s is not None:
        state.spool_event("PreCompact", {"at": now + announced_s})

    moved = state.recent_cold_compaction_row()

    assert moved.get("results") == (3 if is_told else None)
    assert bool(moved) is is_told


@pytest.mark.parametrize(("share", "is_found"), [(0.95, True), (1.05, False)])
def test_an_event_is_sought_at_the_end(home_dir: str, share: float, is_found: bool) -> None:
    """What is further back is too long ago."""
    size = round(share * session._LOOK_BACK_BYTES)
    state = SessionState(home_dir, "abc")
    state.spool_event("PreCompact", {"trigger": "auto"})
    for _ in range(10):
        state.spool_event("Padding", {"text": "x" * (size // 10)})

    assert state.last_spooled_row_of("PreCompact").get("trigger") == ("auto" if is_found else None)
    assert state.last_spooled_row_of("Padding")["text"] == "x" * (size // 10)
    assert state.last_spooled_row_of("Gateway") == {}


@pytest.mark.parametrize(("more", "begun_at"), [(0, 5.0), (1, None)])
def test_a_session_begins_with_a_line_that_is_not_endless(
    home_dir: str, more: int, begun_at: float | None
) -> None:
    """What is longer is none of ours."""
    state = SessionState(home_dir, "s1")
    Path(state.folder).mkdir(parents=True)
    line = '{"at":5.0,"event":"'
    line += "x" * (session._FIRST_LINE_BYTES - len(line) - 2 + more) + '"}'
    Path(state.folder, "spool.jsonl").write_text(line)

    assert state.begun_at() == begun_at
