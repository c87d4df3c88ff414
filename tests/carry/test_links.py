"""Which session goes on from which, and what is left of a link when a session is forgotten."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from brimline.carry import ledger, links
from brimline.carry.commands import FAILED
from brimline.fast import clock, paths

FIRST, SECOND = "11111111-aaaa", "22222222-bbbb"


def left_open(session_id: str, *, tasks: int = 0, checks: int = 0) -> ledger.Ledger:
    """A record with so many open tasks and failed checks, and one of each that is done."""
    record = ledger.Ledger(session_id)
    ledger.add_message(record, f"Work of {session_id}", "2026-01-01T00:00:00Z", "prompt")
    states = ["completed", *["in_progress"] * tasks]
    record.tasks = {str(number): [state, "a task"] for number, state in enumerate(states)}
    results = ["passed", *[FAILED] * checks]
    record.checks = {str(number): {"result": result} for number, result in enumerate(results)}
    return record


def test_a_session_that_is_finished_takes_back_only_what_it_left_itself(
    home_dir: str, project_dir: str
) -> None:
    """What another session of the project left open stays."""
    links.note_or_drop_unfinished_session(home_dir, project_dir, left_open(FIRST, tasks=1))
    links.note_or_drop_unfinished_session(home_dir, project_dir, left_open(SECOND))
    still = links.last_unfinished_session(home_dir, project_dir)
    links.note_or_drop_unfinished_session(home_dir, project_dir, left_open(FIRST))

    assert still
    assert (still["session"], still["tasks"], still["checks"]) == (FIRST, 1, 0)
    assert links.last_unfinished_session(home_dir, project_dir) is None


def test_after_clear_a_session_without_a_word_or_the_same_one_is_not_named(home_dir: str) -> None:
    """Nor is one that nothing is known of."""
    ledger.save(home_dir, left_open(FIRST, tasks=1))
    ledger.save(home_dir, ledger.Ledger("silent"))
    noted = ledger.Ledger("noted")
    ledger.add_or_renew_note(noted, ledger.KEEP, "Port 5433", None)
    ledger.save(home_dir, noted)

    told = [
        bool(links.link_and_describe_cleared_session(home_dir, session, previous))
        for session, previous in (
            (FIRST, FIRST),
            (SECOND, None),
            (SECOND, "silent"),
            (SECOND, "never-there"),
            (SECOND, "noted"),
        )
    ]

    assert told == [False, False, False, False, True]


def test_a_client_is_known_by_its_process_for_a_while(home_dir: str) -> None:
    """An older link may be of another process with the same number; it goes with the next one."""
    longest, day = "1" * links._LONGEST_PID, 86_400
    links.note_session_of_client(home_dir, longest, FIRST)
    links.note_session_of_client(home_dir, "22", SECOND)
    folder = Path(paths.carry_dir(home_dir), links.CLIENTS)
    known = [links.last_session_of_client(home_dir, pid) for pid in (longest, "22", "33")]
    oldest = clock.now_s() - links._OLDEST_CLIENT_S
    os.utime(folder / longest, (oldest + day, oldest + day))
    os.utime(folder / "22", (oldest - 1, oldest - 1))
    expired = links.last_session_of_client(home_dir, "22")
    links.note_session_of_client(home_dir, "33", SECOND)
    (folder / "44").write_text("../../etc")

    assert known == [FIRST, SECOND, None]
    assert expired is None
    assert sorted(os.listdir(folder)) == [longest, "33", "44"]
    assert links.last_session_of_client(home_dir, "44") is None


def test_what_goes_on_from_another_knows_both_and_its_own_counts(home_dir: str) -> None:
    """Messages once and in their order; of what has a name its own version holds."""
    origin, record = left_open(FIRST, tasks=2), ledger.Ledger(SECOND)
    ledger.add_message(origin, "said in both", "2026-01-01T00:01:00Z", "prompt")
    ledger.add_message(record, "said in both", "2026-01-01T00:01:00Z", "prompt")
    ledger.add_message(record, "said later", "2026-01-01T00:02:00Z", "prompt")
    record.tasks = {"1": ["completed", "a task"]}
    origin.plan, origin.pulls, record.pulls = "the plan", ["one", "two"], ["two", "three"]

    links.merge_origins_ledger_into(record, origin)

    texts = [message["text"] for message in record.messages]
    assert texts == [f"Work of {FIRST}", "said in both", "said later"]
    assert [state for state, _ in record.tasks.values()] == [
        "completed",
        "completed",
        "in_progress",
    ]
    assert (record.plan, record.pulls) == ("the plan", ["one", "two", "three"])
    assert (record.previous, record.adopted) == (FIRST, FIRST)


@pytest.mark.parametrize(
    "kept",
    [
        "",
        "[]",
        "[",
        '{"v": 1}',
        '{"v": 1, "session": 5}',
        '{"v": 2, "session": "a"}',
        '{"session": "a"}',
    ],
)
def test_what_cannot_be_read_of_it_says_nothing(home_dir: str, project_dir: str, kept: str) -> None:
    """Another format, another shape, no session."""
    links.note_or_drop_unfinished_session(home_dir, project_dir, left_open(FIRST, tasks=1))
    [path] = Path(paths.carry_dir(home_dir), links.PROJECTS).iterdir()
    path.write_text(kept, encoding="utf-8")

    assert links.last_unfinished_session(home_dir, project_dir) is None


def test_what_is_old_goes_what_is_linked_runs_or_shared_stays(home_dir: str, world: Path) -> None:
    """A link may lead anywhere; a folder is as old as the youngest file in it."""
    outside = world / "outside"
    names = ["old", "young", "running", "empty", links.CLIENTS, links.PROJECTS]
    folders = {name: Path(paths.carry_dir(home_dir), name) for name in names}
    for name, folder in {**folders, "outside": outside}.items():
        folder.mkdir(parents=True)
        for file in () if name == "empty" else ("a", "b"):
            (folder / file).write_bytes(b"x")
            os.utime(folder / file, (1, 1))
        os.utime(folder, (1, 1))
    os.utime(folders["young"] / "b")
    folders["linked"] = Path(paths.carry_dir(home_dir), "linked")
    folders["linked"].symlink_to(outside)

    links.delete_old_session_folders(home_dir, "running", 3_600.0, float("-inf"))
    assert folders["old"].exists()
    links.delete_old_session_folders(home_dir, "running", 3_600.0, float("inf"))

    assert [name for name, folder in folders.items() if not folder.exists()] == ["old"]
    assert sorted(os.listdir(outside)) == ["a", "b"]


def test_where_there_is_nothing_to_go_on_from_nothing_is_looked_for(home_dir: str) -> None:
    """Neither without a transcript nor without a compaction; once is enough."""
    fresh, done = ledger.Ledger(FIRST), ledger.Ledger(FIRST)
    done.forked_from, done.adopted = SECOND, "-"

    assert links.merge_origin_into_fork(home_dir, fresh, "/no/such.jsonl") is False
    assert links.merge_origin_into_fork(home_dir, done, "/no/such.jsonl") is False
    done.adopted = ""
    assert links.merge_origin_into_fork(home_dir, done, None) is False
    assert links.merge_origin_into_fork(home_dir, done, "/no/such.jsonl") is True
    assert done.adopted


@pytest.mark.parametrize(
    ("left", "opening"),
    [
        ({}, "No open tasks were recorded there."),
        ({"tasks": None, "checks": 1}, "1 failed check was recorded there."),
        ({"tasks": 1_200}, "1200 open tasks were recorded there."),
        ({"checkpoint": "/c.md"}, "A checkpoint was recorded there."),
        ({"checkpoint": "/c.md", "tasks": 1}, "A checkpoint and 1 open task were recorded there."),
    ],
)
def test_a_past_session_is_a_line_for_each_reader(left: dict[str, Any], opening: str) -> None:
    """It needs no figures nor a message; each learns what they can do to go on from it."""
    model, person = links.past_session_texts("there", {"session": FIRST} | left)

    way = "read /c.md, or run" if "checkpoint" in left else "run"
    assert model == (
        f"[brimline] {opening} If the user wants to go on from there: {way} "
        f"`brimline carry card --session {FIRST}`."
    )
    assert person.endswith("recorded there. /brim:card goes on from there.")
    most = links._MESSAGE_CHARACTERS
    long, _ = links.past_session_texts("there", {"session": FIRST, "message": "x" * (most + 2)})
    assert f" The user's last message there: “{'x' * most}…” If" in long


def test_in_the_plugin_nobody_is_sent_to_a_command_that_it_has_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a file to read there is nothing to be done."""
    monkeypatch.setattr(paths, "is_plugin", lambda: True)

    told = [
        links.past_session_texts("there", {"session": FIRST, "tasks": 2} | left)
        for left in ({}, {"checkpoint": "/c.md"})
    ]

    assert told[0] == (
        "[brimline] 2 open tasks were recorded there.",
        "brimline: 2 open tasks were recorded there.",
    )
    assert told[1][0].endswith("If the user wants to go on from there: read /c.md.")
    assert told[1][1].endswith("recorded there. Ask Claude to go on from there.")


@pytest.mark.row("S4-35")
@pytest.mark.parametrize(
    ("asked", "later", "is_told"),
    [
        (False, {}, True),
        (False, {"tasks": {"1": ["completed", "all"]}}, False),
        (False, {"tasks": {"1": ["completed", "all"], "2": ["pending", "more"]}}, True),
        (True, {}, True),
        (True, {"tasks": {"1": ["completed", "all"]}}, False),
    ],
)
def test_a_checkpoint_is_something_open_until_all_is_done(
    asked: bool, later: dict[str, Any], is_told: bool, home_dir: str, project_dir: str
) -> None:
    """Whoever wrote it; told from when it is written, because a session may be killed."""
    record = left_open(FIRST)
    record.tasks = {}
    folder = Path(paths.carry_session_dir(home_dir, FIRST))
    folder.mkdir(parents=True)
    (folder / links.CHECKPOINT).write_text("# Checkpoint")
    links.note_or_drop_unfinished_session(home_dir, project_dir, record, asked=asked)
    assert links.last_unfinished_session(home_dir, project_dir)

    vars(record).update(later)
    links.note_or_drop_unfinished_session(home_dir, project_dir, record)

    assert bool(links.last_unfinished_session(home_dir, project_dir)) is is_told
    goes_on = left_open(SECOND)
    goes_on.previous = FIRST
    links.note_or_drop_unfinished_session(home_dir, project_dir, goes_on)
    assert links.last_unfinished_session(home_dir, project_dir) is None
