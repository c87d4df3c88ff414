"""What is kept of a session: snapshot, claims, spool, observed window."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from brimline.state.session import FORMAT, SessionState, Snapshot


def test_a_snapshot_comes_back_as_it_was(home_dir: str) -> None:
    """Every part, known or unknown."""
    saved = Snapshot(at=5.25, window_tokens=1_000_000, occupancy_tokens=7, model="claude-opus-5")

    SessionState(home_dir, "abc").save_snapshot(saved)
    found = SessionState(home_dir, "abc").snapshot()

    assert found is not None
    assert vars(found) == vars(saved)


def test_a_session_without_files_is_unknown(home_dir: str) -> None:
    """Looking creates nothing."""
    state = SessionState(home_dir, "abc")

    assert state.snapshot() is None
    assert state.observed_window() is None
    assert not state.has_spoken
    assert state.spoken_levels() == {}
    assert not Path(home_dir).exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"{}", b'{"v":99,"at":1}', b'{"v":1}', b'{"v":1,"at":1,"x":2}'],
)
def test_a_damaged_snapshot_is_no_snapshot(content: bytes, home_dir: str) -> None:
    """Torn, foreign or newer files are ignored."""
    state = SessionState(home_dir, "abc")
    state.save_snapshot(Snapshot(at=1.0))
    Path(f"{state.folder}/statusline.json").write_bytes(content)

    assert SessionState(home_dir, "abc").snapshot() is None


def test_a_tier_is_claimed_once_and_released(home_dir: str) -> None:
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


def test_the_largest_observed_window_counts(home_dir: str) -> None:
    """Windows only grow in what they prove."""
    state = SessionState(home_dir, "abc")
    for tokens in (1_000_000, 2_000_000, 1_000_000):
        state.remember_window(tokens)

    assert SessionState(home_dir, "abc").observed_window() == 2_000_000


def test_every_event_is_one_line_of_the_spool(home_dir: str) -> None:
    """Format, time and event first, then the fields, whatever text they hold."""
    state = SessionState(home_dir, "abc")
    state.add_line("PostToolUse", {"tier": 1, "text": "a\nb\ud800"})
    state.add_line("PreCompact", {})

    first, second = Path(f"{state.folder}/spool.jsonl").read_text().splitlines()

    assert list(json.loads(first)) == ["v", "at", "event", "ms", "tier", "text"]
    assert json.loads(first)["v"] == FORMAT
    assert json.loads(second)["event"] == "PreCompact"


def test_everything_is_private(home_dir: str) -> None:
    """Folders 700, files 600, from the moment they exist."""
    state = SessionState(home_dir, "abc")
    state.save_snapshot(Snapshot(at=1.0))
    state.add_line("PostToolUse", {})
    state.claim_level(1, 0)
    state.remember_window(1_000_000)

    found = [Path(home_dir), *Path(home_dir).rglob("*")]
    assert len(found) == 7
    for path in found:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


@pytest.mark.parametrize("session_id", [None, 5, "", "../../etc", "a" * 500, "\0"])
@pytest.mark.row("S0-18", "S4-45")
def test_a_foreign_session_id_stays_below_the_data_folder(
    session_id: object, home_dir: str
) -> None:
    """Whatever the client or somebody else sends."""
    state = SessionState(home_dir, session_id)
    state.add_line("PostToolUse", {})

    (spool,) = Path(home_dir).rglob("spool.jsonl")
    assert spool.parent.parent == Path(home_dir) / "sessions"
