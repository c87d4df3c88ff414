"""The time series: every spooled event exactly once, whatever is killed, torn, full or damaged."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline import fastio
from brimline.errors import StateError
from brimline.state import database, failures, migrations, series, spool
from brimline.state.session import SessionState

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Kills itself with SIGKILL when the database is about to run the n-th statement.
KILLED_AT_STATEMENT = """
import os, signal, sqlite3, sys
home, last = sys.argv[1], int(sys.argv[2])
real, count = sqlite3.connect, 0
def trace(statement):
    global count
    count += 1
    if count == last:
        os.kill(os.getpid(), signal.SIGKILL)
def connect(*arguments, **options):
    connection = real(*arguments, **options)
    connection.set_trace_callback(trace)
    return connection
sqlite3.connect = connect
from brimline.state import series
series.drain(home, rotate_at_bytes=100)
"""
KILLED_IN_ROTATION = """
import os, signal, sys
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from brimline.state import series
series.drain(sys.argv[1], rotate_at_bytes=1)
"""
DRAIN_AT_ONCE = """
import sys
from brimline.state import series
print("ready", flush=True)
sys.stdin.readline()
print(series.drain(sys.argv[1]).lines)
"""
DRAIN_WITHOUT_ROOM = """
import resource, sys
from brimline.errors import StateError
from brimline.state import series
series.drain(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
print("ready", flush=True)
sys.stdin.readline()
try:
    series.drain(sys.argv[1])
except StateError as error:
    print(error)
"""


def events(home_dir: str, columns: str = "event") -> list[tuple[Any, ...]]:
    """Rows of the series in order."""
    with contextlib.closing(sqlite3.connect(database.path(home_dir))) as connection:
        query = f"SELECT {columns} FROM event ORDER BY at, id"  # noqa: S608 - columns of this test
        return connection.execute(query).fetchall()


def fill(home_dir: str, count: int, session: str = "abc", start: int = 0) -> SessionState:
    """A session with some numbered events."""
    state = SessionState(home_dir, session)
    for number in range(start, start + count):
        state.add_line(f"E{number}", {"number": number})
    return state


def age(path: str, seconds: float) -> None:
    """Make a file look untouched for some time."""
    modified = os.stat(path).st_mtime - seconds
    os.utime(path, (modified, modified))


def test_every_field_of_an_event_is_kept(home_dir: str) -> None:
    """Known ones in columns under their own names, all others as JSON."""
    state = SessionState(home_dir, "abc")
    known = {
        "occupancy": 120_000,
        "tail": 900,
        "window": 200_000,
        "window_source": "model",
        "compaction": 167_000,
        "tier": 1,
        "offset": 4_553,
        "trigger": "auto",
        "spoke": 1,
        "blocked": True,
        "tool": "Skill",
        "summary_characters": 9_000,
        "source": "startup",
        "model": "claude-opus-5",
        "cwd": "/home/dev/projekt-ü",
        "transcript_path": "/t.jsonl",
    }
    state.add_line("PostToolUse", known | {"later": {"x": [1, None]}, "effective": 180_000})

    drained = series.drain(home_dir)
    columns = ["transcript_offset" if name == "offset" else name for name in known]
    columns = ["transcript" if name == "transcript_path" else name for name in columns]

    row = events(home_dir, ", ".join(f'"{name}"' for name in columns))[0]
    assert row == tuple(int(v) if isinstance(v, bool) else v for v in known.values())
    assert json.loads(events(home_dir, "extra")[0][0]) == {
        "later": {"x": [1, None]},
        "effective": 180_000,
    }
    assert (drained.lines, drained.damaged, drained.finished) == (1, 0, True)
    assert events(home_dir, "session, event") == [("abc", "PostToolUse")]


@pytest.mark.parametrize(
    "fields",
    [
        {"occupancy": True},
        {"occupancy": 1 << 70},
        {"occupancy": 1.5},
        {"occupancy": "many"},
        {"blocked": 1},
        {"model": 5},
        {"cwd": "/lone\udcff"},
        {"v": 2},
    ],
)
def test_a_value_that_fits_no_column_is_kept_beside(fields: dict[str, Any], home_dir: str) -> None:
    """Nothing that a later version writes is lost on an older one."""
    SessionState(home_dir, "abc").add_line("E", fields)

    series.drain(home_dir)

    assert json.loads(events(home_dir, "extra")[0][0]) == fields


def test_an_event_too_deep_to_keep_does_not_stop_the_others(home_dir: str) -> None:
    """Its known fields are there; the rest says that it is lost."""
    state = fill(home_dir, 1)
    deep = "[" * 600 + "]" * 600
    text = f'{{"v":1,"at":2,"event":"deep","tier":3,"x":{deep}}}'
    fastio.append_line(f"{state.folder}/spool.jsonl", text)
    fill(home_dir, 1, start=1)

    series.drain(home_dir)

    assert {name for (name,) in events(home_dir)} >= {"E0", "E1"}


@pytest.mark.row("S2-48")
def test_a_second_drain_adds_only_what_is_new(home_dir: str) -> None:
    """Every event once, over any number of drains and rotations."""
    for step in range(5):
        fill(home_dir, 3, start=3 * step)
        assert series.drain(home_dir, rotate_at_bytes=100).lines == 3
        assert series.drain(home_dir, rotate_at_bytes=100).lines == 0

    assert [name for (name,) in events(home_dir)] == [f"E{number}" for number in range(15)]
    assert len(spool.files_in(f"{home_dir}/sessions/abc")) > 3


def test_the_series_is_private_from_the_start(home_dir: str) -> None:
    """Files 600 in a folder 700, whatever the umask."""
    fill(home_dir, 1)
    shutil.rmtree(home_dir)
    before = os.umask(0)
    try:
        series.drain(home_dir)
        modes: dict[str, int] = {}

        def look(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT INTO spool (session, file) VALUES ('x', 'y')")
            for path in [Path(home_dir), *Path(home_dir).iterdir()]:
                modes[path.name] = stat.S_IMODE(path.stat().st_mode)

        database.use(home_dir, look)
    finally:
        os.umask(before)

    assert modes.pop("brimline") == 0o700
    assert set(modes) >= {"series.sqlite3", "series.sqlite3-wal", "series.lock"}
    assert set(modes.values()) == {0o600}


def test_what_one_file_hides_from_us_does_not_stop_the_others(home_dir: str) -> None:
    """It is named with the reason; folders and foreign names are passed over."""
    state = fill(home_dir, 2)
    os.symlink("spool.1.jsonl", f"{state.folder}/spool.1.jsonl")
    os.mkdir(f"{state.folder}/spool.2.jsonl")
    os.symlink("nowhere", f"{state.folder}/spool.3.jsonl")
    os.makedirs(f"{home_dir}/sessions/not an id")

    drained = series.drain(home_dir)

    assert drained.lines == 2
    assert len(drained.unreadable) == 1
    assert "spool.1.jsonl: " in drained.unreadable[0]


def test_torn_lines_are_counted_and_cost_no_other(home_dir: str) -> None:
    """Also when the damage is met only later, at the end of an abandoned file."""
    state = fill(home_dir, 1)
    path = f"{state.folder}/spool.jsonl"
    with open(path, "ab") as file:
        file.write(b'{"v":1,"at":17')
    fill(home_dir, 1, start=1)
    with open(path, "ab") as file:
        file.write(b'{"v":1,"ev')

    first = series.drain(home_dir, rotate_at_bytes=1)
    later = series.drain(home_dir, now=os.stat(state.folder).st_mtime + 2 * spool.QUIET_S)

    assert (first.lines, first.damaged) == (2, 1)
    assert (later.lines, later.damaged) == (0, 1)
    assert spool.files_in(state.folder) == []


def test_a_late_line_in_a_rotated_file_is_found(home_dir: str) -> None:
    """A hook may have opened the file before it was renamed and drained."""
    state = fill(home_dir, 1)
    with open(f"{state.folder}/spool.jsonl", "ab") as late:
        series.drain(home_dir, rotate_at_bytes=1)
        series.drain(home_dir)
        late.write(b'{"v":1,"at":1,"event":"late"}\n')

    assert series.drain(home_dir).lines == 1
    assert sorted(events(home_dir)) == [("E0",), ("late",)]


def test_a_rotated_file_is_deleted_an_hour_after_it_was_drained(home_dir: str) -> None:
    """Not before, and the live one never; what it held stays in the series."""
    state = fill(home_dir, 3)
    series.drain(home_dir, rotate_at_bytes=1)
    (rotated,) = spool.files_in(state.folder)
    fill(home_dir, 1, start=3)
    now = os.stat(rotated).st_mtime

    series.drain(home_dir, now=now + spool.QUIET_S - 60)
    assert rotated in spool.files_in(state.folder)
    series.drain(home_dir, now=now + spool.QUIET_S + 60)

    assert spool.files_in(state.folder) == [f"{state.folder}/spool.jsonl"]
    assert len(events(home_dir)) == 4


def test_nothing_is_deleted_that_was_not_drained(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A drain without time for a file, or one that cannot make its rows last, leaves it alone."""
    state = fill(home_dir, 300)
    target = spool.rotate(state.folder, 1) or ""
    later = os.stat(target).st_mtime + 2 * spool.QUIET_S
    monkeypatch.setattr(spool.read, "__defaults__", (1 << 10,))  # small batches: many steps

    assert not series.drain(home_dir, now=later, budget_s=0).finished
    assert os.path.exists(target)
    with contextlib.closing(sqlite3.connect(database.path(home_dir))) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM event").fetchone()
        series.drain(home_dir, now=later, budget_s=1)
        assert os.path.exists(target)
    series.drain(home_dir, now=later)

    assert not os.path.exists(target)
    assert len(events(home_dir)) == 300


def test_a_drain_without_time_goes_on_next_time(home_dir: str) -> None:
    """One step each, most recently active sessions first, until all is in."""
    for number in range(4):
        state = fill(home_dir, 2, session=f"s{number}")
        age(f"{state.folder}/spool.jsonl", 1_000 * number)

    first = series.drain(home_dir, budget_s=0)
    order = {name for (name,) in events(home_dir, "session")}
    rest = [series.drain(home_dir) for _ in range(2)]

    assert (first.lines, first.finished) == (2, False)
    assert order == {"s0"}
    assert [(one.lines, one.finished) for one in rest] == [(6, True), (0, True)]


def test_a_session_that_comes_back_after_its_folder_was_deleted_is_recorded(home_dir: str) -> None:
    """Its new spool is another file, though it has the name and place of the old one."""
    state = fill(home_dir, 5)
    series.drain(home_dir)
    shutil.rmtree(state.folder)
    fill(home_dir, 2, start=5)

    assert series.drain(home_dir).lines == 2
    assert len(events(home_dir)) == 7


def test_a_copied_data_folder_doubles_nothing(home_dir: str, tmp_path: Path) -> None:
    """Restored from a backup, the same files have other inodes and times."""
    fill(home_dir, 5)
    series.drain(home_dir, rotate_at_bytes=1)
    fill(home_dir, 2, start=5)
    copy = str(tmp_path / "copy")
    shutil.copytree(home_dir, copy)

    assert series.drain(copy).lines == 2
    assert len(events(copy)) == 7


def test_forgetting_a_session_removes_its_rows_alone(home_dir: str) -> None:
    """Once its folder is gone it does not come back."""
    state = fill(home_dir, 2, session="secret")
    fill(home_dir, 2, session="other")
    series.drain(home_dir)
    shutil.rmtree(state.folder)

    series.forget(home_dir, "secret")
    series.drain(home_dir)

    assert {name for (name,) in events(home_dir, "session")} == {"other"}


def test_a_drain_killed_at_any_statement_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """The creation of the tables included: the next drain finds all that is missing."""
    outcomes = []
    for last in range(1, 200):
        home_dir = str(tmp_path / str(last))
        fill(home_dir, 3)
        done = _run(KILLED_AT_STATEMENT, home_dir, str(last))
        fill(home_dir, 2, start=3)
        series.drain(home_dir, rotate_at_bytes=100)
        outcomes.append(done.returncode)

        assert [name for (name,) in events(home_dir)] == ["E0", "E1", "E2", "E3", "E4"]
        assert series.drain(home_dir).lines == 0
        if done.returncode == 0:
            break

    assert outcomes[-1] == 0
    assert set(outcomes[:-1]) == {-signal.SIGKILL}
    assert len(outcomes) > 15


def test_a_rotation_killed_half_way_loses_nothing(home_dir: str) -> None:
    """All that is left of it is an empty name, which goes away in time."""
    state = fill(home_dir, 3)
    done = _run(KILLED_IN_ROTATION, home_dir)
    files = spool.files_in(state.folder)
    fill(home_dir, 2, start=3)
    series.drain(home_dir)

    assert done.returncode == -signal.SIGKILL
    assert len(files) == 2
    assert len(events(home_dir)) == 5
    series.drain(home_dir, now=os.stat(state.folder).st_mtime + 2 * spool.QUIET_S)
    assert spool.files_in(state.folder) == [f"{state.folder}/spool.jsonl"]


def test_eight_first_drains_at_once_share_the_work(home_dir: str) -> None:
    """None fails while another makes the tables, and together they take each event once."""
    for number in range(40):
        fill(home_dir, 5, session=f"s{number}")
    drains = [_start(DRAIN_AT_ONCE, home_dir) for _ in range(8)]
    for process in drains:
        _wait_until_ready(process)
    results = [process.communicate(b"go\n") for process in drains]

    assert [process.returncode for process in drains] == [0] * 8
    assert sum(int(out) for out, _ in results) == 200
    assert len(events(home_dir)) == 200


def test_the_tables_are_made_step_by_step_from_any_older_version(home_dir: str) -> None:
    """Rows of an older version stay; all ways lead to the same tables."""
    fill(home_dir, 2)
    old = database.path(home_dir)
    with contextlib.closing(sqlite3.connect(old, isolation_level=None)) as connection:
        migrations.m001_initial(connection)
        connection.execute("PRAGMA user_version = 1")
        connection.execute("INSERT INTO spool (id, session, file) VALUES (9, 'old', 'f')")
        connection.execute(
            "INSERT INTO event (spool, offset, session, at, event) VALUES (9, 0, 'old', 0, 'Old')"
        )
    fresh = str(Path(home_dir) / "fresh")

    series.drain(home_dir)
    series.drain(fresh)

    assert [name for (name,) in events(home_dir)] == ["Old", "E0", "E1"]
    assert _schema(home_dir) == _schema(fresh)
    assert _schema(fresh)[0] == len(migrations.MIGRATIONS)


def test_a_series_of_a_newer_version_is_left_alone(home_dir: str) -> None:
    """One sentence says what to do; nothing is moved or changed."""
    series.drain(home_dir)
    with contextlib.closing(sqlite3.connect(database.path(home_dir))) as connection:
        connection.execute("PRAGMA user_version = 99")

    with pytest.raises(StateError, match="written by a newer brimline: upgrade"):
        series.drain(home_dir)

    assert database.set_aside(home_dir) == []


def _garbage(path: Path) -> None:
    path.write_bytes(b"this is no database " * 500)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5_000])


def _scribble(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[100:] = os.urandom(16) * (len(data[100:]) // 16)
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [_garbage, _cut, _scribble])
def test_a_damaged_series_is_put_aside_and_made_anew_from_the_spools(
    damage: Callable[[Path], None], home_dir: str
) -> None:
    """The damaged file is kept, the failure is in the error log, no event is missing."""
    for number in (1, 2):
        fill(home_dir, 400, start=400 * number)
        series.drain(home_dir, rotate_at_bytes=100)
        damage(Path(database.path(home_dir)))

        drained = series.drain(home_dir)

        assert drained.lines == len(events(home_dir)) == 400 * number
        assert len(database.set_aside(home_dir)) == number
    logged = failures.recent(home_dir, 0)
    assert [entry["event"] for entry in logged] == ["series", "series"]
    assert "series.sqlite3.damaged-2" in logged[1]["message"]


def test_the_log_of_a_damaged_series_never_meets_the_new_one(home_dir: str) -> None:
    """A leftover write-ahead log would be played into whatever database lies beside it."""
    fill(home_dir, 3)
    series.drain(home_dir)
    path = Path(database.path(home_dir))
    log = path.with_name(path.name + "-wal")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as killed:
        killed.execute("INSERT INTO spool (session, file) VALUES ('ghost', 'g')")
        left_behind = log.read_bytes()
    _garbage(path)
    log.write_bytes(left_behind)

    series.drain(home_dir)

    assert len(database.set_aside(home_dir)) == 1
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT session FROM spool").fetchall() == [("abc",)]


def test_a_damaged_series_is_not_moved_away_under_its_users(home_dir: str) -> None:
    """Whoever has it open is waited for, and after that it is told in a sentence."""
    series.drain(home_dir)
    _garbage(Path(database.path(home_dir)))
    with open(f"{home_dir}/series.lock", "rb") as user:
        fcntl.flock(user, fcntl.LOCK_SH)
        with pytest.raises(StateError, match="another process still uses it: try again"):
            series.drain(home_dir, budget_s=0)
        assert database.set_aside(home_dir) == []

    series.drain(home_dir)

    assert len(database.set_aside(home_dir)) == 1


def test_a_series_that_another_has_replaced_is_not_moved_again(home_dir: str) -> None:
    """Two may find the same damage; the second must not put the new series aside."""
    fill(home_dir, 2)
    series.drain(home_dir)
    attempts = []

    def work(connection: sqlite3.Connection) -> int:
        attempts.append(connection)
        if len(attempts) == 1:
            path = Path(database.path(home_dir))
            for name in (path, path.with_name(path.name + "-wal")):
                name.unlink(missing_ok=True)
            path.touch()
            os.link(path, f"{path}.holds-its-inode")
            error = sqlite3.DatabaseError("malformed")
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error
        return 5

    assert database.use(home_dir, work) == 5
    assert database.set_aside(home_dir) == []


def test_a_full_disk_is_told_in_a_sentence_and_costs_nothing(home_dir: str) -> None:
    """Once there is room again, everything is there, once."""
    fill(home_dir, 1)
    process = _start(DRAIN_WITHOUT_ROOM, home_dir, str(60 << 10))
    _wait_until_ready(process)
    fill(home_dir, 3_000, start=1)
    out, err = process.communicate(b"go\n")

    assert process.returncode == 0, err
    assert out.count(b"\n") == 1
    assert b"series.sqlite3" in out
    assert b"disk" in out
    series.drain(home_dir)
    assert len(events(home_dir)) == 3_001


def test_a_series_that_may_only_be_read_is_told_in_a_sentence(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the file and what to check."""
    series.drain(home_dir)
    fill(home_dir, 1)
    real = sqlite3.connect

    def read_only(path: str, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = real(f"file:{path}?mode=ro", uri=True, **options)
        return connection

    monkeypatch.setattr(sqlite3, "connect", read_only)

    with pytest.raises(StateError, match=r"series.sqlite3 cannot be written: check the permiss"):
        series.drain(home_dir)


def test_a_series_that_is_in_use_for_too_long_is_told_in_a_sentence(home_dir: str) -> None:
    """Nobody waits for ever for somebody else's write."""
    series.drain(home_dir)
    fill(home_dir, 1)
    with contextlib.closing(sqlite3.connect(database.path(home_dir))) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(StateError, match="in use by another process for too long"):
            series.drain(home_dir, budget_s=0)


def _folder_in_the_way(home_dir: str) -> None:
    os.makedirs(f"{home_dir}/series.sqlite3")


def _file_in_the_way(home_dir: str) -> None:
    Path(home_dir).touch()


@pytest.mark.parametrize("obstacle", [_folder_in_the_way, _file_in_the_way])
def test_a_place_where_nothing_can_be_kept_is_told_in_a_sentence(
    obstacle: Callable[[str], None], home_dir: str
) -> None:
    """Also where the folder itself cannot be made."""
    obstacle(home_dir)

    with pytest.raises(StateError, match=r"series\.(sqlite3|lock) cannot be opened"):
        series.drain(home_dir)


def test_work_that_fails_leaves_nothing_behind(home_dir: str) -> None:
    """A transaction that raises is undone, and the error is the one that was raised."""

    def work(connection: sqlite3.Connection) -> None:
        with database.transaction(connection):
            connection.execute("INSERT INTO spool (session, file) VALUES ('x', 'y')")
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        database.use(home_dir, work)

    query = "SELECT COUNT(*) FROM spool"
    assert database.use(home_dir, lambda found: found.execute(query).fetchone()) == (0,)


def _schema(home_dir: str) -> tuple[int, list[Any]]:
    with contextlib.closing(sqlite3.connect(database.path(home_dir))) as connection:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = "SELECT name, sql FROM sqlite_master ORDER BY name"
        return version, connection.execute(tables).fetchall()


def _run(code: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-c", code, *arguments], check=False, timeout=60)


def _start(code: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _wait_until_ready(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
