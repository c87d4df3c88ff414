"""The ledger is brought up to date from a transcript that grows, tears and gets rewritten."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from brimline import fastio, paths
from brimline.carry import items, lines, reading
from brimline.carry.fold import fold
from brimline.testing import SessionBuilder, text_block


def up_to_date(home_dir: str, session: SessionBuilder, **budget: Any) -> items.Ledger:
    """The ledger of a session."""
    return reading.bring_up_to_date(home_dir, session.session_id, session.path, **budget)


def rules(ledger: items.Ledger) -> list[str]:
    """The open rules in a ledger."""
    return [item.text for item in ledger.of(items.CONSTRAINT, status=items.OPEN)]


def count_folds(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The rows that are folded from now on."""
    folded: list[Any] = []

    def counting(ledger: items.Ledger, row: Any) -> None:
        folded.append(row)
        fold(ledger, row)

    monkeypatch.setattr(reading, "fold", counting)
    return folded


@pytest.mark.row("S2-19")
def test_only_what_is_new_is_read(
    home_dir: str, session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second time begins where the first one ended."""
    session.prompt("Never push to main.")
    up_to_date(home_dir, session)
    folded = count_folds(monkeypatch)
    session.prompt("Never tag a release.")

    ledger = up_to_date(home_dir, session)

    assert len(folded) == 1
    assert rules(ledger) == ["Never push to main.", "Never tag a release."]
    assert rules(reading.load(home_dir, session.session_id)) == rules(ledger)


def test_nothing_new_writes_nothing(home_dir: str, session: SessionBuilder) -> None:
    """The file stays the same file."""
    session.prompt("Never push to main.")
    up_to_date(home_dir, session)
    path = f"{paths.carry_session_dir(home_dir, session.session_id)}/{reading.LEDGER_FILE}"
    before = os.stat(path)

    up_to_date(home_dir, session)

    assert os.stat(path).st_ino == before.st_ino
    assert before.st_mode & 0o777 == 0o600


def test_a_session_without_a_file_has_what_was_known(
    home_dir: str, session: SessionBuilder
) -> None:
    """Before the first prompt there is no transcript, and it may be deleted later."""
    assert up_to_date(home_dir, session).items == {}

    session.prompt("Never push to main.")
    up_to_date(home_dir, session)
    os.unlink(session.path)
    assert rules(up_to_date(home_dir, session)) == ["Never push to main."]
    assert reading.bring_up_to_date(home_dir, session.session_id, None).items


def test_a_folder_in_the_place_of_the_file_is_no_transcript(home_dir: str, tmp_path: Path) -> None:
    """Whatever the client hands over."""
    assert reading.bring_up_to_date(home_dir, "s", str(tmp_path)).items == {}


def test_a_line_that_is_not_complete_is_read_again(home_dir: str, session: SessionBuilder) -> None:
    """It counts once it is whole, and once only."""
    session.prompt("Never push to main.")
    row = session.prompt("Never tag a release.")
    whole = Path(session.path).read_bytes()
    Path(session.path).write_bytes(whole[:-40])
    assert rules(up_to_date(home_dir, session)) == ["Never push to main."]

    Path(session.path).write_bytes(whole[:-1])
    assert len(rules(up_to_date(home_dir, session))) == 2

    Path(session.path).write_bytes(whole)
    ledger = up_to_date(home_dir, session)
    assert len(rules(ledger)) == 2
    assert ledger.items[next(reversed(ledger.items))].row == row["uuid"]


def test_broken_lines_foreign_bytes_and_two_rows_on_a_line_are_borne(
    home_dir: str, session: SessionBuilder
) -> None:
    """What can be read is read."""
    session.raw(b'{"type":"user","message":{"content":"Never st\xff\xfeop here."},"uuid":"u1"}\n')
    session.raw(b'{"type":"user", "mess\n\n[1, 2]\nnull\n')
    first = {"type": "user", "uuid": "u2", "message": {"content": "Never push to main."}}
    second = {"type": "user", "uuid": "u3", "message": {"content": "Never tag here."}}
    session.raw(f"{json.dumps(first)}{json.dumps(second)}\n")
    session.raw('{"type":"user","uuid":"u4","message":{"content":"Never say \\ud83d half."}}\n')

    ledger = up_to_date(home_dir, session)

    assert len(rules(ledger)) == 4
    assert rules(reading.load(home_dir, session.session_id)) == rules(ledger)


def test_a_line_that_is_too_long_is_passed_over(
    home_dir: str, session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without holding it in memory; what follows counts."""
    monkeypatch.setattr(lines, "LONGEST_LINE", 4_000)
    session.prompt("Never read this one. " + "x" * 5_000)
    session.prompt("Never push to main.")

    assert rules(up_to_date(home_dir, session)) == ["Never push to main."]


@pytest.mark.parametrize("budget", [None, 1 << 20])
def test_a_rewritten_transcript_is_noticed(
    home_dir: str, session: SessionBuilder, budget: int | None
) -> None:
    """Read anew from the start; under a budget what was known is kept beside it."""
    session.prompt("Never push to main.")
    session.prompt("Never tag a release.")
    up_to_date(home_dir, session)
    os.unlink(session.path)
    session.prompt("Never merge on Fridays, whatever they say.")

    ledger = up_to_date(home_dir, session, budget_bytes=budget)

    assert rules(ledger)[-1] == "Never merge on Fridays, whatever they say."
    assert len(rules(ledger)) == (1 if budget is None else 3)


def test_a_transcript_that_was_cut_short_is_noticed(home_dir: str, session: SessionBuilder) -> None:
    """The place that was reached is beyond its end."""
    session.prompt("Never push to main.")
    length = os.stat(session.path).st_size
    session.prompt("Never tag a release.")
    up_to_date(home_dir, session)
    os.truncate(session.path, length)

    assert rules(up_to_date(home_dir, session)) == ["Never push to main."]


def document(**changes: Any) -> bytes:
    """A ledger's file with something wrong in it."""
    whole = {"v": 1, "session": "s", "items": [], "folded": {}, "compactions": 0, "previous": None}
    return json.dumps(whole | {"state": {}} | changes).encode()


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe\x00",
        document(v=99),
        document(items=[{"kind": "task"}]),
        document(items=[{"kind": "task", "text": 4, "source": "user"}]),
        document(items=[{"kind": "unheard-of", "text": "x", "source": "user"}]),
        document(state=[]),
        document(state={"seen": 4}),
        document(state={"calls": []}),
        document(folded=[]),
        document(compactions="two"),
    ],
)
def test_a_damaged_ledger_is_built_again(
    home_dir: str, session: SessionBuilder, damage: bytes
) -> None:
    """From the transcript, as if there had been none."""
    session.prompt("Never push to main.")
    up_to_date(home_dir, session)
    path = f"{paths.carry_session_dir(home_dir, session.session_id)}/{reading.LEDGER_FILE}"
    Path(path).write_bytes(damage)

    assert rules(up_to_date(home_dir, session)) == ["Never push to main."]


def fill(session: SessionBuilder, count: int) -> None:
    """Rows of about a kilobyte."""
    for number in range(count):
        session.reply(20_000, text_block(f"Reply {number}. " + "Words go on here. " * 20))


def test_under_a_budget_the_end_is_read_and_the_rest_noted(
    home_dir: str, session: SessionBuilder
) -> None:
    """The ledger says how much it does not know."""
    session.prompt("Never read this.")
    fill(session, 100)
    session.prompt("Never push to main.")

    ledger = up_to_date(home_dir, session, budget_bytes=20_000)

    assert rules(ledger) == ["Never push to main."]
    size = os.stat(session.path).st_size
    assert size - 20_000 <= ledger.state["unread_bytes"] <= size - 19_000
    assert ledger.state["cursor"]["offset"] == size


def test_of_what_lies_further_back_only_what_people_said_is_read(
    home_dir: str, session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what became of tasks, plans and questions: that is cheap."""
    monkeypatch.setattr(reading, "_WHOLE_BYTES", 5_000)
    session.prompt("Never push to main.")
    session.reply(20_000, text_block("The port of the old box is 8443."))
    call = session.tool_call(20_000, "TaskCreate", subject="Port it", description="")
    block = {"type": "tool_result", "tool_use_id": call, "content": "Task #1 created successfully"}
    session.row(
        "user",
        message={"role": "user", "content": [block]},
        toolUseResult={"task": {"id": "1", "subject": "Port it"}},
    )
    fill(session, 30)
    session.reply(20_000, text_block("The port of the new box is 9443."))

    ledger = up_to_date(home_dir, session, budget_bytes=1 << 20)

    assert rules(ledger) == ["Never push to main."]
    assert [item.text for item in ledger.of(items.TASK)] == ["Port it"]
    facts = [item.text for item in ledger.of(items.FACT)]
    assert "The port of the new box is 9443." in facts
    assert "The port of the old box is 8443." not in facts
    assert "unread_bytes" not in ledger.state


def test_a_budget_of_nothing_reads_nothing_and_skips_nothing(
    home_dir: str, session: SessionBuilder
) -> None:
    """What is there is loaded; the new rows come another time."""
    session.prompt("Never push to main.")
    assert up_to_date(home_dir, session, budget_bytes=0).items == {}
    assert rules(up_to_date(home_dir, session)) == ["Never push to main."]


def test_once_time_is_up_only_the_end_is_read(
    home_dir: str, session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was said last matters most."""
    monkeypatch.setattr(reading, "_ROWS_BETWEEN_BOUNDS", 10)
    monkeypatch.setattr(reading, "_LAST_BYTES", 10_000)
    fill(session, 60)
    session.prompt("Never read this either.")
    fill(session, 60)
    session.prompt("Never push to main.")

    ledger = up_to_date(home_dir, session, budget_s=0)

    assert rules(ledger) == ["Never push to main."]
    assert ledger.state["unread_bytes"] > 10_000


def test_a_ledger_that_cannot_be_saved_is_told_or_raised(
    home_dir: str, session: SessionBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk loses the file, not the ledger in hand."""

    def full(path: str, data: bytes) -> None:
        raise OSError("only part of it fitted on the disk")

    monkeypatch.setattr(fastio, "replace_file", full)
    session.prompt("Never push to main.")
    told: list[OSError] = []

    assert rules(up_to_date(home_dir, session, unsaved=told.append)) == ["Never push to main."]
    assert len(told) == 1
    with pytest.raises(OSError, match="fitted on the disk"):
        up_to_date(home_dir, session)


def test_two_at_once_leave_a_sound_ledger(home_dir: str, session: SessionBuilder) -> None:
    """Whichever writes last, the next reading has everything."""
    for number in range(50):
        session.prompt(f"Never delete table number {number}.")
    code = (
        "import sys; from brimline.carry import reading;"
        "reading.bring_up_to_date(sys.argv[1], sys.argv[2], sys.argv[3])"
    )
    command = [sys.executable, "-c", code, home_dir, session.session_id, session.path]
    running = [subprocess.Popen(command) for _ in range(4)]

    assert [process.wait(60) for process in running] == [0] * 4
    assert len(rules(reading.load(home_dir, session.session_id))) == 50
    session.prompt("Never push to main.")
    assert len(rules(up_to_date(home_dir, session))) == 51


def test_a_session_id_never_becomes_a_path(home_dir: str, session: SessionBuilder) -> None:
    """It is foreign text."""
    session.prompt("Never push to main.")

    reading.bring_up_to_date(home_dir, "../../etc/passwd", session.path)

    assert os.listdir(f"{home_dir}/carry") == ["etcpasswd"]


@pytest.mark.row("S4-35")
def test_the_ledger_outlives_compactions_and_resumes(
    home_dir: str, session: SessionBuilder
) -> None:
    """Rules and tasks from before a compaction are there after the next one."""
    session.prompt("Never push to main. TODO: write the changelog")
    session.compact(150_000)
    up_to_date(home_dir, session)
    session.prompt("Never tag a release.")
    session.compact(150_000)

    ledger = up_to_date(home_dir, session)

    assert ledger.compactions == 2
    assert rules(ledger) == ["Never push to main.", "Never tag a release."]
    assert [item.text for item in ledger.of(items.TASK)] == ["TODO: write the changelog"]


def test_memory_does_not_grow_with_the_session(home_dir: str, session: SessionBuilder) -> None:
    """The ledger's file stays small after thousands of rows that all say something."""
    for number in range(3_000):
        session.prompt(f"Never touch file_{number}.py again, table {number % 7} depends on it.")

    ledger = up_to_date(home_dir, session)

    path = f"{paths.carry_session_dir(home_dir, session.session_id)}/{reading.LEDGER_FILE}"
    assert len(ledger.items) <= 400
    assert os.stat(path).st_size < 300_000
    assert ledger.folded == {}
