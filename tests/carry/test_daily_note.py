"""One line per session in the daily note; nothing else of the note is touched."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from brimline.carry import daily_note, ledger
from brimline.errors import StateError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def vault(world: Path) -> Path:
    """A folder of notes."""
    (world / "vault").mkdir()
    return world / "vault"


def record(text: str = "Make the import faster") -> ledger.Ledger:
    """A session in which something was said and done."""
    made = ledger.Ledger("11111111-2222-4333-8444-555555555555")
    ledger.add_message(made, text, None, "prompt")
    made.changed, made.commits = {"/p/a.py": 1, "/p/b.py": 1}, [["1111111", "first"]]
    return made


def settings(vault: Path, **fields: Any) -> None:
    """What Obsidian's own settings say of daily notes."""
    (vault / ".obsidian").mkdir(exist_ok=True)
    (vault / ".obsidian" / "daily-notes.json").write_text(json.dumps(fields), encoding="utf-8")


@pytest.mark.row("S4-38")
def test_a_session_leaves_one_entry_however_often_it_ends(vault: Path) -> None:
    """In today's note, behind what stands there, in the user's own words."""
    note = vault / time.strftime("%Y-%m-%d.md")
    note.write_text("# Today\n\nno line end", encoding="utf-8")

    for _ in range(3):
        assert daily_note.append_session_line(record(), "/home/dev/shop", str(vault)) == str(note)

    lines = note.read_text(encoding="utf-8").split("\n")
    assert lines[:3] == ["# Today", "", "no line end"]
    assert len(lines) == 5
    told = "brimline: shop: Make the import faster (2 files changed, 1 commit) %% brimline 1111"
    assert told in lines[3]


@pytest.mark.row("S4-38")
@pytest.mark.parametrize(
    ("fields", "place", "expected"),
    [
        ({"folder": "journal", "format": "YYYY/MM/DD"}, "", "journal/%Y/%m/%d.md"),
        ({"format": "dddd"}, "/%Y/log-%j.md", "%Y/log-%j.md"),
    ],
)
def test_the_note_is_where_the_vault_keeps_it(
    vault: Path, fields: dict[str, str], place: str, expected: str
) -> None:
    """By Obsidian's settings, else by ours; a note that is not there yet is made."""
    settings(vault, **fields)

    daily_note.append_session_line(record(), "/home/dev/shop", f"{vault}{place}")

    assert "brimline: shop" in (vault / time.strftime(expected)).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("fields", "place", "sentence"),
    [
        ({"format": "dddd Do MMMM"}, "vault", "set carry.daily_note"),
        ({"format": 5}, "vault", "has no folder and format of the usual kind"),
        ({"folder": ["a"]}, "vault", "has no folder and format of the usual kind"),
        ({"folder": "../outside"}, "vault", "outside of the vault"),
        ({}, "missing", "is not a folder"),
        ({}, "missing/%Y.md", "is not a folder"),
        ({}, "", "is not a folder"),
    ],
)
def test_what_is_not_understood_is_told(
    world: Path, vault: Path, fields: dict[str, Any], place: str, sentence: str
) -> None:
    """And nothing is written."""
    settings(vault, **fields)

    with pytest.raises(StateError, match=sentence):
        daily_note.append_session_line(record(), "/p", str(world / place) if place else "%Y.md")
    assert list(vault.rglob("*.md")) == []


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"changed": {}, "commits": []}, ""),
        ({"changed": {"/a": 1}, "commits": []}, " (1 file changed)"),
        ({"tasks": {"1": ["pending", "a"]}}, " (2 files changed, 1 commit, 1 open task)"),
        (
            {
                "changed": {},
                "commits": [["1", "a"], ["2", "b"]],
                "tasks": {
                    "1": ["pending", "a"],
                    "2": ["in_progress", "b"],
                    "3": ["completed", "c"],
                },
            },
            " (2 commits, 2 open tasks)",
        ),
    ],
)
def test_an_entry_counts_what_came_of_it(vault: Path, fields: dict[str, Any], told: str) -> None:
    """What there is none of is not told."""
    made = record()
    for name, value in fields.items():
        setattr(made, name, value)

    note = daily_note.append_session_line(made, "/home/dev/shop", str(vault))

    assert note is not None
    with open(note, encoding="utf-8") as file:
        (line,) = file.read().splitlines()
    assert line[7:].removeprefix(" ") == (
        f"brimline: shop: Make the import faster{told} %% brimline {made.session} %%"
    )
