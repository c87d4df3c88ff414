"""Housekeeping at the start of a session: old marks go, records stay, failures cost nothing."""

from __future__ import annotations

import itertools
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.guard.dialogue import set_by_user

from brimline.bulk import layout, put
from brimline.fast import paths, policy
from brimline.figures import archive
from brimline.hooks import entry
from brimline.hooks.entry import open_turn, tidy
from brimline.rooms import TIDY
from brimline.settings import config
from brimline.state import logs
from brimline.testing import event

from .processes import copy_package, run_hook

if TYPE_CHECKING:
    from tests.guard.dialogue import Talk

    from brimline.testing import SessionBuilder

HOUR_S = 3_600
LIMITS = {"five_hour": {"used_percentage": 95}}
# What tiers, advice, limits and reminder leave, and what is kept for other reasons.
TRANSIENT = {
    *("spoke-L1", "spoke-L2", "spoke-L3", "spoke-L4", "spoke-again-0", "ceiling-8"),
    *("window-1000000", "quota-5h.1", "quota-5h.2", "reminder", "telemetry.json"),
}
LASTING = {"spool.jsonl", "statusline.json"}


@pytest.fixture
def old(talk: Talk, world: Path) -> Path:
    """The folder of a session that has heard everything there is to hear."""
    rules = world / "home" / "rules.md"
    rules.write_text("No preambles.")
    talk.use(reminder__file=rules, guard__ceiling_percent=1, compaction_tokens=420_000)
    talk.session.session_id = "old"
    talk.show_window(0, LIMITS)
    talk.at_prompt(415_000)
    talk.load()
    folder = Path(talk.home_dir, "sessions", "old")
    assert set(os.listdir(folder)) == TRANSIENT | LASTING
    talk.session.session_id = "new"
    return folder


@pytest.mark.row("S4-46")
@pytest.mark.parametrize(("hours", "stale"), [(23, False), (25, True), (24 * 29, True)])
def test_marks_of_a_session_that_is_gone_for_a_day_are_removed(
    hours: int, stale: bool, old: Path, talk: Talk
) -> None:
    """Tiers, advice, limits and telemetry; the spool and the checkpoint stay for a month."""
    _age(old, hours)
    stray = old.parent / "stray"
    stray.write_text("x")
    _age(stray, hours)
    talk.session.session_id = "old"
    talk.at_start("resume")  # the one that starts is not gone, however long it slept
    cold = {name for name in os.listdir(old) if name.startswith("cost-cold-")}
    assert set(os.listdir(old)) == TRANSIENT | LASTING | cold
    talk.session.session_id = "new"
    _age(old, hours)

    talk.at_start()

    assert set(os.listdir(old)) == (LASTING if stale else TRANSIENT | LASTING | cold)
    assert stray.read_text() == "x"


@pytest.mark.row("S4-46")
@pytest.mark.parametrize(("days", "retired"), [(29, False), (31, True)])
def test_after_a_month_only_the_history_knows_it(days: int, retired: bool, talk: Talk) -> None:
    """Its folder goes once its line is in the history, and not before."""
    talk.session.session_id = "old"
    talk.session.reply(50_000)
    talk.tell("PreCompact", trigger="auto", custom_instructions="")
    folder = Path(talk.home_dir, "sessions", "old")
    _age(folder, days * 24)
    talk.session.session_id = "new"

    talk.at_start()

    assert folder.exists() is not retired
    known = {one.session_id: one.events for one in archive.sessions_in_file(talk.home_dir)}
    assert [event["event"] for event in known["old"]] == ["PreCompact"]


@pytest.mark.parametrize(
    ("broken", "task"),
    [
        ("history.lock", "tidy figures"),
        ("learned.json", "learned"),
    ],
)
def test_a_failure_is_logged_and_all_goes_on(broken: str, task: str, old: Path, talk: Talk) -> None:
    """The rest of the housekeeping is done, the settings are compiled, the reminder is given."""
    for name in (broken, broken + "-wal", broken + "-shm"):
        Path(talk.home_dir, name).unlink(missing_ok=True)
    Path(talk.home_dir, broken).mkdir()
    _age(old, 25)

    note = talk.at_start().note

    assert "No preambles." in note
    assert set(os.listdir(old)) == LASTING
    assert policy.load_compiled(talk.home_dir, talk.session.cwd) is not None
    assert task in {line["event"] for line in logs.recent_failures(talk.home_dir, 0)}


def _age(path: Path, hours: float) -> None:
    """Let a folder and what is in it have been touched last so long ago."""
    then = time.time() - hours * HOUR_S
    for file in path.iterdir() if path.is_dir() else ():
        os.utime(file, (then, then))
    os.utime(path, (then, then))


@pytest.mark.row("S3-25")
def test_what_the_store_kept_too_long_goes_at_a_start(talk: Talk) -> None:
    """Once a day; what was used lately stays."""
    old, young = (put.put(talk.home_dir, data, {"session": "gone"}) for data in (b"old", b"young"))
    month_ago = time.time() - 31 * 86_400
    os.utime(layout.stored_path(talk.home_dir, layout.digest_of_key(old)), (month_ago, month_ago))

    talk.at_start()

    assert not os.path.exists(layout.stored_path(talk.home_dir, layout.digest_of_key(old)))
    assert os.path.exists(layout.stored_path(talk.home_dir, layout.digest_of_key(young)))


@pytest.mark.row("S3-25")
@pytest.mark.parametrize(("limit_mb", "left"), [("1", 1), ("500", 3)])
def test_what_exceeds_the_stores_size_goes_at_a_start(limit_mb: str, left: int, talk: Talk) -> None:
    """The least recently used first, until the rest is within `store.max_mb`."""
    config.write_setting(paths.user_config(talk.home_dir), "store.max_mb", limit_mb)
    config.compile_policy(talk.home_dir, talk.session.cwd)
    keys = [put.put(talk.home_dir, os.urandom(600_000), {"session": "gone"}) for _ in range(3)]
    files = [layout.stored_path(talk.home_dir, layout.digest_of_key(key)) for key in keys]
    for hours, file in zip((30, 20, 10), files, strict=True):
        os.utime(file, (time.time() - hours * HOUR_S,) * 2)

    talk.at_start()

    assert [os.path.exists(file) for file in files] == [False] * (3 - left) + [True] * left


@pytest.mark.row("S4-46")
def test_thousands_of_old_sessions_take_their_share_of_time_and_no_more(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a clock that ticks at every look: no room goes on after its time, none is forgotten."""
    sessions = Path(home_dir, "sessions")
    for number in range(2_000):
        folder = sessions / f"old-{number}"
        folder.mkdir(parents=True)
        (folder / "spoke-L1").write_bytes(b"")
        _age(folder, 40 * 24)
    clock = itertools.count(1_000_000)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock) / 1_000)
    left = 2_000

    for _ in range(3):
        begun = next(clock)
        turn = open_turn("SessionStart", _raw(event("SessionStart", session)), home_dir)
        assert turn is not None
        tidy(turn, seconds=0.6)

        assert next(clock) - begun < 700
        before, left = left, len(list(sessions.glob("old-*/spoke-L1")))
        assert 0 < before - left < 600


def test_a_step_of_housekeeping_that_hangs_costs_neither_answer_nor_session(
    session: SessionBuilder, world: Path
) -> None:
    """The answer is out before, and the process ends by itself with exit code 0."""
    (world / "home" / "rules.md").write_text("No preambles.")
    root = copy_package(world / "copy")
    with open(f"{root}/brimline/gauge/hook.py", "a", encoding="utf-8") as file:
        file.write(
            "\n\ndef tidy(turn, until):\n    import time\n    while True:\n        time.sleep(1)\n"
        )

    rules = str(world / "home" / "rules.md")
    set_by_user(str(world / "brimline"), session.cwd, "reminder.file", rules)
    started = event("SessionStart", session, source="startup")
    done = run_hook(world, "SessionStart", started, root=root)

    assert (done.returncode, done.stderr) == (0, b"")
    assert b"No preambles." in done.stdout


def test_a_strangers_settings_are_bounded(talk: Talk) -> None:
    """Models by the ten thousand: little is kept."""
    folder = Path(talk.session.cwd, ".claude")
    folder.mkdir()
    models = {f"model-{number}": {"autoCompactWindow": 50_000} for number in range(20_000)}
    (folder / "settings.json").write_text(json.dumps({"modelSettings": models}))
    talk.at_start()

    assert Path(paths.policy_file(talk.home_dir, talk.session.cwd)).stat().st_size < 20_000
    assert logs.recent_failures(talk.home_dir, 0) == []


def _raw(payload: dict[str, Any]) -> bytes:
    return json.dumps(payload).encode()


@pytest.mark.parametrize(
    ("seconds", "first", "last"), [(0.8, 1_000 + 0.8 / len(TIDY), 1_000.8), (-1.0, 1e3, 1e3)]
)
def test_each_room_gets_an_equal_share_of_the_time_that_is_left(
    session: SessionBuilder,
    home_dir: str,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    first: float,
    last: float,
) -> None:
    """With a clock that stands still the last has all of it; time that is up is never less."""
    ends: list[float] = []
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    monkeypatch.setattr(entry, "call_room", lambda *given: ends.append(given[-1]))
    turn = open_turn("SessionStart", _raw(event("SessionStart", session)), home_dir)
    assert turn is not None

    tidy(turn, seconds)

    assert len(ends) == len(TIDY)
    assert ends == sorted(ends)
    assert [ends[0], ends[-1]] == pytest.approx([first, last])
