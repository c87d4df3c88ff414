"""Reading spools: every event once and in order, torn ones survived."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.fast import json
from brimline.state import spool
from brimline.state.session import SessionState

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any


def line(number: int, at: float = 1.5, **fields: Any) -> str:
    """One event as `SessionState.add_line` writes it."""
    return json.dumps({"v": 1, "at": at, "event": f"E{number}"} | fields)


def names(events: list[dict[str, Any]]) -> list[str]:
    """What the events are called."""
    return [event["event"] for event in events]


def test_what_a_session_spools_is_read_back(home_dir: str) -> None:
    """Name, time and fields of every event, in order; the stamp says that something was added."""
    state = SessionState(home_dir, "abc")
    assert spool.stamp(state.folder) == []
    state.add_line("PostToolUse", {"occupancy": 5})
    first = spool.stamp(state.folder)
    state.add_line("PreCompact", {"trigger": "auto"})

    events, damaged = spool.read(state.folder)

    assert names(events) == ["PostToolUse", "PreCompact"]
    assert (events[0]["occupancy"], damaged) == (5, 0)
    assert spool.stamp(state.folder) != first


@pytest.mark.parametrize("cut", range(1, len(line(1, text='{"v":'))))
def test_an_event_behind_a_torn_one_is_recovered(cut: int) -> None:
    """Wherever the first was cut off."""
    found, damaged = spool.parse_line(line(1, text='{"v":')[:cut] + line(2))

    assert (names(found), damaged) == (["E2"], 1)


@pytest.mark.parametrize(
    ("text", "events", "damaged"),
    [
        ("", [], 0),
        ("garbage", [], 1),
        (line(1) + line(2), ["E1", "E2"], 0),
        (line(1, nested={"v": 2}), ["E1"], 0),
        ('{"v":1,"event":"E1"}', [], 1),
        ('{"v":1,"event":"E1","at":true}', [], 1),
        ('{"v":1,"event":"E1","at":1e300}', [], 1),
        ('{"v":1,"event":3,"at":1}', [], 1),
        ("[1]", [], 1),
    ],
)
def test_what_is_no_event_is_counted(text: str, events: list[str], damaged: int) -> None:
    """And costs its neighbours nothing."""
    found = spool.parse_line(text)

    assert (names(found[0]), found[1]) == (events, damaged)


@given(st.text(max_size=80) | st.lists(st.sampled_from(['{"v":', line(1), "x", "}"])).map("".join))
@settings(max_examples=300, deadline=None)
def test_any_text_can_be_read(text: str) -> None:
    """A spool may have been damaged in any way."""
    events, damaged = spool.parse_line(text)

    assert damaged >= 0
    assert all(isinstance(event["event"], str) for event in events)


def test_spools_that_the_last_version_put_away_come_first(home_dir: str) -> None:
    """In the order in which they were filled."""
    state = SessionState(home_dir, "abc")
    os.makedirs(state.folder)
    for number, name in enumerate(["spool.9.jsonl", "spool.10.jsonl", "spool.jsonl"]):
        with open(f"{state.folder}/{name}", "w", encoding="utf-8") as file:
            file.write(line(number, at=float(number)) + "\n")

    assert names(spool.read(state.folder)[0]) == ["E0", "E1", "E2"]


def test_a_spool_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    """Its stamp can be had all the same."""
    os.symlink("spool.jsonl", tmp_path / "spool.jsonl")

    assert spool.stamp(str(tmp_path))
    with pytest.raises(OSError, match="symbolic links"):
        spool.read(str(tmp_path))
