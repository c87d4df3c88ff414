"""What the model is told about the tools, and one call: whatever goes wrong is one sentence."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from brimline.budget import operations
from brimline.bulk import put
from brimline.fast import paths
from brimline.mcp import recall, tools, window_tools
from brimline.mcp.tools import _LONGEST_NOTE
from brimline.state import logs
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from pathlib import Path

# No tokenizer is at hand. Of the ratios that brimline measured on recorded sessions (`gauge`) this
# is the one that finds most tokens in a text, and it was measured on text that packs worse than
# prose and schemas do.
CHARACTERS_PER_TOKEN = 2.2
MOST_TOKENS = 900


def test_everything_the_model_is_told_takes_little() -> None:
    """Names as the client writes them, descriptions, schemas, and the server's instructions."""
    sent = [
        {
            "name": f"mcp__brimline__{tool['name']}",
            "description": tool["description"],
            "input_schema": tool["inputSchema"],
        }
        for tool in tools.TOOLS
    ]
    text = json.dumps(sent, ensure_ascii=False, separators=(",", ":")) + tools.INSTRUCTIONS

    assert len(text) / CHARACTERS_PER_TOKEN < MOST_TOKENS


def test_the_schema_names_the_arguments_that_recall_takes() -> None:
    """All of them, and no other."""
    schema = tools.TOOLS[0]["inputSchema"]

    assert tuple(schema["properties"]) == recall.Asked._fields
    writing = [tool["name"] for tool in tools.TOOLS if not tool["annotations"]["readOnlyHint"]]
    assert writing == ["remember", "context_budget"]


def test_a_fault_of_the_disk_is_told_and_a_defect_recorded(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the file that it concerns; details of a defect are for `doctor`, not for the model."""
    faults: list[Exception] = [
        RuntimeError("secret detail"),
        PermissionError(13, "Permission denied", "/data/store"),
    ]

    def failing(*_: object) -> None:
        raise faults.pop()

    monkeypatch.setattr("brimline.bulk.layout.refuse_newer_format", failing)

    assert tools.answer("recall", {"query": "x"}) == ("/data/store: Permission denied", True)
    told = "recall failed (RuntimeError): see `brimline doctor`"
    assert tools.answer("recall", {"query": "x"}) == (told, True)
    assert [entry["event"] for entry in logs.recent_failures(home_dir, 0)] == ["mcp recall"]


def test_a_project_folder_that_is_gone_is_told(world: Path) -> None:
    """It can be deleted while the server runs."""
    gone = world / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()

    text, failed = tools.answer("recall", {"query": "x"})

    assert failed
    assert text.startswith("the project's folder is not there")


def test_text_that_json_cannot_carry_is_replaced(home_dir: str, project_dir: str) -> None:
    """A command may hold bytes that are not text."""
    key = put.put(home_dir, b"content", {"source": "cat \udcff", "cwd": project_dir})

    text, failed = tools.answer("recall", {"key": key})

    assert not failed
    assert '"cat ?"' in text


def test_every_tool_answers_and_no_other(home_dir: str, project_dir: str) -> None:
    """What is not there is told with those that are."""
    put.put(home_dir, b"otter", {"cwd": project_dir})
    topic = {"name": "one", "type": "user", "description": "About", "text": "Text."}

    status, _ = tools.answer("context_status", {})
    noted, _ = tools.answer("note", {"text": "Keep it."})
    kept, failed = tools.answer("remember", topic)

    assert status == "[brimline context_status] Unknown: this project has no session yet."
    assert noted == "Noted. It comes back after every compaction of this session."
    assert (kept[:8], failed) == ("Kept in ", False)
    assert tools.answer("recall", {"query": "otter"})[0].startswith("[brimline recall: hits 1-1 of")
    known = "recall, recall_elsewhere, remember, context_status, note, context_budget"
    told = f"there is no tool {'x' * 40!r}: use one of {known}"
    assert tools.answer("x" * 41, {}) == (told, True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x" * _LONGEST_NOTE, ""),
        (
            "x" * (_LONGEST_NOTE + 1),
            f"a note has at most {_LONGEST_NOTE} characters: say it shorter",
        ),
        (" \n", "there is nothing to write down: give a `text`"),
        (None, "there is nothing to write down: give a `text`"),
    ],
)
def test_a_note_is_of_some_words_and_not_too_many(text: str | None, told: str) -> None:
    """What is wrong is said."""
    noted = "Noted. It comes back after every compaction of this session."

    assert tools.answer("note", {"text": text}) == (told or noted, bool(told))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(28, "No space left on device"), "a file of the store: No space left on device"),
        (OSError("odd"), "a file of the store: odd"),
        (FileNotFoundError(2, "Not there", b"/a\xff"), "/a?: Not there"),
    ],
)
def test_a_fault_of_the_disk_is_told_as_far_as_it_is_known(
    monkeypatch: pytest.MonkeyPatch, error: OSError, told: str
) -> None:
    """In any case without a traceback."""

    def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr("brimline.bulk.layout.refuse_newer_format", failing)

    assert tools.answer("recall", {"query": "x"}) == (told, True)


def test_the_budget_is_that_of_the_clients_session_else_of_the_newest(
    home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an operation it is shown; secrets in a text are masked."""
    token = "ghp_abcdefghijklmnopqrst0123"  # noqa: S105 - looks like one, and is none
    nobody, failed = tools.answer("context_budget", {})
    assert failed
    folder = paths.project_transcripts_dir(project_dir)
    SessionBuilder(f"{folder}/newest.jsonl", "newest", project_dir).reply(50_000)
    item = {"operation": "add", "compartment": "active_task", "text": f"Use {token} now"}

    added, failed = tools.answer("context_budget", item)
    shown, _ = tools.answer("context_budget", {})
    listed, _ = tools.answer("context_budget", {"operation": "list"})
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "another")
    others, _ = tools.answer("context_budget", {"operation": "list"})

    assert not failed
    assert nobody
    assert token not in added + shown + listed
    assert "Use " in listed
    assert "Use " not in others
    assert "active_task" in shown


def test_a_long_budget_is_cut_at_a_line(home_dir: str, project_dir: str) -> None:
    """And how many are left is said."""
    folder = paths.project_transcripts_dir(project_dir)
    SessionBuilder(f"{folder}/newest.jsonl", "newest", project_dir).reply(50_000)
    item = {"operation": "add", "compartment": "ambient_knowledge"}
    for number in range(120):
        _, failed = tools.answer("context_budget", item | {"text": f"{number:03} " + "word " * 12})
        assert not failed

    text, _ = tools.answer("context_budget", {"operation": "list"})

    *shown, last = text.split("\n")
    whole = operations.text(operations.run_operation(home_dir, "newest", "list", {}))
    left = len(whole.split("\n")) - len(shown)
    assert last == f"[{left} more lines: name a compartment, or remove what is not needed]"
    assert whole.startswith("\n".join(shown) + "\n")
    most = window_tools._MOST_CHARACTERS
    assert most - 200 < len("\n".join(shown)) <= most


def test_a_failure_names_forty_characters_of_a_tool(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever made the name up."""

    def failing(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(tools, "_text_answered_by_tool", failing)
    told = f"{'t' * 40} failed (RuntimeError): see `brimline doctor`"

    assert tools.answer("t" * 40, {}) == tools.answer("t" * 41, {}) == (told, True)
