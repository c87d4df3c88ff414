"""`brimline carry`: look at a ledger, add to it, print its card, write its checkpoint."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline import fastio, paths
from brimline.carry import items, links, notes, reading
from brimline.testing import SessionBuilder, text_block

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Outcome

SESSION = "1f0c2d3e-aaaa-4bbb-8ccc-000000000001"
OTHER = "7c1e90aa-bbbb-4ccc-8ddd-000000000002"
RULE = "Never touch the billing tables."


def conversation(project_dir: str, name: str = SESSION) -> SessionBuilder:
    """A session in the client's folder, with a goal, a rule and a task."""
    path = f"{paths.project_transcripts(project_dir)}/{name}.jsonl"
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


def listed(brimline: Callable[..., Outcome], *arguments: str) -> dict[str, Any]:
    """The ledger as JSON."""
    found: dict[str, Any] = json.loads(brimline("carry", "show", "--json", *arguments).out)
    return found


def test_the_ledger_of_the_newest_session_is_listed_by_kind(
    brimline: Callable[..., Outcome],
) -> None:
    """What the user said stands there in their own words, with an id to name it by."""
    done = brimline("carry", "show")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Session {SESSION}\n")
    assert "\nConstraints\n" in done.out
    (line,) = [line for line in done.out.splitlines() if line.endswith(RULE)]
    assert len(line.split()[0]) == 8


def test_the_ledger_as_json_has_stable_keys(brimline: Callable[..., Outcome]) -> None:
    """What is closed or only a prompt is left out unless it is asked for."""
    found = listed(brimline)
    every = listed(brimline, "--all")

    assert list(found) == [
        "session_id",
        "previous_session_id",
        "compactions",
        "folded",
        "item_count",
        "items",
    ]
    assert list(found["items"][0]) == ["id", "kind", "status", "text", "source", "at", "extra"]
    assert {one["kind"] for one in found["items"]} & {items.PROMPT} == set()
    assert every["item_count"] == len(every["items"]) >= len(found["items"])


def test_what_is_added_is_carried_until_it_is_done(brimline: Callable[..., Outcome]) -> None:
    """It comes into the card, is marked as done by words of it, and then counts as finished."""
    added = brimline("carry", "add", "task", "Ask Zoë about the índice 🚀")
    card = brimline("carry", "card").out
    marked = brimline("carry", "done", "ZOË about")

    assert added.out.split("  ")[1] == "task: Ask Zoë about the índice 🚀\n"
    assert "Ask Zoë about the índice 🚀" in card
    assert marked.out.split("  ")[1] == "done: Ask Zoë about the índice 🚀\n"
    assert "Ask Zoë about the índice 🚀 (done)" in brimline("carry", "card").out
    assert "Zoë" not in brimline("carry", "show").out


def test_an_item_is_known_by_its_id(brimline: Callable[..., Outcome]) -> None:
    """Adding the same thing again says so and leaves one of it."""
    first = json.loads(brimline("carry", "add", "note", "Port 5433", "--json").out)
    second = json.loads(brimline("carry", "add", "note", "Port 5433", "--json").out)

    assert (first["known"], second["known"]) == (False, True)
    assert first["id"] == second["id"]
    assert brimline("carry", "done", first["id"]).code == 0
    assert [one["text"] for one in listed(brimline)["items"]].count("Port 5433") == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("done", "nothing like it"), "no item 'nothing like it' is known"),
        (("done", ""), "no item '' is known"),
        (("done", "import"), "name one by its id"),
        (("add", "note", "  "), "there is nothing to write down"),
        (("show", "--session", "ffff"), "no session 'ffff' is known"),
        (("show", "--session", "../x"), "is no session id"),
        (("forget",), "name an ITEM to forget, or a --session"),
        (("forget", RULE), "add --yes"),
        (("forget", "--session", SESSION), "add --yes"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(
    brimline: Callable[..., Outcome],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    sentence: str,
) -> None:
    """With a code that is not zero and nothing on standard output."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    brimline("carry", "add", "note", "the import of May")
    brimline("carry", "show")

    done = brimline("carry", *arguments)

    assert done.code != 0
    assert done.out == ""
    assert sentence in done.err
    assert done.err.count("\n") == 1


def test_an_unknown_kind_is_refused(brimline: Callable[..., Outcome]) -> None:
    """The kinds that can be written are named."""
    done = brimline("carry", "add", "prompt", "x")

    assert done.code == 2
    assert "'constraint'" in done.err


def test_a_forgotten_item_stays_away(
    brimline: Callable[..., Outcome], session: SessionBuilder
) -> None:
    """Also when the session goes on."""
    assert brimline("carry", "forget", RULE, "--yes").code == 0
    session.prompt("Now the documentation, please.")

    assert RULE not in brimline("carry", "card").out
    assert RULE not in [one["text"] for one in listed(brimline, "--all")["items"]]


def test_a_person_is_asked_before_something_is_forgotten(
    brimline: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal a no leaves everything as it was."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))

    done = brimline("carry", "forget", RULE)

    assert done.code == 1
    assert RULE in brimline("carry", "card").out


def test_a_whole_session_can_be_forgotten(
    brimline: Callable[..., Outcome], home_dir: str, project_dir: str
) -> None:
    """Ledger, notes, checkpoint and links go; other sessions stay."""
    conversation(project_dir, OTHER)
    for name in (SESSION, OTHER):
        brimline("carry", "add", "note", "kept", "--session", name)
        brimline("carry", "checkpoint", "--session", name)
    links.note_unfinished(home_dir, project_dir, reading.load(home_dir, SESSION))
    links.note_client(home_dir, "4711", SESSION)

    done = brimline("carry", "forget", "--session", SESSION, "--yes", "--json")

    assert set(json.loads(done.out)["files"]) >= {"ledger.json", "notes.jsonl", "checkpoint.md"}
    assert not Path(home_dir, "carry", SESSION).exists()
    assert Path(home_dir, "carry", OTHER, "notes.jsonl").exists()
    assert links.unfinished(home_dir, project_dir) is None
    assert links.session_of_client(home_dir, "4711") is None


def test_the_card_is_within_its_limit_and_the_same_every_time(
    brimline: Callable[..., Outcome],
) -> None:
    """It begins as all of our texts do."""
    for number in range(200):
        notes.add(
            paths.home(), SESSION, items.Item(items.FACT, f"Value {number}: {number * 7919}", "x")
        )

    first, second = brimline("carry", "card").out, brimline("carry", "card").out

    assert first == second
    assert first.startswith("[brimline card]")
    assert RULE in first
    assert len(first.rstrip("\n")) <= 9_000


@pytest.mark.row("S4-35")
def test_after_clear_the_card_is_that_of_the_conversation_before(
    brimline: Callable[..., Outcome],
    home_dir: str,
    project_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the link that the hook made; by its own id a session shows its own."""
    brimline("carry", "show")
    reading.save(home_dir, items.Ledger(OTHER, previous=SESSION))
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", OTHER)

    before = json.loads(brimline("carry", "card", "--json").out)
    own = json.loads(brimline("carry", "card", "--session", OTHER, "--json").out)

    assert before["session_id"] == SESSION
    assert RULE in before["card"]
    assert own == {"session_id": OTHER, "card": "", "characters": 0}


def test_a_session_without_a_link_gets_the_unfinished_one_of_its_project(
    brimline: Callable[..., Outcome],
    home_dir: str,
    project_dir: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A session that was just begun has nothing of its own to show."""
    brimline("carry", "add", "task", "Write the migration")
    ledger = notes.merged(home_dir, reading.load(home_dir, SESSION))
    links.note_unfinished(home_dir, project_dir, ledger)
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", OTHER)

    assert "Write the migration" in brimline("carry", "card").out
    assert "Nothing is known of session" not in brimline("carry", "card").out


def test_links_in_a_circle_come_to_an_end(
    brimline: Callable[..., Outcome], home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sessions that name each other have no card, and say so."""
    ids = ("aaaa1111", "bbbb2222")
    reading.save(home_dir, items.Ledger(ids[0], previous=ids[1]))
    reading.save(home_dir, items.Ledger(ids[1], previous=ids[0]))
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", ids[0])

    assert brimline("carry", "card").out == "Nothing is known of session aaaa1111 yet.\n"


@pytest.mark.row("S4-25")
def test_a_checkpoint_is_written_on_demand(brimline: Callable[..., Outcome], home_dir: str) -> None:
    """Its path is printed; the file is for people and holds what was said."""
    done = brimline("carry", "checkpoint")

    path = done.out.strip()
    assert (done.code, done.err) == (0, "")
    assert path == f"{home_dir}/carry/{SESSION}/checkpoint.md"
    assert RULE in Path(path).read_text(encoding="utf-8")
    report = json.loads(brimline("carry", "checkpoint", "--json").out)
    assert list(report) == ["session_id", "path", "items", "files"]
    assert report["items"] > 0


def test_a_critical_file_that_is_missing_is_told(
    brimline: Callable[..., Outcome], home_dir: str, project_dir: str
) -> None:
    """The checkpoint is written all the same."""
    fastio.replace_file(
        paths.user_config(home_dir), b'[carry]\ncritical_files = ["plan.md", "gone.md"]\n'
    )
    Path(project_dir, "plan.md").write_text("the plan", encoding="utf-8")

    done = brimline("carry", "checkpoint")

    assert done.code == 0
    assert done.out.splitlines()[1:] == [
        f"not kept: {project_dir}/gone.md: No such file or directory"
    ]


def test_a_checkpoint_that_cannot_be_written_is_told(
    brimline: Callable[..., Outcome], home_dir: str
) -> None:
    """A file where the folder should be stands in for a disk that refuses."""
    brimline("carry", "show")
    folder = f"{home_dir}/carry/{SESSION}"
    os.mkdir(f"{folder}/checkpoint.md")

    done = brimline("carry", "checkpoint")

    assert done.code == 1
    assert "could not be saved" in done.err
    assert done.err.count("\n") == 1


def test_a_session_is_found_by_the_start_of_its_id(
    brimline: Callable[..., Outcome], project_dir: str
) -> None:
    """Where it fits several, more of it is asked for."""
    conversation(project_dir, SESSION[:-1] + "9")

    assert listed(brimline, "--session", SESSION)["session_id"] == SESSION
    done = brimline("carry", "show", "--session", "1f0c2d3e")
    assert "2 sessions begin with '1f0c2d3e'" in done.err


def test_without_any_session_the_way_out_is_named(
    brimline: Callable[..., Outcome], session: SessionBuilder
) -> None:
    """A project that never had one."""
    os.unlink(session.path)

    done = brimline("carry", "show")

    assert done.code == 1
    assert "no session of this project was found" in done.err


def test_a_folder_that_cannot_be_written_is_one_sentence(
    brimline: Callable[..., Outcome], home_dir: str
) -> None:
    """A file in the place of the data folder."""
    os.makedirs(home_dir)
    Path(home_dir, "carry").write_bytes(b"")

    done = brimline("carry", "add", "note", "x")

    assert done.code == 1
    assert done.err.startswith("brimline: ")
    assert done.err.count("\n") == 1
