"""The audit trail and the error log: a line each, bounded, private, and never in the way."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.fast import io, paths
from brimline.figures import spool
from brimline.state import logs
from brimline.state.logs import _AUDIT_LIMIT_BYTES
from brimline.state.session import SessionState

if TYPE_CHECKING:
    from tests.guard.dialogue import Talk

READING = {"occupancy", "tail", "window", "window_source", "compaction", "tier", "offset", "model"}
COMMON = {"v", "event", "at", "session", "kind", "reading"}


@pytest.mark.row("S4-42")
def test_every_escalation_leaves_one_line(talk: Talk) -> None:
    """With its figures; repeated calls in a tier add none, nor does advice on a load."""
    talk.use(guard__velocity_points=0)
    for tokens in (60_000, 110_000, 140_000, 155_000, 163_000):
        talk.session.reply(tokens)
        for _ in range(3):
            talk.after_tool()
            talk.at_prompt()
    assert talk.load().note

    lines = talk.audit()

    assert [line["level"] for line in lines] == [1, 2, 3, 4]
    assert [line["reading"]["occupancy"] for line in lines] == [110_000, 140_000, 155_000, 163_000]
    for line in lines:
        assert set(line) == COMMON | {"level"}
        assert (line["v"], line["event"]) == (1, "CONTEXT_PRESSURE")
        assert (line["kind"], line["session"]) == ("escalation", talk.session.session_id)
        assert isinstance(line["at"], float)
        assert set(line["reading"]) == READING
        assert line["reading"]["window_source"] == "model"


@pytest.mark.row("S4-42")
@pytest.mark.parametrize(
    ("settings", "tool", "subject", "reason"),
    [
        (
            {"guard__ceiling": "strict", "context_window": 200_000},
            *("Skill", "invoking skill 'planner'", "context ceiling"),
        ),
        ({"guard__preset": "guard-30-15-7-3"}, "Agent", "loading agent 'planner'", "critical tier"),
    ],
)
def test_every_refusal_leaves_one_line(
    settings: dict[str, object], tool: str, subject: str, reason: str, talk: Talk
) -> None:
    """What was refused and why, each time."""
    talk.use(**settings)
    talk.session.reply(165_000)
    for _ in range(2):
        assert talk.load(None, tool).refusal

    first, second = [line for line in talk.audit() if line["kind"] == "block"]

    for line in (first, second):
        assert set(line) == COMMON | {"subject", "reason"}
        assert (line["event"], line["kind"]) == ("CONTEXT_PRESSURE", "block")
        assert (line["subject"], line["reason"]) == (subject, reason)
        assert line["reading"]["occupancy"] == 165_000


@pytest.mark.row("S4-42")
def test_a_trail_that_cannot_be_written_silences_nobody(talk: Talk) -> None:
    """Tiers are announced and loads refused all the same; the failures are on record."""
    talk.use(guard__ceiling="strict", context_window=200_000)
    Path(talk.home_dir, "audit.jsonl").mkdir(parents=True)

    assert "tier L2" in talk.after_tool(140_000).note
    assert talk.load().refusal
    assert [line["event"] for line in logs.recent_failures(talk.home_dir, 0)] == ["audit"] * 3


def test_lines_of_many_writers_stay_whole_and_a_long_trail_is_put_away(home_dir: str) -> None:
    """Each is appended in one write; the trail before stays beside the new one."""
    trail = Path(home_dir, "audit.jsonl")
    trail.parent.mkdir()
    trail.write_bytes(b"x" * (_AUDIT_LIMIT_BYTES + 1))

    def run(number: int) -> None:
        for _ in range(20):
            logs.audit_notice(home_dir, f"s{number}", {"x": "y" * 500}, {"subject": "a\nb"})

    logs.audit_notice(home_dir, "first", {}, {})
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))

    assert len([json.loads(line) for line in trail.read_bytes().splitlines()]) == 161
    assert trail.stat().st_mode & 0o777 == 0o600
    assert Path(home_dir, "audit.jsonl.old").stat().st_size == _AUDIT_LIMIT_BYTES + 1


def test_a_failure_is_one_line_with_its_place(home_dir: str) -> None:
    """Event, kind, message, file and line; long texts are cut."""
    try:
        int("one\ntwo \udcff" + "x" * 100_000)
    except ValueError as error:
        logs.record_failure(home_dir, "PostToolUse" * 100, error)

    (line,) = Path(paths.error_log(home_dir)).read_text().splitlines()
    entry = json.loads(line)

    assert len(line) < 1_000
    assert (entry["v"], entry["error"]) == (1, "ValueError")
    assert entry["event"].startswith("PostToolUse")
    assert "one" in entry["message"]
    assert entry["where"].startswith("state/test_logs.py:")


def test_recent_failures_are_found_by_time(home_dir: str) -> None:
    """Oldest first; lines that are torn or foreign, and a log that is none, are passed over."""
    assert logs.recent_failures(home_dir, 0) == []
    path = Path(paths.error_log(home_dir))
    path.mkdir(parents=True)
    assert logs.recent_failures(home_dir, 0) == []
    path.rmdir()
    path.write_bytes(
        b'{"v":1,"at":5,"error":"A"}\n\xff\n{"v":1,"at":"x"}\n[1]\n'
        b'{"v":1,"at":7,"error":"B"}\n{"v":1,"at":8,"err'
    )

    assert [entry["error"] for entry in logs.recent_failures(home_dir, 5)] == ["A", "B"]
    assert [entry["error"] for entry in logs.recent_failures(home_dir, 6)] == ["B"]


def test_a_full_log_is_put_aside_once(home_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current log starts anew and the previous one is kept beside it."""
    monkeypatch.setattr(logs, "_ERRORS_LIMIT_BYTES", 1_000)
    for number in range(30):
        logs.record_failure(home_dir, "PostToolUse", ValueError(f"failure {number}"))

    current = Path(paths.error_log(home_dir))
    assert current.stat().st_size < 1_500
    assert Path(f"{current}.old").stat().st_size < 1_500
    assert logs.recent_failures(home_dir, 0)[-1]["message"] == "failure 29"


def test_a_failure_is_told_in_few_words(home_dir: str) -> None:
    """Of an event's name and of what went wrong."""
    most = logs._MESSAGE_LENGTH
    for size in (0, 1):
        logs.record_failure(home_dir, "e" * (40 + size), ValueError("m" * (most + size)))

    lines = logs.recent_failures(home_dir, 0.0)

    assert [(line["event"], line["message"]) for line in lines] == [("e" * 40, "m" * most)] * 2
    assert [line.get("session") for line in lines] == [None, None]
    assert [line["error"] for line in lines] == ["ValueError"] * 2


def test_failures_since_a_moment_are_told_that_moment_included(home_dir: str) -> None:
    """A time that cannot be is none."""
    path = paths.error_log(home_dir)
    for at in (1.0, 2.0, 3, "4", logs._LARGEST_TIME, None):
        io.append_line(path, json.dumps({"v": 1, "at": at}))

    assert [line["at"] for line in logs.recent_failures(home_dir, 2.0)] == [2.0, 3]


def test_times_are_kept_to_the_millisecond_and_what_a_hook_took_to_a_tenth_of_it(
    home_dir: str,
) -> None:
    """No finer: nobody reads more digits."""
    state = SessionState(home_dir, "s1")
    for _ in range(20):
        state.spool_event("Stop", {})
        logs.record_failure(home_dir, "Stop", ValueError("x"))
        logs.audit_notice(home_dir, "s1", {}, {"kind": "block"})
    lines = spool.read_spooled_events(home_dir, "s1")
    audit = Path(paths.audit_log(home_dir)).read_text().splitlines()
    times = [line["at"] for line in (*lines, *map(json.loads, audit))]
    times += [line["at"] for line in logs.recent_failures(home_dir, 0)]

    assert len(times) == 60
    assert {len(str(at).partition(".")[2]) for at in times} <= {1, 2, 3}
    assert {len(str(line["ms"]).partition(".")[2]) for line in lines} == {1}
