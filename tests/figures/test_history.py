"""The history: a line per session, once whatever happens, from spools, transcripts, a database."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.errors import StateError
from brimline.fast import io, paths
from brimline.fast.json import dumps
from brimline.figures import archive, history, spool, store
from brimline.figures.archive import _LARGEST_FILE_BYTES, Session
from brimline.figures.history import _GROWTH_REQUESTS, _KEEP_S, _LARGEST_SPOOLS_BYTES, _STALE_S
from brimline.figures.totals import Request
from brimline.rooms import values_in_all_traces
from brimline.state import forgotten
from brimline.state.session import SessionState
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


START = 1_790_000_000.0
KEEP = _KEEP_S / _STALE_S


class Hooks:
    """Spools events of a session at times of the test's choosing."""

    def __init__(self, home_dir: str, session: str = "abc") -> None:
        self.path = f"{SessionState(home_dir, session).folder}/spool.jsonl"
        self.now = START

    def add(self, event: str, **fields: Any) -> None:
        """One event, a second after the last."""
        self.now += 1
        line = {"v": 1, "at": self.now, "event": event, "window": 200_000} | fields
        io.append_line(self.path, dumps(line))

    def read(self, event: str, occupancy: int, offset: int, **fields: Any) -> None:
        """One event with a measurement."""
        self.add(event, occupancy=occupancy, offset=offset, **fields)


def transcript(tmp_path: Path, name: str, project: str = "p") -> SessionBuilder:
    """A session file in the client's folder."""
    path = tmp_path / "home" / ".claude" / "projects" / project / f"{name}.jsonl"
    first_row = int.from_bytes(name.encode(), "big")  # ids of rows differ between sessions
    return SessionBuilder(str(path), session_id=name, counter=first_row)


def update(home_dir: str, files: Iterable[str] = (), **more: Any) -> list[str]:
    """Take in what is new."""
    with store.opened(home_dir) as figures:
        return figures.refresh(files, **more)


def sessions(home_dir: str) -> list[Session]:
    """All that is known, with something to tell."""
    with store.opened(home_dir) as figures:
        found = list(history.known_sessions(figures))
    return [one for one in found if one.events or one.requests or one.recorded or one.damaged]


def segments(home_dir: str) -> list[tuple[str | None, list[int]]]:
    """What growth is learned from."""
    with store.opened(home_dir) as figures:
        return history.segments_of_recent_sessions(figures)


def known(home_dir: str, name: str = "abc") -> Session:
    """What is known of one session."""
    (found,) = [one for one in sessions(home_dir) if one.session_id == name]
    return found


def let_go(home_dir: str, seconds: float = 60.0) -> None:
    """Housekeeping by another session."""
    history.tidy(home_dir, "other", values_in_all_traces, time.monotonic() + seconds)


def age(home_dir: str, times: float, name: str = "abc") -> None:
    """Let a session have been silent so many times as long as makes it stale."""
    folder = Path(home_dir, "sessions", name)
    then = time.time() - times * _STALE_S
    for path in [*folder.iterdir(), folder]:
        os.utime(path, (then, then))


def test_the_transcript_that_a_spool_names_is_the_series(home_dir: str, tmp_path: Path) -> None:
    """Its requests count, also those that no hook saw, and stay when the client deletes it."""
    builder = transcript(tmp_path, "abc")
    hooks = Hooks(home_dir)
    hooks.add("SessionStart", transcript_path=builder.path)
    hooks.read("PostToolUse", 40_000, 10)
    builder.now = START + 1
    for tokens in (40_000, 41_000, 160_000):
        builder.reply(tokens)
    builder.compact(167_031, summary="x" * 800)
    builder.reply(51_000)

    update(home_dir)
    os.unlink(builder.path)
    update(home_dir)

    found = known(home_dir).figures
    assert [tokens for _, tokens in found.segments] == [[40_000, 41_000, 160_000], [51_000]]
    (one,) = found.compactions
    assert (one.pre_tokens, one.post_tokens, one.summary_characters) == (167_031, 51_000, 800)


def test_a_session_from_before_the_installation_keeps_its_past_when_it_is_resumed(
    home_dir: str, tmp_path: Path
) -> None:
    """Hooks tell the rest; what came before them stands in the transcript."""
    builder = transcript(tmp_path, "abc")
    builder.now = START - 1_000
    for tokens in (40_000, 160_000):
        builder.prompt("go on")
        builder.reply(tokens)
    builder.compact(167_031, summary="x" * 800)
    update(home_dir, [builder.path])
    before = known(home_dir).figures

    hooks = Hooks(home_dir)
    hooks.add("SessionStart", transcript_path=builder.path)
    update(home_dir)

    after = known(home_dir).figures
    assert (after.segments, after.compactions) == (before.segments, before.compactions)
    assert len(after.compactions) == 1
    assert len(after.turns) == len(before.turns) == 2


def test_only_what_changed_is_read_again(home_dir: str, tmp_path: Path) -> None:
    """Size or time of a file make it news; what is deleted stays known."""
    builders = [transcript(tmp_path, "a"), transcript(tmp_path, "b")]
    for builder in builders:
        builder.compact(165_000)
    files = [builder.path for builder in builders]
    read: list[int] = []
    update(home_dir, files, progress=read.append)
    first = sum(read)
    update(home_dir, files, progress=read.append)

    assert sum(read) == first == sum(os.path.getsize(file) for file in files)
    os.unlink(files[0])
    builders[1].compact(165_000)
    update(home_dir, files, progress=read.append)
    counts = {one.session_id: len(one.figures.compactions) for one in sessions(home_dir)}
    assert counts == {"a": 1, "b": 2}


def test_growth_comes_as_segments_of_recent_sessions(home_dir: str) -> None:
    """Model and occupancies between compactions; nothing recorded is nothing to learn from."""
    assert segments(home_dir) == []
    hooks = Hooks(home_dir)
    hooks.add("SessionStart", model="claude-opus-4-5")
    for step in range(30):
        hooks.read("PostToolUse", 100_000 + 2_000 * step, 10 * step)
    hooks.read("PreCompact", 158_000, 290, trigger="auto")
    hooks.add("SessionStart", source="compact")
    hooks.read("PostToolUse", 50_000, 400)
    update(home_dir)
    Hooks(home_dir, "later").read("PostToolUse", 60_000, 1)
    update(home_dir)

    found = segments(home_dir)

    assert [(tokens[0], len(tokens)) for _, tokens in found] == [
        (60_000, 1),
        (100_000, 30),
        (50_000, 1),
    ]
    assert found[1][0] == "claude-opus-4-5"


def test_a_session_that_comes_back_goes_on_where_its_line_ends(home_dir: str) -> None:
    """What its old spool held is not lost with it."""
    hooks = Hooks(home_dir)
    hooks.add("SessionStart", cwd="/home/dev")
    hooks.read("UserPromptSubmit", 40_000, 1)
    hooks.add("Announced", spoke=1)
    age(home_dir, KEEP + 1)
    let_go(home_dir)
    hooks.now += 3 * _KEEP_S
    hooks.read("UserPromptSubmit", 41_000, 2)
    hooks.add("Announced", spoke=2)

    for _ in range(2):
        update(home_dir)

    found = known(home_dir).figures
    assert (found.project, found.occupancies) == ("/home/dev", [40_000, 41_000])
    assert [one.tier for one in found.messages] == [1, 2]
    assert len(found.turns) == 2
    assert (found.first_at, found.last_at) == (START + 1, hooks.now)


def test_spools_beyond_the_limit_go_early(home_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a day of silence, and only what the history has."""
    monkeypatch.setattr(history, "_LARGEST_SPOOLS_BYTES", 1)
    for name in ("abc", "fresh"):
        Hooks(home_dir, name).read("PostToolUse", 40_000, 1)
    age(home_dir, 2)

    let_go(home_dir)

    assert io.list_names(f"{home_dir}/sessions") == ["fresh"]
    assert known(home_dir).figures.occupancies == [40_000]


def test_housekeeping_ends_when_its_time_is_up(home_dir: str) -> None:
    """Five thousand old sessions do not hold a start up; nothing is lost, the rest comes later."""
    for number in range(300):
        Hooks(home_dir, f"s{number}").add("SessionStart")
        age(home_dir, KEEP + 1, f"s{number}")

    let_go(home_dir, seconds=-1.0)
    assert sessions(home_dir) == []
    assert len(io.list_names(f"{home_dir}/sessions")) == 300

    let_go(home_dir)
    assert len(sessions(home_dir)) == 300
    assert io.list_names(f"{home_dir}/sessions") == []


def test_a_history_that_another_writes_is_left_to_it(home_dir: str) -> None:
    """Nobody waits longer than the time that there is."""
    Hooks(home_dir).add("SessionStart")
    age(home_dir, 2)
    with archive._try_awhile_to_hold_lock(home_dir, time.monotonic()) as is_held:
        let_go(home_dir, seconds=0.05)
        assert is_held
        assert archive.sessions_in_file(home_dir) == []

    let_go(home_dir)
    assert [one.session_id for one in archive.sessions_in_file(home_dir)] == ["abc"]


WRITER = """
import select, sys, time
from brimline.rooms import values_in_all_traces
from brimline.figures import history
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    history.tidy(sys.argv[1], "other", values_in_all_traces, time.monotonic() + 5)
"""


@pytest.mark.row("S2-48")
def test_a_line_is_there_once_while_writers_are_killed(
    home_dir: str, processes: list[subprocess.Popen[bytes]]
) -> None:
    """Sessions grow and age under four housekeepers, one of which is killed in every round."""
    chance = random.Random(20260108)
    steady = [_start(processes, home_dir) for _ in range(3)]
    all_hooks = [Hooks(home_dir, f"s{number}") for number in range(8)]
    for round_number in range(12):
        victim = _start(processes, home_dir)
        for number, hooks in enumerate(all_hooks):
            hooks.now = START + round_number * 100
            for step in range(5):
                hooks.read("PostToolUse", 1_000 * (round_number * 5 + step + 1), number)
            hooks.add("Announced", spoke=1)
            if round_number == 11 and number % 2:
                age(home_dir, KEEP + 1, f"s{number}")
        with contextlib.suppress(subprocess.TimeoutExpired):
            victim.wait(timeout=chance.uniform(0, 0.1))
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    for process in steady:
        errors = process.communicate(b"stop\n")[1]
        assert process.returncode == 0, errors.decode()
    let_go(home_dir)

    assert len(io.list_names(f"{home_dir}/sessions")) == 4
    lines = Path(home_dir, "history.jsonl").read_bytes().splitlines()
    found = {one.session_id: one.figures for one in sessions(home_dir)}

    assert sorted(json.loads(line)["session"] for line in lines) == ["s1", "s3", "s5", "s7"]
    assert len(found) == 8
    for figures in found.values():
        assert figures.occupancies == [1_000 * number for number in range(1, 61)]
        assert len(figures.messages) == 12


def _start(processes: list[subprocess.Popen[bytes]], home_dir: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, home_dir],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    processes.append(process)
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    return process


@pytest.mark.parametrize(
    ("times", "kept"),
    [
        (0.9, ["compacted-9", "off", "spoke-L1", "spool.jsonl", "telemetry.json", "window-9"]),
        (1.1, ["off", "spool.jsonl"]),
        (KEEP - 0.1, ["off", "spool.jsonl"]),
        (KEEP + 0.1, None),
    ],
)
def test_a_silent_session_loses_its_marks_soon_and_all_later(
    home_dir: str, times: float, kept: list[str] | None
) -> None:
    """The running one loses nothing, nor does one that is a link."""
    names = ("off", "spoke-L1", "window-9", "compacted-9", "telemetry.json")
    for session in ("abc", "other"):
        Hooks(home_dir, session).add("SessionStart")
        for name in names:
            io.create_exclusively(f"{home_dir}/sessions/{session}/{name}", b"")
        age(home_dir, times, session)
    os.symlink("abc", f"{home_dir}/sessions/linked")

    let_go(home_dir)

    folder = f"{home_dir}/sessions/abc"
    assert (sorted(os.listdir(folder)) if os.path.isdir(folder) else None) == kept
    assert len(os.listdir(f"{home_dir}/sessions/other")) == len(names) + 1
    assert os.path.islink(f"{home_dir}/sessions/linked")
    assert known(home_dir).events


def test_a_folder_without_a_spool_goes_and_one_the_history_does_not_know_stays(
    home_dir: str,
) -> None:
    """What it holds would be lost."""
    for name in ("empty", "unknown"):
        io.create_exclusively(f"{home_dir}/sessions/{name}/off", b"")
    Hooks(home_dir, "unknown").add("SessionStart")
    for name in ("empty", "unknown"):
        age(home_dir, KEEP + 1, name)

    history._drop_old_folders(home_dir, "other", values_in_all_traces, time.monotonic() + 60)

    assert os.listdir(f"{home_dir}/sessions") == ["unknown"]
    assert spool.stamp_of_folder(f"{home_dir}/sessions/empty") == []


@pytest.mark.parametrize(
    ("line", "is_event"),
    [
        ({"at": 1, "event": "x"}, True),
        ({"at": -1.5, "event": "x"}, True),
        ({"at": spool._LARGEST_TIME - 1, "event": "x"}, True),
        ({"at": spool._LARGEST_TIME, "event": "x"}, False),
        ({"at": -spool._LARGEST_TIME, "event": "x"}, False),
        ({"at": True, "event": "x"}, False),
        ({"at": "1", "event": "x"}, False),
        ({"at": 1, "event": None}, False),
        ({"at": 1}, False),
    ],
)
def test_an_event_has_a_name_and_a_time(
    home_dir: str, line: dict[str, Any], is_event: bool
) -> None:
    """What is none is damage, and counted."""
    folder = SessionState(home_dir, "abc").folder
    io.append_line(f"{folder}/spool.jsonl", dumps({"v": 1} | line))
    update(home_dir)

    found = known(home_dir)

    assert (len(found.events), found.damaged) == (int(is_event), int(not is_event))


def test_what_was_said_before_a_session_was_forgotten_is_left_out(
    home_dir: str, tmp_path: Path
) -> None:
    """To the moment; where nothing is left there is no line."""
    hooks = Hooks(home_dir)
    builder = transcript(tmp_path, "abc")
    hooks.add("SessionStart", transcript_path=builder.path, cwd="/a")
    builder.now = START
    builder.reply(40_000)
    builder.compact(40_000)
    forgotten.note_forgotten(home_dir, START + 4, {"session": "abc"})

    update(home_dir)
    nothing = sessions(home_dir)
    hooks.now = builder.now = START + 4
    hooks.add("UserPromptSubmit")
    builder.reply(9_000)
    update(home_dir)

    assert nothing == [], "the compaction was a second before"
    found = known(home_dir)
    assert [event["event"] for event in found.events] == ["UserPromptSubmit"]
    assert [request.tokens for request in found.requests] == [9_000]
    assert found.recorded == []


def test_of_two_lines_of_a_session_the_one_that_knows_more_stays(home_dir: str) -> None:
    """Another process may have made its own meanwhile; the last written stands at the end."""

    def one(name: str, at: float) -> Session:
        return Session(name, [[]], 0, [{"at": at, "event": "Stop"}])

    archive.write_session_lines(home_dir, [one("a", START + 5), one("b", START)], float("inf"))
    archive.write_session_lines(home_dir, [one("a", START + 4)], float("inf"))
    first = [(each.session_id, each.begun_at) for each in archive.sessions_in_file(home_dir)]
    archive.write_session_lines(home_dir, [one("b", START + 1)], float("inf"))
    second = [(each.session_id, each.begun_at) for each in archive.sessions_in_file(home_dir)]
    archive.delete_line_of_session(home_dir, "a")
    archive.delete_line_of_session(home_dir, "never there")

    assert first == [("b", START), ("a", START + 5)]
    assert second == [("a", START + 5), ("b", START + 1)]
    assert [each.session_id for each in archive.sessions_in_file(home_dir)] == ["b"]


def test_a_session_begins_with_its_first_event_else_with_its_first_request() -> None:
    """One of which nothing is known begins after all others."""
    request = Request(START + 7, 9, None)
    event = {"at": START + 9, "event": "Stop"}

    begun = [
        Session("a", events=events, requests=requests).begun_at
        for events, requests in (([event], [request]), ([], [request]), ([], []))
    ]

    assert begun == [START + 9, START + 7, float("inf")]


def test_a_history_that_is_no_file_is_told_in_a_sentence(home_dir: str) -> None:
    """Whether it is read or written; a damaged line is made anew."""
    Hooks(home_dir).add("SessionStart")
    os.makedirs(f"{home_dir}/history.jsonl")
    with pytest.raises(StateError, match=r"history\.jsonl cannot be read: Is a directory"):
        sessions(home_dir)
    os.rmdir(f"{home_dir}/history.jsonl")
    Path(home_dir, "history.jsonl").write_bytes(b'{"v":1,"session":"abc"}\n{"v":2}\nx\n')
    assert sessions(home_dir) == []

    assert update(home_dir) == []

    assert known(home_dir).events


def test_a_short_look_says_that_it_is_not_done_and_spends_itself_on_the_newest(
    home_dir: str,
) -> None:
    """What there was no time for comes with the next."""
    Hooks(home_dir).add("SessionStart")

    notes = update(home_dir, until=0.0)

    assert notes == ["not everything that was recorded is in yet: run it again"]
    assert sessions(home_dir) == []
    assert update(home_dir) == []


def left_of(home_dir: str, folder: Path) -> list[str]:
    """What housekeeping leaves in a folder."""
    history._drop_old_folders(home_dir, "the running one", values_in_all_traces, float("inf"))
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def old_folder(home_dir: str, name: str, age_s: float, spool_bytes: int = 10) -> Path:
    """A session's folder that was written so long ago, and that the history knows."""
    folder = Path(paths.session_dir(home_dir, name))
    folder.mkdir(parents=True)
    with (folder / "spool.jsonl").open("wb") as file:
        file.truncate(spool_bytes)
    (folder / "telemetry.json").touch()
    moment = time.time() - age_s
    for path in (*folder.iterdir(), folder):
        os.utime(path, (moment, moment))
    known = Session(name, [spool.stamp_of_folder(str(folder))])
    archive.write_session_lines(home_dir, [known], float("inf"))
    return folder


@pytest.mark.parametrize(
    ("age_s", "left"),
    [
        (_STALE_S - 60, ["spool.jsonl", "telemetry.json"]),
        (_STALE_S + 0.2, ["spool.jsonl"]),
        (_KEEP_S - 60, ["spool.jsonl"]),
        (_KEEP_S + 0.2, []),
    ],
)
def test_what_is_polled_goes_soon_and_the_rest_later(
    home_dir: str, age_s: float, left: list[str]
) -> None:
    """By the newest file of a session."""
    assert left_of(home_dir, old_folder(home_dir, "s1", age_s)) == left


@pytest.mark.parametrize(
    ("spool_bytes", "left"),
    [(_LARGEST_SPOOLS_BYTES - 1, ["spool.jsonl"]), (_LARGEST_SPOOLS_BYTES, [])],
)
def test_too_large_spools_go_soon(home_dir: str, spool_bytes: int, left: list[str]) -> None:
    """What the history has of them stays."""
    folder = old_folder(home_dir, "s1", 2 * _STALE_S, spool_bytes)

    assert left_of(home_dir, folder) == left
    assert list(archive.lines_by_session(home_dir)) == ["s1"]


@pytest.mark.parametrize(("more", "kept"), [(0, ["old", "new"]), (1, ["new"])])
def test_the_history_has_its_most_bytes_and_lets_go_of_what_is_oldest(
    home_dir: str, more: int, kept: list[str]
) -> None:
    """One byte more is too much."""

    new = Session("new", [[], []], 0, [{"at": START, "event": "Stop"}])
    head, size = b'{"v":1,"session":"old"', _LARGEST_FILE_BYTES - len(archive._encode_line(new))
    Path(home_dir).mkdir()
    Path(home_dir, "history.jsonl").write_bytes(head.ljust(size + more - 1) + b"\n")

    archive.write_session_lines(home_dir, [new], float("inf"))

    assert list(archive.lines_by_session(home_dir)) == kept


@pytest.mark.parametrize(("requests", "names"), [(_GROWTH_REQUESTS, 1), (_GROWTH_REQUESTS - 1, 2)])
def test_growth_is_told_by_the_last_requests(home_dir: str, requests: int, names: int) -> None:
    """Sessions come whole."""
    event = {"at": START, "event": "SessionStart"}
    older = Session("a", [[], []], 0, [event], [Request(START + 1, 5, "m")])
    newer = Session("b", [[], []], 0, [event], [])
    newer.requests = [Request(START + 1 + number, number, "m") for number in range(requests)]
    archive.write_session_lines(home_dir, [older, newer], float("inf"))

    found = segments(home_dir)

    assert len(found) == names
    assert len(found[0][1]) == requests


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="the system does not list them")
def test_no_file_stays_open(home_dir: str) -> None:
    """A server looks at the history for days."""
    Hooks(home_dir).add("SessionStart")
    gc.collect()
    open_before = len(os.listdir("/proc/self/fd"))

    for _ in range(3):
        update(home_dir)
        sessions(home_dir)
        archive.delete_line_of_session(home_dir, "abc")

    assert len(os.listdir("/proc/self/fd")) <= open_before
    assert os.stat(f"{home_dir}/history.lock").st_mode & 0o777 == 0o600


def test_what_0_2_0_kept_is_carried_over(home_dir: str, tmp_path: Path) -> None:
    """Its history, also of sessions whose files are gone; what it derived goes."""
    builder = transcript(tmp_path, "here")
    builder.prompt("Begin.")
    builder.reply(30_000)
    events = [{"at": START, "event": "SessionStart", "cwd": "/gone", "window": 200_000}]
    requests = [[START + 1, 50_000, "claude-opus-4-5"], [START + 2, 60_000, "claude-opus-4-5"]]
    recorded = [["u1", START + 3, "auto", 60_000, 9_000, 800, None]]
    line = {"v": 1, "session": "gone", "stamp": [[9, 9], ["/gone.jsonl", 1, 2]], "damaged": 0}
    line |= {"events": events, "requests": requests, "recorded": recorded}
    Path(home_dir).mkdir()
    Path(home_dir, "history.jsonl").write_text(json.dumps(line, separators=(",", ":")) + "\n")
    for name in ("spending.jsonl", "dashboard.sqlite3"):
        Path(home_dir, name).write_text("{}")

    update(home_dir, [builder.path])

    gone, here = known(home_dir, "gone").figures, known(home_dir, "here").figures
    assert (gone.project, gone.occupancies, len(gone.compactions)) == ("/gone", [50_000, 60_000], 1)
    assert (here.occupancies, len(here.turns)) == ([30_000], 1)
    assert sorted(os.listdir(home_dir)) == ["figures.sqlite3", "history.jsonl"]
