"""A session's budget through its doors: the tool of the model, the command, and the card."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimline.budget import items, operations
from brimline.budget.operations import LONGEST_TEXT
from brimline.cli import surface
from brimline.errors import StateError
from brimline.fast import paths
from brimline.hooks import entry
from brimline.mcp import tools
from brimline.state.session import TELEMETRY, SessionState
from brimline.testing import SessionBuilder, event

if TYPE_CHECKING:
    from collections.abc import Iterator

ID = "1f0c2d3e-8a41-4f0b-b6a7-6f1f0a5b9c20"
WINDOW = 10_000  # of which ambient_knowledge has 2,000


@pytest.fixture(autouse=True)
def talk(project_dir: str, monkeypatch: pytest.MonkeyPatch) -> SessionBuilder:
    """A session of the project in which the tests stand."""
    monkeypatch.chdir(project_dir)
    path = f"{paths.project_transcripts_dir(project_dir)}/{ID}.jsonl"
    session = SessionBuilder(path, ID, project_dir)
    session.prompt("Make the import faster.")
    session.tool_result(session.tool_call(40_000), "x" * 4_000)
    session.reply(42_000)
    return session


def asked(operation: str, **arguments: Any) -> str:
    """What the model's tool answers."""
    text, failed = tools.answer("context_budget", {"operation": operation} | arguments)
    assert not failed, text
    return text


def refused(operation: str, **arguments: Any) -> str:
    """The one sentence in which the tool refuses."""
    text, failed = tools.answer("context_budget", {"operation": operation} | arguments)
    assert failed
    assert "\n" not in text
    return text


def done(home_dir: str, operation: str, **arguments: Any) -> dict[str, Any]:
    """The document of one operation in a small window."""
    state = SessionState(home_dir, ID)
    state.save_document(TELEMETRY, {"window_tokens": WINDOW})
    return operations.run_operation(home_dir, ID, operation, arguments)


def held(home_dir: str) -> set[str]:
    """The texts of the items that hold."""
    return {item["text"] for item in items.load(home_dir, ID).items.values()}


@pytest.mark.row("S4-29", "S4-30")
def test_the_model_adds_pins_evicts_and_estimates(home_dir: str) -> None:
    """Five compartments and no sixth; ids are told, and their beginnings will do."""
    told = asked("add", compartment="active_task", text="Rewrite the importer.")
    name = told.split()[1]
    assert asked("pin", id=name[:6]).startswith(f"Pinned: {name}  active_task, 6 tokens")
    assert "is pinned: unpin it first" in refused("evict", id=name)
    asked("unpin", id=name)
    assert asked("evict", compartment="active_task").startswith(f"Evicted: {name}")
    assert "Rewrite the importer." in asked("log")
    assert asked("list") == "Nothing."
    assert asked("estimate", text="é" * 5) == "About 3 tokens (a token per four bytes)."
    assert "one of active_task" in refused("add", compartment="sixth", text="x")
    assert held(home_dir) == set()


@pytest.mark.row("S4-29")
def test_each_of_the_five_compartments_takes_an_item_and_is_listed(home_dir: str) -> None:
    """Under these names, which the tool's own description gives to the model."""
    names = (
        *("active_task", "project_background", "operator_preferences"),
        *("safety_constraints", "ambient_knowledge"),
    )

    for name in names:
        asked("add", compartment=name, text=f"An item of {name}.")

    assert held(home_dir) == {f"An item of {name}." for name in names}
    listed = asked("list")
    assert all(f"An item of {name}." in listed for name in names)
    assert [*items.SHARES] == [*names]
    assert "sixth" not in asked("get")


@pytest.mark.row("S4-33")
def test_the_log_of_what_went_outlives_the_process_and_is_bounded(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last ones, each with the beginning of its text."""
    monkeypatch.setattr(items, "LOG_ENTRIES", 5)
    for number in range(8):
        asked("add", compartment="ambient_knowledge", text=f"{number:03}" + "x" * 1_000)
        asked("evict", compartment="ambient_knowledge")

    log = done(home_dir, "log")["log"]

    assert [entry["preview"][:3] for entry in log] == [f"{number:03}" for number in range(3, 8)]
    assert {len(entry["preview"]) for entry in log} == {items.PREVIEW_CHARACTERS}


@pytest.mark.parametrize(
    ("operation", "arguments", "sentence"),
    [
        ("grow", {}, "there is no operation 'grow'"),
        ("add", {"compartment": "active_task"}, "give a `text`"),
        (
            "add",
            {"compartment": "active_task", "text": "x" * 9_999},
            f"at most {LONGEST_TEXT:,} char",
        ),
        ("add", {"compartment": "active_task", "text": "x", "priority": 11}, "from 0 to 10"),
        ("add", {"compartment": "active_task", "text": "x", "priority": True}, "from 0 to 10"),
        ("add", {"compartment": "active_task", "text": "x", "pinned": "yes"}, "true or false"),
        ("add", {"compartment": "active_task", "text": "x", "colour": 1}, "no argument 'colour'"),
        ("remove", {"id": "beef"}, "no item begins with the id 'beef'"),
        ("remove", {"id": ["beef"]}, "no item begins"),
        ("evict", {"compartment": "ambient_knowledge"}, "nothing that is not pinned"),
        ("get", {"session": "../../etc"}, "no argument 'session'"),
    ],
)
def test_what_is_wrong_with_a_call_is_said_in_a_sentence(
    operation: str, arguments: dict[str, Any], sentence: str, home_dir: str
) -> None:
    """And nothing is written for it."""
    assert sentence in refused(operation, **arguments)
    assert not os.path.exists(f"{paths.carry_session_dir(home_dir, ID)}/{items.FILE_NAME}")


@pytest.mark.row("S4-31")
def test_shares_are_of_the_window_and_a_compartment_tells_when_it_is_nearly_full(
    home_dir: str,
) -> None:
    """Five shares of the window; from a part of its share on there is an alert."""
    shares = [one["tokens"] for one in done(home_dir, "get")["compartments"]]
    assert shares == [4_000, 2_000, 1_000, 1_000, 2_000]

    nearly = items.ALERT_PERCENT * 1_000 // 100 - 1
    one = done(home_dir, "add", compartment="operator_preferences", text="x" * 4 * nearly)
    assert one["alerts"] == []
    one = done(home_dir, "add", compartment="operator_preferences", text="y" * 4)
    assert [alert["name"] for alert in one["alerts"]] == ["operator_preferences"]
    assert done(home_dir, "alerts")["alerts"] == one["alerts"]


@pytest.mark.row("S4-32")
def test_what_keeps_the_session_safe_is_always_pinned(home_dir: str) -> None:
    """It cannot be unpinned, nor evicted however much there is of it; it can be removed."""
    asked("add", compartment="safety_constraints", text="Never push to main.", pinned=False)
    (item,) = items.load(home_dir, ID).items.values()
    assert "always pinned" in refused("unpin", id=item["id"])
    items.append_actions(home_dir, ID, "unpin", [item["id"]])
    items.append_actions(home_dir, ID, "evict", [item["id"]])
    done(home_dir, "add", compartment="safety_constraints", text="z" * LONGEST_TEXT)
    assert done(home_dir, "enforce")["evicted"] == []
    assert "Never push to main." in held(home_dir)
    asked("remove", id=item["id"])
    assert "Never push to main." not in held(home_dir)


@pytest.mark.row("S4-33", "S4-34")
def test_the_least_important_and_oldest_go_first_and_only_where_it_is_too_full(
    home_dir: str,
) -> None:
    """Another compartment loses nothing; what went is in the log, in its order."""
    for text, priority, pinned in (
        ("old", 3, False),
        ("low", 1, False),
        ("new", 3, False),
        ("pinned", 0, True),
        ("high", 9, False),
    ):
        more = {"text": text.ljust(2_400, "."), "priority": priority, "pinned": pinned}
        done(home_dir, "add", compartment="ambient_knowledge", **more)
    done(home_dir, "add", compartment="project_background", text="b" * 7_900, priority=0)

    gone = done(home_dir, "enforce")["evicted"]

    assert [item["text"].strip(".") for item in gone] == ["low", "old"]
    assert [one["preview"].strip(".…") for one in done(home_dir, "log")["log"]] == ["low", "old"]
    assert {text.strip(".")[:6] for text in held(home_dir)} == {"new", "pinned", "high", "bbbbbb"}
    assert done(home_dir, "enforce")["evicted"] == []


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*items.SHARES]),
            st.integers(1, 7_000),
            st.integers(0, 10),
            st.booleans(),
        ),
        max_size=12,
    )
)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_compartment_is_left_too_full_unless_all_in_it_is_pinned(
    tmp_path: Path, added: list[tuple[str, int, int, bool]]
) -> None:
    """For any items; what goes is never pinned and never more than is needed."""
    home = str(tmp_path / str(time.monotonic_ns()))
    for name, length, priority, pinned in added:
        one = {"text": "x" * length, "priority": priority, "pinned": pinned}
        done(home, "add", compartment=name, **one)
    gone = done(home, "enforce")["evicted"]

    assert not any(item["pinned"] for item in gone)
    budget = items.load(home, ID)
    for name in items.SHARES:
        inside, room = budget.items_in(name), items.capacity_tokens(name, WINDOW)
        assert items.sum_tokens(inside) <= room or all(item["pinned"] for item in inside)
        last = [item for item in gone if item["compartment"] == name][-1:]
        assert not last or items.sum_tokens([*inside, *last]) > room


@pytest.mark.row("S4-01", "S4-29")
def test_the_command_shows_the_plan_and_status_what_was_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The plan and the measured composition are two things, with a command each."""
    arguments = ["budget", "add", "--in", "active_task", "--text", "Find it: token=abcd1234efgh"]
    surface.program(arguments, standalone_mode=False)
    assert "abcd1234efgh" not in capsys.readouterr().out

    surface.program(["budget"], standalone_mode=False)
    told = capsys.readouterr().out
    surface.program(["budget", "--json", "--session", ID[:8]], standalone_mode=False)
    document = json.loads(capsys.readouterr().out)

    assert "active_task" in told
    assert max(map(len, told.splitlines())) <= 80
    assert document["compartments"][0]["items"] == 1
    surface.program(["status", "--composition", "--session", ID, "--json"], standalone_mode=False)
    measured = json.loads(capsys.readouterr().out)["parts"]
    assert sum(part["tokens"] for part in measured) == 42_000


def test_pinned_safety_and_task_cross_a_compaction(talk: SessionBuilder, home_dir: str) -> None:
    """Right behind the notes; what is not pinned, or of another compartment, does not."""
    asked("add", compartment="active_task", text="KEPT-TASK", pinned=True)
    asked("add", compartment="active_task", text="LOOSE-TASK")
    asked("add", compartment="ambient_knowledge", text="PINNED-ELSEWHERE", pinned=True)
    asked("add", compartment="safety_constraints", text="KEPT-RULE")
    talk.prompt("brim:keep NOTED")
    talk.reply(43_000)
    raw = json.dumps(event("SessionStart", talk, source="compact")).encode()
    card = json.loads(entry.respond("SessionStart", raw, home_dir))
    text = card["hookSpecificOutput"]["additionalContext"]

    assert "\n\nPinned in the budget:\n- KEPT-RULE\n- KEPT-TASK\n" in text
    assert text.index("NOTED") < text.index("KEPT-RULE") < text.index("Messages of the user")
    assert "LOOSE-TASK" not in text
    assert "PINNED-ELSEWHERE" not in text


def test_what_is_too_much_for_card_or_answer_is_told(talk: SessionBuilder, home_dir: str) -> None:
    """Many rules leave room for the task; a long list says how much more there is."""
    asked("add", compartment="active_task", text="KEPT-TASK", pinned=True)
    for number in range(40):
        asked("add", compartment="safety_constraints", text=f"Rule {number}: " + "never " * 30)
    raw = json.dumps(event("SessionStart", talk, source="compact")).encode()
    card = json.loads(entry.respond("SessionStart", raw, home_dir))
    text = card["hookSpecificOutput"]["additionalContext"]
    told = asked("list")

    assert "KEPT-TASK" in text
    assert "Rule 39: " in text
    shown = text.count("- Rule ")
    assert f"- [{40 - shown} more: `context_budget` lists them]" in text
    assert len(told) < 6_000
    assert re.search(r"\[\d+ more lines: name a compartment", told)


def test_a_damaged_file_costs_the_damaged_lines_only(home_dir: str) -> None:
    """Torn, foreign and binary lines; what is added behind a torn one counts."""
    asked("add", compartment="active_task", text="FIRST")
    path = Path(paths.carry_session_dir(home_dir, ID)) / items.FILE_NAME
    with path.open("ab") as file:
        file.write(
            b'\xff\x00\n[]\n{"v":1,"add":{"id":1}}\n{"v":9}\n{"v":1,"do":"evict"}\n{"v":1,"ad'
        )
    asked("add", compartment="active_task", text="SECOND")

    assert held(home_dir) == {"FIRST", "SECOND"}


def test_a_file_grown_too_large_is_full(home_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence; what it holds stays, and can be removed while there is room for that."""
    monkeypatch.setattr(items, "_LARGEST_BYTES", 1_500)
    monkeypatch.setattr(items, "_KEPT_BYTES", 500)
    asked("add", compartment="active_task", text="FIRST")
    assert "is full" in refused("add", compartment="active_task", text="x" * 900)
    assert held(home_dir) == {"FIRST"}
    (name,) = items.load(home_dir, ID).items
    asked("remove", id=name)
    assert held(home_dir) == set()


WRITER = """
import sys
from brimline.budget import items
home, session, name = sys.argv[1:]
for number in range(200):
    item = {"compartment": "active_task", "priority": 1, "pinned": False}
    made = items.add_item(home, session, item | {"text": f"{name}-{number}"})
    items.append_actions(home, session, "pin", [made["id"]])
    print(made["text"], flush=True)
"""


def _writers(home_dir: str) -> Iterator[subprocess.Popen[str]]:
    for name in "abcdefgh":
        command = [sys.executable, "-c", WRITER, home_dir, ID, name]
        world = {**os.environ, "PYTHONPATH": str(Path(items.__file__).parents[2])}
        yield subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=world)


def test_eight_writers_of_which_half_are_killed_lose_nothing_they_were_told_is_kept(
    home_dir: str,
) -> None:
    """Every acknowledged item is there, pinned, whole."""
    started = list(_writers(home_dir))
    told: set[str] = set()
    for number, process in enumerate(started):
        assert process.stdout is not None
        told.add(process.stdout.readline().strip())
        if number % 2:
            process.send_signal(signal.SIGKILL)
    for process in started:
        told |= set(process.communicate()[0].split())

    budget = items.load(home_dir, ID)
    texts = {item["text"]: item["pinned"] for item in budget.items.values()}
    assert told <= texts.keys()
    assert all(texts[text] for text in told)
    assert len(told) > 800


def item(number: int, **changes: Any) -> dict[str, Any]:
    """An item as its line holds it."""
    usual = {"id": f"{number:08x}", "compartment": items.TASK, "text": f"text {number}"}
    return usual | {"tokens": 100, "priority": 5, "pinned": False, "at": float(number)} | changes


@pytest.mark.parametrize(
    "change",
    [
        {"compartment": "other"},
        {"id": 5},
        {"text": None},
        {"pinned": 1},
        {"tokens": "9"},
        {"priority": None},
        {"at": "now"},
    ],
)
def test_a_line_that_is_no_item_is_none(home_dir: str, change: dict[str, Any]) -> None:
    """Whichever field is wrong."""
    path = Path(paths.carry_session_dir(home_dir, ID)) / items.FILE_NAME
    path.parent.mkdir(parents=True)
    lines = [{"v": 1, "add": one} for one in (item(1), item(2, **change), item(3))]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    assert list(items.load(home_dir, ID).items) == [item(1)["id"], item(3)["id"]]


@pytest.mark.parametrize(
    ("over", "gone"), [(-1, []), (0, []), (1, [1]), (100, [1]), (101, [1, 2]), (900, [1, 2, 4])]
)
def test_as_many_items_go_as_are_too_much(over: int, gone: list[int]) -> None:
    """The least important, then the oldest; pinned ones stay."""
    budget = items.Budget()
    inside = [item(4, priority=6), item(2), item(1), item(3, pinned=True)]
    budget.items = {one["id"]: one for one in inside}
    # The task has four tenths of the window.
    window = (400 - over) * 100 // 40 if over <= 400 else 0
    while items.capacity_tokens(items.TASK, window) < 400 - over:
        window += 1

    found = [int(one["id"], 16) for one in items.all_items_to_evict(budget, window)]

    assert found == gone


def test_tokens_are_counted_by_four_bytes() -> None:
    """Rounded up, and by bytes, not letters."""
    counts = [items.estimate_tokens(text) for text in ("", "a", "abcd", "abcde", "ä" * 4)]

    assert counts == [0, 1, 1, 2, 2]


def test_a_text_says_what_was_done_in_a_few_lines() -> None:
    """Or that there is nothing."""
    gone = item(1, pinned=True, text="x" * 999)
    preview = "x" * (items.PREVIEW_CHARACTERS - 1) + "…"
    line = f"00000001  active_task, 100 tokens, priority 5, pinned\n  {preview}"
    assert operations.text({"operation": "add", "item": gone}) == f"Added: {line}"
    assert operations.text({"evicted": []}) == "Evicted: nothing."
    assert operations.text({"evicted": [gone]}) == f"Evicted: 1, in this order:\n{line}"
    assert operations.text({"tokens": 1_234}).startswith("About 1,234 tokens")
    assert operations.text({"items": []}) == "Nothing."
    entry_line = {"id": "a", "compartment": "b", "tokens": 1_000, "preview": "c"}
    assert operations.text({"log": [entry_line]}) == "a  b, 1,000 tokens: c"
    full = {"name": "n", "used_tokens": 9, "tokens": 10, "percent": 90.0, "items": 1, "pinned": 0}
    told = operations.text({"alerts": [full]})
    assert told.startswith("Nearly full: n ")
    assert told.endswith("9 of 10 tokens (90 %), 1 item, 0 pinned")
    assert "2 items," in operations.text({"compartments": [full | {"items": 2}]})


def test_pinning_is_told_with_the_item(home_dir: str) -> None:
    """Whatever was done to it; a name may be the beginning of an id, of one alone."""
    made = done(home_dir, "add", compartment=items.TASK, text="x")["item"]
    assert made["pinned"] is False
    assert made["priority"] == 5
    for operation, pinned in (("pin", True), ("pin", True), ("unpin", False), ("remove", False)):
        answered = done(home_dir, operation, id=made["id"][:4])
        assert answered["item"]["pinned"] is pinned
    with pytest.raises(StateError, match=r"no item begins with the id 'x{40}':"):
        done(home_dir, "pin", id="x" * 50)
    with pytest.raises(StateError, match=r"there is no operation 'y{40}':"):
        done(home_dir, "y" * 50)


@pytest.mark.parametrize(("length", "is_kept"), [(LONGEST_TEXT, True), (LONGEST_TEXT + 1, False)])
def test_a_long_item_is_refused(home_dir: str, length: int, is_kept: bool) -> None:
    """With the blanks around it; without them it is kept."""
    text = " " + "x" * (length - 1)
    if is_kept:
        assert done(home_dir, "add", compartment=items.TASK, text=text)["item"]["text"] == text[1:]
    else:
        with pytest.raises(
            StateError, match=f"at most {LONGEST_TEXT:,} characters: say it shorter"
        ):
            done(home_dir, "add", compartment=items.TASK, text=text)


@pytest.mark.parametrize("priority", [0, 1, 10])
def test_the_least_and_the_most_important_item_are_taken(home_dir: str, priority: int) -> None:
    """As they are."""
    made = done(home_dir, "add", compartment=items.TASK, text="x", priority=priority)["item"]

    assert items.load(home_dir, ID).items[made["id"]]["priority"] == priority


@pytest.mark.parametrize("priority", [-1, 11, 5.5, "5"])
def test_any_other_priority_is_refused(home_dir: str, priority: object) -> None:
    """In a sentence."""
    with pytest.raises(StateError, match="a priority is a whole number from 0 to 10"):
        done(home_dir, "add", compartment=items.TASK, text="x", priority=priority)


SHOWN = items.PREVIEW_CHARACTERS


@pytest.mark.parametrize(
    ("length", "preview"), [(SHOWN, "x" * SHOWN), (SHOWN + 1, "x" * (SHOWN - 1) + "…")]
)
def test_of_what_went_the_beginning_is_shown(home_dir: str, length: int, preview: str) -> None:
    """One more is cut."""
    made = done(home_dir, "add", compartment=items.TASK, text="x" * length)["item"]
    done(home_dir, "evict", id=made["id"])

    (gone,) = done(home_dir, "log")["log"]

    assert gone["preview"] == preview
    assert (gone["id"], gone["tokens"], gone["priority"]) == (made["id"], made["tokens"], 5)
    assert isinstance(gone["at"], float)


def test_a_compartment_without_room_is_full() -> None:
    """In a window that is too small for any; it holds nothing all the same."""
    place = operations.Place("/nowhere", ID, 1)

    assert {one["percent"] for one in operations._fill_level_of_compartments(place)} == {100.0}
    assert {one["items"] for one in operations._fill_level_of_compartments(place)} == {0}


def test_a_name_that_several_items_begin_with_is_none(home_dir: str) -> None:
    """Nor is an empty one."""
    made = [done(home_dir, "add", compartment=items.TASK, text=str(n))["item"] for n in range(20)]
    letters = [one["id"][0] for one in made]
    shared = next(letter for letter in letters if letters.count(letter) > 1)

    with pytest.raises(StateError, match=f"several items begin with the id '{shared}'"):
        done(home_dir, "remove", id=shared)
    with pytest.raises(StateError, match="no item begins with the id ''"):
        done(home_dir, "remove", id="")
