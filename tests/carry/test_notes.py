"""What is added to a ledger beside its transcript, and how it is merged over it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from brimline.carry import items, notes
from brimline.store import read

SESSION = "1f0c2d3e-aaaa-4bbb-8ccc-000000000001"
OTHER = "7c1e90aa-bbbb-4ccc-8ddd-000000000002"


def ledger_of(*found: items.Item) -> items.Ledger:
    """A ledger as the transcript tells it."""
    ledger = items.Ledger(SESSION)
    for item in found:
        ledger.add(item)
    return ledger


def task(text: str, status: str = items.OPEN) -> items.Item:
    """A task that a tool has told of."""
    return items.Item(items.TASK, text, items.TOOL, status=status)


def test_without_notes_a_ledger_is_what_it_was(home_dir: str) -> None:
    """Nothing is written for looking."""
    ledger = ledger_of(task("one"))

    assert notes.merged(home_dir, ledger).items == ledger_of(task("one")).items
    assert not Path(home_dir).exists()


def test_notes_are_merged_in_the_order_they_were_made(home_dir: str) -> None:
    """Added, done, forgotten, and added again."""
    own = items.Item(items.NOTE, "Zoë asked for it 🚀", items.PERSON)
    notes.add(home_dir, SESSION, own)
    notes.close(home_dir, SESSION, task("one").id, items.DONE)
    notes.forget(home_dir, SESSION, task("two").id)
    notes.forget(home_dir, SESSION, own.id)
    notes.add(home_dir, SESSION, own)

    found = notes.merged(home_dir, ledger_of(task("one"), task("two")))

    assert [(item.text, item.status) for item in found.items.values()] == [
        ("one", items.DONE),
        ("Zoë asked for it 🚀", items.OPEN),
    ]
    assert found.items[own.id].at is not None


def test_merging_twice_changes_nothing(home_dir: str) -> None:
    """A ledger that was saved with its notes is merged with them again."""
    notes.add(home_dir, SESSION, items.Item(items.NOTE, "a note", items.PERSON))
    notes.close(home_dir, SESSION, task("one").id, items.CANCELLED)
    once = notes.merged(home_dir, ledger_of(task("one")))
    before = items.to_document(once)

    assert items.to_document(notes.merged(home_dir, once)) == before


def test_a_note_does_not_open_again_what_the_session_has_done(home_dir: str) -> None:
    """The transcript knows better how things stand; the note adds what it knows."""
    notes.add(home_dir, SESSION, items.Item(items.TASK, "one", items.PERSON, extra={"why": "x"}))

    found = notes.merged(home_dir, ledger_of(task("one", items.DONE)))

    (item,) = found.items.values()
    assert (item.status, item.extra) == (items.DONE, {"why": "x"})


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "null",
        '{"v": 9, "forget": "x"}',
        '{"v": 1, "forget": ["x"]}',
        '{"v": 1, "forget": {}}',
        '{"v": 1, "close": 7, "status": "done"}',
        '{"v": 1, "close": "x", "status": []}',
        '{"v": 1, "add": {"kind": "task"}}',
        '{"v": 1, "add": {"kind": "nonsense", "text": "t", "source": "s", "extra": {}}}',
        '{"v": 1, "add": {"kind": [], "text": "t", "source": "s", "extra": {}}}',
        '{"v": 1, "add": {"kind": "task", "text": 7, "source": "s", "extra": {}}}',
        '{"v": 1, "add": {"kind": "task", "text": "t", "source": "s", "extra": []}}',
        '{"v": 1, "at": 1e400, "add": {"kind": "task"}}',
        '{"v": 1, "add": {"kind": "task", "text": "torn',
    ],
)
def test_a_damaged_line_costs_itself_only(home_dir: str, line: str) -> None:
    """Those before and after it count."""
    notes.add(home_dir, SESSION, items.Item(items.NOTE, "before", items.PERSON))
    path = Path(home_dir, "carry", SESSION, "notes.jsonl")
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    notes.add(home_dir, SESSION, items.Item(items.NOTE, "after", items.PERSON))

    found = notes.merged(home_dir, ledger_of())

    assert [item.text for item in found.items.values()] == ["before", "after"]


def test_many_that_add_at_once_lose_nothing(home_dir: str) -> None:
    """Each line is one write."""

    def run(name: int) -> None:
        for number in range(50):
            notes.add(
                home_dir, SESSION, items.Item(items.NOTE, f"{name} {number} " + "x" * 500, "person")
            )

    threads = [threading.Thread(target=run, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(notes.merged(home_dir, ledger_of()).items) == 400


def test_an_agents_report_is_kept_and_a_long_one_goes_into_the_store(home_dir: str) -> None:
    """Its beginning stands in the ledger, all of it can be fetched."""
    report = "Found 3 unused endpoints:\n" + "\n".join(f"/v1/endpoint/{n}" for n in range(600))

    notes.add_agent(
        home_dir, SESSION, agent_type="Explore", report=report, transcript="/agent.jsonl"
    )
    notes.add_agent(home_dir, SESSION, agent_type="Explore", report=" \n", transcript="")

    (item,) = notes.merged(home_dir, ledger_of()).items.values()
    assert item.kind == items.AGENT
    assert item.text.startswith("Found 3 unused endpoints: /v1/endpoint/0 /v1/endpoint/1")
    assert item.extra["transcript"] == "/agent.jsonl"
    assert read.get(home_dir, item.extra["key"]).decode() == report


def test_a_report_that_the_transcript_has_too_is_one_item(home_dir: str) -> None:
    """The transcript's item learns where the agent's own session is."""
    notes.add_agent(
        home_dir,
        SESSION,
        agent_type="Explore",
        report="Auth happens in jwt.go, tokens last 15 minutes.",
        transcript="/agent.jsonl",
    )
    told = items.Item(
        items.AGENT, "look around: Auth happens in jwt.go, tokens last 15 minutes.", items.SUBAGENT
    )

    (item,) = notes.merged(home_dir, ledger_of(told)).items.values()

    assert item.text == told.text
    assert item.extra == {"agent": "Explore", "transcript": "/agent.jsonl"}


def test_a_fork_gets_its_own_copy(home_dir: str) -> None:
    """From then on the two go apart; what it has of its own is not replaced."""
    notes.add(home_dir, SESSION, items.Item(items.NOTE, "common", items.PERSON))
    notes.inherit(home_dir, OTHER, SESSION)
    notes.add(home_dir, OTHER, items.Item(items.NOTE, "own", items.PERSON))
    notes.inherit(home_dir, OTHER, SESSION)
    notes.inherit(home_dir, "third", "unknown")

    forked = notes.merged(home_dir, items.Ledger(OTHER))
    assert [item.text for item in forked.items.values()] == ["common", "own"]
    assert len(notes.merged(home_dir, ledger_of()).items) == 1
