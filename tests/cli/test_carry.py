"""`brimline carry`: see what is recorded, add to it, print the card, write the checkpoint."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.carry import ledger, links
from brimline.cli import carry_commands
from brimline.fast import paths
from brimline.fast.io import replace_file
from brimline.testing import SessionBuilder, text_block

if TYPE_CHECKING:
    from .conftest import Refused, Run

SESSION = "1f0c2d3e-aaaa-4bbb-8ccc-000000000001"
OTHER = "7c1e90aa-bbbb-4ccc-8ddd-000000000002"
RULE = "Never touch the billing tables."


def conversation(project_dir: str, name: str = SESSION) -> SessionBuilder:
    """A session in the client's folder, with a rule and a task."""
    path = f"{paths.project_transcripts_dir(project_dir)}/{name}.jsonl"
    session = SessionBuilder(path, session_id=name, cwd=project_dir)
    session.prompt(f"Make the nightly import faster. {RULE}")
    call = session.tool_call(40_000, "TaskCreate", subject="Write the regression test")
    session.tool_result(call, "Task #1 created successfully: Write the regression test")
    session.reply(41_000, text_block("I will look at the importer first."))
    return session


@pytest.fixture(autouse=True)
def session(project_dir: str) -> SessionBuilder:
    """The newest session of the project."""
    return conversation(project_dir)


def listed(brimline: Run, *arguments: str) -> dict[str, Any]:
    """What is recorded, as JSON."""
    found: dict[str, Any] = brimline("carry", "show", "--json", *arguments).document
    return found


def test_what_is_recorded_of_the_newest_session_is_listed(brimline: Run) -> None:
    """The user's words stand there with an id to name them by."""
    done = brimline("carry", "show")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Session {SESSION}\n")
    assert "\nTasks\n  pending: Write the regression test\n" in done.out
    (line,) = [line for line in done.out.splitlines() if line.endswith(RULE)]
    assert len(line.split()[0]) == 8
    found = listed(brimline)
    assert found["session_id"] == SESSION
    assert list(found["messages"][0]) == ["at", "kind", "text", "id"]
    assert {"notes", "tasks", "plan", "changed", "read", "commits", "checks"} <= set(found)


def test_a_long_path_keeps_its_end_and_no_line_is_too_wide(
    session: SessionBuilder, brimline: Run
) -> None:
    """Files, checks, notes, messages, tasks."""
    folder = "/home/dev/" + "a-very-long-folder/" * 6
    for number in range(2):
        call = session.tool_call(
            42_000, "Write", file_path=f"{folder}file{number}.py", content="x = 1\n"
        )
        session.tool_result(call, "File created successfully")
    call = session.tool_call(43_000, command=f"pytest {folder}tests " + "-k something " * 9)
    session.tool_result(call, "1 passed in 0.1s")
    session.prompt("word " * 60)
    brimline("carry", "add", "word " * 60)

    lines = brimline("carry", "show").out.splitlines()

    assert max(map(len, lines)) <= 80
    assert [line[-8:] for line in lines if line.startswith("  …")] == ["file0.py", "file1.py"]
    assert [line for line in lines if line.startswith("  pytest") and line.endswith(": passed")]


def test_a_note_is_handed_on_until_it_is_done_and_again_when_reopened(brimline: Run) -> None:
    """By its id alone; adding the same words again leaves one of it."""
    added = brimline("carry", "add", "Ask Zoë about the índice 🚀", "--json").document
    again = brimline("carry", "add", "Ask Zoë about the índice 🚀", "--json").document
    brimline("carry", "add", "--decision", "Signed cookies: no store to run.")
    assert added["id"] == again["id"]
    assert "- keep: Ask Zoë about the índice 🚀\n" in brimline("carry", "card").out
    assert "- decided: Signed cookies: no store to run.\n" in brimline("carry", "card").out

    assert brimline("carry", "done", added["id"]).code == 0
    assert "Zoë" not in brimline("carry", "card").out
    assert "(done)" in brimline("carry", "show").out

    assert brimline("carry", "reopen", added["id"]).code == 0
    assert "Zoë" in brimline("carry", "card").out

    assert brimline("carry", "done", added["id"]).code == 0
    brimline("carry", "add", "Ask Zoë about the índice 🚀")
    assert "Zoë" in brimline("carry", "card").out


def test_a_secret_is_masked_before_it_is_written_and_the_id_is_the_one_that_is_kept(
    brimline: Run, home_dir: str
) -> None:
    """Nothing of it is on the disk or on the screen."""
    secret = "ghp_" + "Q" * 36

    done = brimline("carry", "add", f"deploy with {secret}")

    assert secret not in done.out
    assert secret not in Path(home_dir, "carry", SESSION, "notes.jsonl").read_text("utf-8")
    assert brimline("carry", "done", done.out.split()[0]).code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("done", "Port 5433"), "no note 'Port 5433' is known"),
        (("done", ""), "no note '' is known"),
        (("reopen", "00000000"), "no note '00000000' is known"),
        (("add", "  "), "there is nothing to write down"),
        (("show", "--session", "ffff"), "no session 'ffff' is known"),
        (("show", "--session", "../x"), "no session '../x' is known"),
        (("forget", RULE), "no note or message"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(
    brimline: Run, refused: Refused, arguments: tuple[str, ...], sentence: str
) -> None:
    """With a code that is not zero and nothing on standard output; words never match a note."""
    brimline("carry", "add", "Port 5433")

    assert sentence in refused("carry", *arguments)


def test_a_forgotten_message_stays_away(brimline: Run, session: SessionBuilder) -> None:
    """Also when the session goes on; without --yes a person is asked, and no means no."""
    message = listed(brimline)["messages"][0]["id"]

    assert brimline("carry", "forget", message, typed="n\n").code == 1
    assert RULE in brimline("carry", "card").out

    assert brimline("carry", "forget", message, "--yes").code == 0
    session.prompt("Now the documentation, please.")
    assert RULE not in brimline("carry", "card").out
    kept = Path(paths.carry_session_dir(paths.data_dir(), SESSION), "ledger.json")
    assert RULE not in kept.read_text(encoding="utf-8")


@pytest.mark.row("S4-35")
def test_after_clear_the_card_is_that_of_the_conversation_before_and_then_its_own(
    brimline: Run, home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked for within the new session, what it says is carried on from there."""
    brimline("carry", "show")
    record = ledger.Ledger(OTHER)
    record.previous = SESSION
    ledger.save(home_dir, record)

    alone = brimline("carry", "card", "--session", OTHER, "--json").document
    assert alone == {"session_id": OTHER, "card": "", "characters": 0}

    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", OTHER)
    before = brimline("carry", "card", "--json").document
    assert before["session_id"] == SESSION
    assert RULE in before["card"]

    own = brimline("carry", "card", "--session", OTHER, "--json").document
    assert RULE in own["card"]
    assert "Write the regression test" in own["card"]


def test_a_session_without_a_link_gets_the_unfinished_one_of_its_project(
    brimline: Run, home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that was just begun has nothing of its own to show."""
    brimline("carry", "show")
    links.note_or_drop_unfinished_session(home_dir, project_dir, ledger.load(home_dir, SESSION))
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", OTHER)

    assert "Write the regression test" in brimline("carry", "card").out


@pytest.mark.row("S4-25")
def test_a_checkpoint_is_written_on_demand(
    brimline: Run, refused: Refused, home_dir: str, project_dir: str
) -> None:
    """Its path is printed; a critical file that is missing, or a disk that refuses, is told."""
    config = b'[carry]\ncritical_files = ["plan.md", "gone.md"]\n'
    replace_file(paths.user_config(home_dir), config)
    Path(project_dir, "plan.md").write_text("the plan", encoding="utf-8")

    done = brimline("carry", "checkpoint")

    path, *others = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert path == f"{home_dir}/carry/{SESSION}/checkpoint.md"
    text = Path(path).read_text(encoding="utf-8")
    assert RULE in text
    assert "- tokens in use: 41,000" in text
    assert others == [f"not kept: {project_dir}/gone.md: No such file or directory"]
    report = brimline("carry", "checkpoint", "--json").document
    assert list(report) == ["session_id", "path", "files"]
    os.unlink(path)
    os.mkdir(path)  # stands in for a disk that refuses
    assert "could not be saved" in refused("carry", "checkpoint")


def test_a_record_is_told_by_titles_that_have_something_below_them() -> None:
    """Each entry on a line of eighty characters at most; an empty record says so."""
    record = ledger.Ledger("abc")
    nothing = carry_commands._ledger_text(record)
    record.previous = "before"
    ledger.add_or_renew_note(record, ledger.KEEP, "k" * 90, None)
    ledger.add_or_renew_note(record, ledger.DECIDE, "short", None)
    list(record.notes.values())[1]["done"] = True
    ledger.add_message(record, "m" * 68, None, "prompt")
    ledger.add_message(record, "m" * 69, None, "prompt")
    ledger.add_message(record, "first\n" + "x\n" * 20, None, "prompt")
    record.tasks = {"1": ["pending", "t" * 61]}
    record.commits, record.pulls = [["1234567", "subject"]], ["https://x.y/" + "p" * 67]
    record.checks = {"a": {"command": "make", "result": "result unknown (piped)"}}
    record.changed, record.plan = {"/p/" + "c" * 75: 1, "/p/" + "c" * 76: 1}, "/plan.md"

    sections = carry_commands._ledger_text(record).split("\n\n")
    ids = [note["id"] for note in record.notes.values()] + [one["id"] for one in record.messages]

    assert nothing == "Session abc\nNothing is known yet."
    assert [section.split("\n") for section in sections] == [
        ["Session abc", "goes on from before"],
        [
            "Notes",
            f"  {ids[0]}  keep: {'k' * 61}…",
            f"  {ids[1]}  decide: short (done)",
        ],
        ["Tasks", f"  pending: {'t' * 59}…"],
        ["Plan", "  /plan.md"],
        ["Commits", "  1234567 subject"],
        ["Pull requests", f"  https://x.y/{'p' * 65}…"],
        ["Checks", "  make: result unknow…"],
        ["Files changed", f"  /p/{'c' * 75}", f"  …/{'c' * 76}"],
        [
            "Messages of the user",
            f"  {ids[2]}  {'m' * 68}",
            f"  {ids[3]}  {'m' * 67}…",
            f"  {ids[4]}  first [first line of 46 characters]",
        ],
    ]
