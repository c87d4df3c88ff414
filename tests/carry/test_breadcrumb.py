"""One line per session in the daily note; nothing else of the note is touched."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from brimline.carry import breadcrumb, ledger
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


@pytest.mark.row("S4-38")
def test_a_session_leaves_one_entry_however_often_it_ends(vault: Path) -> None:
    """In today's note, behind what stands there, in the user's own words."""
    note = vault / time.strftime("%Y-%m-%d.md")
    note.write_text("# Today\n\nno line end", encoding="utf-8")

    for _ in range(3):
        assert breadcrumb.leave(record(), "/home/dev/shop", f"{vault}/%Y-%m-%d.md") == str(note)

    lines = note.read_text(encoding="utf-8").split("\n")
    assert lines[:3] == ["# Today", "", "no line end"]
    assert len(lines) == 5
    told = "brimline: shop: Make the import faster (files changed: 2, commits: 1) %% brimline 1111"
    assert told in lines[3]


def test_a_note_that_is_not_there_yet_is_made(vault: Path) -> None:
    """With the folders that the date is in the name of."""
    breadcrumb.leave(record(), "/home/dev/shop", f"{vault}/%Y/log-%j.md")

    assert "brimline: shop" in (vault / time.strftime("%Y/log-%j.md")).read_text(encoding="utf-8")


def test_a_session_without_a_message_leaves_nothing(vault: Path) -> None:
    """Not even an empty note."""
    assert breadcrumb.leave(ledger.Ledger("s"), "/p", f"{vault}/%Y.md") is None
    assert list(vault.iterdir()) == []


@pytest.mark.parametrize("place", ["{world}/vault", "{world}/missing/%Y.md", "%Y.md"])
def test_what_is_not_understood_is_told(world: Path, vault: Path, place: str) -> None:
    """And nothing is written."""
    with pytest.raises(StateError, match="is no path with a date"):
        breadcrumb.leave(record(), "/p", place.format(world=world))
    assert list(vault.rglob("*.md")) == []
