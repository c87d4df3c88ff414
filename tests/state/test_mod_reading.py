"""What the mod reads of the client, beside what the status line shows."""

from __future__ import annotations

from pathlib import Path

from brimline.state.session import SessionState, Snapshot


def state_with(home_dir: str, mod_at: float, shown_at: float | None) -> SessionState:
    """A session that the mod has measured, and the status line too where a time is given."""
    state = SessionState(home_dir, "s1")
    if shown_at is not None:
        told = Snapshot(at=shown_at, occupancy_tokens=7, window_tokens=200_000, model="m")
        state.save_snapshot(told)
    reading = f'{{"v": 1, "at": {mod_at}, "occupancy_tokens": 9, "source": "client"}}'
    Path(state.folder).mkdir(parents=True, exist_ok=True)
    Path(state.folder, "mod-reading").write_text(reading)
    return SessionState(home_dir, "s1")


def test_the_later_of_both_counts(home_dir: str) -> None:
    """With its source, and with what only the status line knows."""
    later = state_with(home_dir, 20.0, 10.0).snapshot()
    assert later is not None
    assert (later.occupancy_tokens, later.source) == (9, "client")
    assert (later.window_tokens, later.model) == (200_000, "m")
    earlier = state_with(home_dir, 20.0, 30.0).snapshot()
    assert earlier is not None
    assert (earlier.occupancy_tokens, earlier.source) == (7, "statusline")


def test_it_counts_alone_and_damaged_not_at_all(home_dir: str) -> None:
    """Print mode draws no status line; half a file says nothing."""
    state = state_with(home_dir, 20.0, None)
    alone = state.snapshot()
    assert alone is not None
    assert (alone.occupancy_tokens, alone.window_tokens) == (9, None)
    Path(state.folder, "mod-reading").write_text('{"v": 1, "at": 20.0, "occup')
    assert SessionState(home_dir, "s1").snapshot() is None
