"""How much is kept of sessions, and for how long: each limit at both of its sides."""

from __future__ import annotations

import os
import time
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

from brimline.fast import paths
from brimline.state import history, logs, lookback
from brimline.state.figures import Compaction, Figures, Notice, Turn
from brimline.state.history import Session
from brimline.state.session import SessionState
from brimline.transcript.compactions import Request

DAY_S = 86_400
START = 1_790_000_000.0


@pytest.mark.parametrize(("more", "is_put_away"), [(0, False), (1, True)])
def test_a_log_of_failures_is_put_away_beyond_256_kb(
    home_dir: str, more: int, is_put_away: bool
) -> None:
    """Not at that."""
    path = Path(paths.error_log(home_dir))
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x" * ((256 << 10) - 1 + more) + b"\n")

    logs.record_failure(home_dir, "Stop", ValueError("new"))

    assert Path(f"{path}.old").exists() is is_put_away
    assert [line["message"] for line in logs.recent_failures(home_dir, 0)] == ["new"]


def old_folder(home_dir: str, name: str, age_s: float, spool_bytes: int = 10) -> Path:
    """A session's folder that was written so long ago, and that the history knows."""
    folder = Path(paths.session_dir(home_dir, name))
    folder.mkdir(parents=True)
    with (folder / "spool.jsonl").open("wb") as spool:
        spool.truncate(spool_bytes)
    (folder / "telemetry.json").touch()
    moment = time.time() - age_s
    for path in (*folder.iterdir(), folder):
        os.utime(path, (moment, moment))
    known = Session(name, [history.spool_stamp(str(folder))])
    history.write_session_lines(home_dir, [known], float("inf"))
    return folder


def left_of(home_dir: str, folder: Path) -> list[str]:
    """What housekeeping leaves in a folder."""
    history._drop_old_folders(home_dir, "the running one", float("inf"))
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize(
    ("age_s", "left"),
    [
        (DAY_S - 60, ["spool.jsonl", "telemetry.json"]),
        (DAY_S + 0.2, ["spool.jsonl"]),
        (30 * DAY_S - 60, ["spool.jsonl"]),
        (30 * DAY_S + 0.2, []),
    ],
)
def test_what_is_polled_goes_after_a_day_and_the_rest_after_thirty(
    home_dir: str, age_s: float, left: list[str]
) -> None:
    """By the newest file of a session."""
    assert left_of(home_dir, old_folder(home_dir, "s1", age_s)) == left


@pytest.mark.parametrize(
    ("spool_bytes", "left"),
    [((200 << 20) - 1, ["spool.jsonl"]), (200 << 20, [])],
)
def test_spools_of_200_mb_go_after_a_day(home_dir: str, spool_bytes: int, left: list[str]) -> None:
    """What the history has of them stays."""
    folder = old_folder(home_dir, "s1", 2 * DAY_S, spool_bytes)

    assert left_of(home_dir, folder) == left
    assert [session.session_id for session in history.read_all_sessions(home_dir)] == ["s1"]


@pytest.mark.parametrize(("more", "kept"), [(0, ["old", "new"]), (1, ["new"])])
def test_the_history_has_64_mb_and_lets_go_of_what_is_oldest(
    home_dir: str, more: int, kept: list[str]
) -> None:
    """One byte more is too much."""

    new = Session("new", [[], []], 0, [{"at": START, "event": "Stop"}])
    head, size = b'{"v":1,"session":"old"', (64 << 20) - len(history._encode_line(new)) + more
    Path(home_dir).mkdir()
    Path(home_dir, "history.jsonl").write_bytes(head.ljust(size - 1) + b"\n")

    history.write_session_lines(home_dir, [new], float("inf"))

    assert list(history.lines_by_session(home_dir)) == kept


@pytest.mark.parametrize(("requests", "names"), [(20_000, 1), (19_999, 2)])
def test_growth_is_told_by_the_last_20_000_requests(
    home_dir: str, requests: int, names: int
) -> None:
    """Sessions come whole."""
    event = {"at": START, "event": "SessionStart"}
    older = Session("a", [[], []], 0, [event], [Request(START + 1, 5, "m")])
    newer = Session("b", [[], []], 0, [event], [])
    newer.requests = [Request(START + 1 + number, number, "m") for number in range(requests)]
    history.write_session_lines(home_dir, [older, newer], float("inf"))

    segments = history.occupancies_by_recent_segment(home_dir)

    assert len(segments) == names
    assert len(segments[0][1]) == requests


@pytest.mark.parametrize(("more", "begun_at"), [(0, 5.0), (1, None)])
def test_a_session_begins_with_a_line_of_64_kb_at_most(
    home_dir: str, more: int, begun_at: float | None
) -> None:
    """What is longer is none of ours."""
    state = SessionState(home_dir, "s1")
    Path(state.folder).mkdir(parents=True)
    line = '{"at":5.0,"event":"'
    line += "x" * ((64 << 10) - len(line) - 2 + more) + '"}'
    Path(state.folder, "spool.jsonl").write_text(line)

    assert state.begun_at() == begun_at


@pytest.mark.parametrize(
    "record",
    [
        Turn(1.0, None),
        Notice(1.0, "Stop", None, None, None),
        Compaction(1.0, 1.0),
        Figures(),
        Session("s1"),
    ],
    ids=lambda record: type(record).__name__,
)
def test_a_figure_that_there_is_not_is_a_mistake(record: Any) -> None:
    """A slip of the pen does not get lost in a new attribute."""
    with pytest.raises((AttributeError, TypeError)):
        record.ocupancy_tokens = 5
    assert not hasattr(record, "__dict__")


def test_what_was_announced_is_not_changed_afterwards() -> None:
    """Turns and compactions are filled in as more is known."""
    notice, turn = Notice(1.0, "Stop", None, None, None), Turn(1.0, None)
    with pytest.raises(FrozenInstanceError):
        notice.at = 2.0  # type: ignore[misc]
    turn.at = 2.0

    assert (notice.at, turn.at) == (1.0, 2.0)


def test_what_a_compaction_and_a_turn_begin_with() -> None:
    """Nothing is counted, nothing is known, and nothing has taken place."""
    turn, compaction = Turn(1.0, 5), Compaction(1.0, 2.0)

    assert (turn.growth_tokens, turn.requests, turn.compactions) == (0, 0, 0)
    assert compaction.confirmed is False
    assert compaction.moved_out_phrase is None
    assert Session("s1").damaged == 0
    assert Session("s1").begun_at == float("inf")


@pytest.mark.parametrize(
    ("project", "shown"), [("/" + "p" * 199, "/" + "p" * 199), ("/" + "p" * 200, "/" + "p" * 198)]
)
def test_a_project_is_named_by_200_characters(project: str, shown: str) -> None:
    """In the page of one session."""
    unknown = "model window_tokens first_at last_at peak_occupancy_tokens"
    saved = {"references": 0, "tokens_estimated": 0, "recalls": 0, "gateway_tokens": 0}
    lists: dict[str, Any] = {
        name: [] for name in ("occupancy_tokens", "turns", "messages", "blocks", "compactions")
    }
    document = dict.fromkeys(unknown.split()) | lists | {"session_id": "abc", "requests": 0}

    text = lookback.text(document | {"project": project, "kept_out": saved})

    line = next(line for line in text.split("\n") if line.strip().startswith("project"))
    assert line.split()[1] == shown + ("" if shown == project else "…")
