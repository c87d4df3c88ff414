"""`brimline carry`: the widths of what is listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.carry.ledger import Ledger
from brimline.cli import carry_commands
from brimline.cli.carry_commands import _ROOM
from brimline.fast import paths
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from .conftest import Run


@pytest.mark.parametrize(
    ("characters", "end", "shown"),
    [
        (68, "", "x" * 68),
        (69, "", "x" * 67 + "…"),
        (61, " (done)", "x" * 61 + " (done)"),
        (62, " (done)", "x" * 60 + "… (done)"),
    ],
)
def test_a_note_with_its_id_takes_78_characters(characters: int, end: str, shown: str) -> None:
    """What stands behind it included."""
    line = carry_commands._id_line({"id": "3f2a9c01"}, "x" * characters, end)

    assert line == f"3f2a9c01  {shown}"
    assert len(line) == 78


def test_the_parts_of_a_record_have_their_widths() -> None:
    """A path keeps its end; the result of a check is a few words; what is done says so."""
    record = Ledger("s1")
    record.plan = "/" + "p" * 90 + "/plan.md"
    record.pulls = ["https://" + "h" * 71]
    record.changed = {"/" + "c" * (_ROOM - 1): 1}
    record.checks = {"a": {"command": "make", "result": "r" * 15}}
    record.notes = {"n": {"id": "n", "kind": "keep", "text": "t", "done": True}}

    parts = carry_commands._ledger_lines_by_title(record)

    assert parts["Plan"][0].endswith("/plan.md")
    assert len(parts["Plan"][0]) == _ROOM
    assert parts["Pull requests"] == ["https://" + "h" * 69 + "…"]
    assert parts["Files changed"] == [*record.changed]
    assert parts["Checks"] == ["make: " + "r" * 13 + "…"]
    assert parts["Notes"] == ["n  keep: t (done)"]


def test_a_note_that_is_done_or_opened_again_is_named(project_dir: str, brimline: Run) -> None:
    """With its id; an empty one is none, and one that nobody wrote is not known."""
    path = f"{paths.project_transcripts_dir(project_dir)}/abc.jsonl"
    SessionBuilder(path, session_id="abc", cwd=project_dir).prompt("hello")

    note_id, _, text = brimline("carry", "add", "  Never push.  ").out.partition("  ")

    assert text == "Never push.\n"
    for word in ("done", "reopen"):
        assert brimline("carry", word, note_id).out == f"{note_id}  {word}: Never push.\n"
        document = brimline("carry", word, note_id, "--json").document
        assert document == {"session_id": "abc", "id": note_id, "done": word == "done"}
    gone = brimline("carry", "forget", note_id, "--yes")
    assert gone.out == f"{note_id}  forgotten: Never push.\n"
    assert "there is nothing to write down: give a TEXT" in brimline("carry", "add", " ").err
    for word in ("done", "reopen"):
        assert f"no note {note_id!r} is known" in brimline("carry", word, note_id).err
    assert f"no note or message {note_id!r} is known" in brimline("carry", "forget", note_id).err


def test_a_decision_is_marked_as_one(project_dir: str, brimline: Run) -> None:
    """And listed so."""
    path = f"{paths.project_transcripts_dir(project_dir)}/abc.jsonl"
    SessionBuilder(path, session_id="abc", cwd=project_dir).prompt("hello")
    brimline("carry", "add", "--decision", "Use zlib.")
    brimline("carry", "add", "Keep it.")

    notes = brimline("carry", "show", "--json").document["notes"]
    text = brimline("carry", "show").out

    assert [note["kind"] for note in notes] == ["decide", "keep"]
    assert "decide: Use zlib." in text
    assert "keep: Keep it." in text
