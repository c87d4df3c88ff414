"""What is kept of a session: snapshot, claims, spool, observed window."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from brimline.fast import json
from brimline.state import history
from brimline.state.session import FORMAT, WINDOW, SessionState, Snapshot


def line(number: int, at: float = 1.5, **fields: Any) -> str:
    """One event as `SessionState.add_line` writes it."""
    return json.dumps({"v": 1, "at": at, "event": f"E{number}"} | fields)


def names(events: list[dict[str, Any]]) -> list[str]:
    """What the events are called."""
    return [event["event"] for event in events]


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b"null", b"{}", b'{"v":99,"at":1}', b'{"v":1}'),
        *(b'{"v":1,"at":1,"x":2}', b'{"v":1,"at":1,"silence":7}', b'{"v":1,"at":1,"model":7}'),
    ],
)
def test_a_snapshot_comes_back_as_it_was_unless_it_is_damaged(
    content: bytes, home_dir: str
) -> None:
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
    assert (state.snapshot(), state.largest(WINDOW), state.spoken_levels()) == (None, None, {})
    assert not state.has_spoken
    assert not Path(home_dir).exists()
    state.save_snapshot(Snapshot(at=1.0))
    state.add_line("PostToolUse", {})
    state.claim_level(1, 0)
    for tokens in (1_000_000, 2_000_000, 1_000_000):
        state.remember_window(tokens)

    assert SessionState(home_dir, "abc").largest(WINDOW) == 2_000_000
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
    assert again.spoken_levels() == {2: 1_234}
    again.release_level(2)
    again.release_level(2)
    assert SessionState(home_dir, "abc").spoken_levels() == {}
    assert state.claim_level(2, 5) is True
    for offset in (7, 8):
        assert [SessionState(home_dir, "abc").claim_request(offset) for _ in range(2)] == [
            *(True, False)
        ]
    assert [name for name in SessionState(home_dir, "abc").names if "again" in name] == [
        "spoke-again-8"
    ]


def test_what_a_session_spools_is_read_back(home_dir: str) -> None:
    """One line each, whatever text; a stamp tells of news; spools put away earlier come first."""
    state = SessionState(home_dir, "abc")
    assert history.spool_stamp(state.folder) == []
    state.add_line("PostToolUse", {"tier": 1, "text": "a\nb\ud800"})
    first = history.spool_stamp(state.folder)
    state.add_line("PreCompact", {"trigger": "auto"})

    events, damaged = history._spooled(state.folder)

    assert list(events[0]) == ["v", "at", "event", "ms", "tier", "text"]
    assert (events[0]["v"], damaged) == (FORMAT, 0)
    assert names(events) == ["PostToolUse", "PreCompact"]
    assert history.spool_stamp(state.folder) != first
    for number, name in enumerate(["spool.9.jsonl", "spool.10.jsonl"]):
        Path(state.folder, name).write_text(line(number, at=float(number)) + "\n")
    assert names(history._spooled(state.folder)[0])[:2] == ["E0", "E1"]


@pytest.mark.parametrize(
    ("text", "events", "damaged"),
    [
        ("", [], 0),
        ("garbage", [], 1),
        (line(1) + line(2), ["E1", "E2"], 0),
        ('{"v":1,"event":"E1"}', [], 1),
        ('{"v":1,"event":"E1","at":true}', [], 1),
        ('{"v":1,"event":"E1","at":1e300}', [], 1),
        ('{"v":1,"event":3,"at":1}', [], 1),
        ("[1]", [], 1),
    ],
)
def test_what_is_no_event_is_counted(
    text: str, events: list[str], damaged: int, home_dir: str
) -> None:
    """And costs its neighbours nothing."""
    folder = Path(SessionState(home_dir, "abc").folder)
    folder.mkdir(parents=True)
    (folder / "spool.jsonl").write_text(text)

    found = history._spooled(str(folder))

    assert (names(found[0]), found[1]) == (events, damaged)
