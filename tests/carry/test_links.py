"""Which session goes on from which, and what the next session is told of the last."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

import pytest

from brimline import fastio, paths
from brimline.carry import items, links

SESSION = "1f0c2d3e-aaaa-4bbb-8ccc-000000000001"
OTHER = "7c1e90aa-bbbb-4ccc-8ddd-000000000002"


def ledger_of(session: str, *statuses: str) -> items.Ledger:
    """A ledger with a goal and tasks of some states."""
    ledger = items.Ledger(session)
    ledger.add(items.Item(items.GOAL, "Make the\nimport faster " + "x" * 300, items.USER))
    for number, status in enumerate(statuses):
        ledger.add(items.Item(items.TASK, f"Task {number}", items.TOOL, status=status))
    return ledger


def test_a_client_is_known_by_its_process(home_dir: str) -> None:
    """After `/clear` the same process runs another session."""
    links.note_client(home_dir, "4711", SESSION)
    before = links.session_of_client(home_dir, "4711")
    links.note_client(home_dir, "4711", OTHER)

    assert before == SESSION
    assert links.session_of_client(home_dir, "4711") == OTHER
    assert links.session_of_client(home_dir, "4712") is None


@pytest.mark.parametrize("pid", [None, "", "abc", "../x", "1" * 40, "-5", "٣", "1\n"])
def test_a_process_number_is_foreign_text(home_dir: str, pid: str | None) -> None:
    """What is none is neither written nor looked for."""
    links.note_client(home_dir, pid, SESSION)

    assert links.session_of_client(home_dir, pid) is None
    assert not Path(home_dir).exists()


@pytest.mark.parametrize("damage", [b"", b"\n", b"../../x", b"\xff\xfe", b"a b"])
def test_a_damaged_link_leads_nowhere(home_dir: str, damage: bytes) -> None:
    """Nothing but an id of a session counts."""
    links.note_client(home_dir, "4711", SESSION)
    Path(home_dir, "carry", "clients", "4711").write_bytes(damage)

    assert links.session_of_client(home_dir, "4711") is None


def test_a_number_that_was_given_out_again_does_not_link(home_dir: str) -> None:
    """Notes of clients that ran weeks ago are not believed, and cleared away."""
    links.note_client(home_dir, "4711", SESSION)
    path = Path(home_dir, "carry", "clients", "4711")
    old = time.time() - 20 * 86_400
    os.utime(path, (old, old))

    assert links.session_of_client(home_dir, "4711") is None
    links.note_client(home_dir, "4712", OTHER)
    assert not path.exists()
    assert links.session_of_client(home_dir, "4712") == OTHER


def test_an_unfinished_session_is_known_to_its_project(home_dir: str, project_dir: str) -> None:
    """With its goal on one line, and how much is left."""
    ledger = ledger_of(SESSION, items.OPEN, items.OPEN, items.DONE)
    ledger.add(items.Item(items.ERROR, "it fails", items.TOOL))

    links.note_unfinished(home_dir, project_dir, ledger)

    found = links.unfinished(home_dir, project_dir)
    assert found is not None
    assert (found["session"], found["tasks"], found["errors"]) == (SESSION, 2, 1)
    assert found["goal"].startswith("Make the import faster")
    assert len(found["goal"]) == 160
    assert links.unfinished(home_dir, "/elsewhere") is None


def test_a_finished_session_takes_back_its_own_note_only(home_dir: str, project_dir: str) -> None:
    """Another one's stays."""
    links.note_unfinished(home_dir, project_dir, ledger_of(SESSION, items.OPEN))
    links.note_unfinished(home_dir, project_dir, ledger_of(OTHER, items.DONE))
    assert links.unfinished(home_dir, project_dir) is not None

    links.note_unfinished(home_dir, project_dir, ledger_of(SESSION, items.DONE))
    assert links.unfinished(home_dir, project_dir) is None


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"v": 1}', b'{"v": 1, "session": 7}'])
def test_a_damaged_note_of_a_project_counts_as_none(
    home_dir: str, project_dir: str, damage: bytes
) -> None:
    """The next session simply begins."""
    links.note_unfinished(home_dir, project_dir, ledger_of(SESSION, items.OPEN))
    (path,) = Path(home_dir, "carry", "projects").iterdir()
    path.write_bytes(damage)

    assert links.unfinished(home_dir, project_dir) is None
    links.note_unfinished(home_dir, project_dir, ledger_of(OTHER, items.DONE))


@pytest.mark.row("S4-35")
@pytest.mark.parametrize("cleared", [True, False])
def test_the_pointer_has_three_lines_and_names_the_way(
    home_dir: str, project_dir: str, cleared: bool
) -> None:
    """It says what there is to go on from, without going on from it."""
    ledger = ledger_of(SESSION, items.OPEN)
    links.note_unfinished(home_dir, project_dir, ledger)
    found = links.unfinished(home_dir, project_dir)
    assert found is not None

    text = links.pointer(found, cleared=cleared)

    assert text.startswith("[brimline] ")
    assert len(text.split("\n")) == 3
    assert "1 open task" in text
    assert f"brimline carry card --session {SESSION}" in text
    assert ("before /clear" in text) is cleared


def test_forgetting_a_session_removes_its_links(home_dir: str, project_dir: str) -> None:
    """Those of others stay."""
    links.note_client(home_dir, "1", SESSION)
    links.note_client(home_dir, "2", OTHER)
    links.note_unfinished(home_dir, project_dir, ledger_of(SESSION, items.OPEN))
    links.note_unfinished(home_dir, "/elsewhere", ledger_of(OTHER, items.OPEN))

    links.forget(home_dir, SESSION)

    assert links.session_of_client(home_dir, "1") is None
    assert links.session_of_client(home_dir, "2") == OTHER
    assert links.unfinished(home_dir, project_dir) is None
    assert links.unfinished(home_dir, "/elsewhere") is not None


@pytest.mark.row("S4-46")
def test_what_is_carried_goes_a_month_after_its_session(home_dir: str) -> None:
    """The running session and the links of others stay."""
    for name in ("old", "young", "running"):
        fastio.replace_file(f"{paths.carry_session_dir(home_dir, name)}/ledger.json", b"{}")
        links.note_client(home_dir, str(len(name)), name)
    for name in ("old", "running"):
        folder = paths.carry_session_dir(home_dir, name)
        for path in (f"{folder}/ledger.json", folder):
            os.utime(path, (1_000, 1_000))

    links.retire(home_dir, "running", 30 * 86_400, math.inf)

    assert sorted(os.listdir(paths.carry_dir(home_dir))) == ["clients", "running", "young"]
    assert links.session_of_client(home_dir, "3") is None
    assert links.session_of_client(home_dir, "5") == "young"
