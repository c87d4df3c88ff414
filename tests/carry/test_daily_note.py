"""One line per session in the daily note; nothing else of the note is touched."""

from __future__ import annotations

import json
import os
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


def test_a_session_without_a_message_leaves_nothing(vault: Path) -> None:
    """Not even an empty note."""
    assert daily_note.append_session_line(ledger.Ledger("s"), "/p", str(vault)) is None
    assert list(vault.iterdir()) == []


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
def test_an_entry_counts_what_came_of_a_session(
    vault: Path, fields: dict[str, Any], told: str
) -> None:
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


@pytest.mark.parametrize(("size", "shown"), [(160, "x" * 160), (161, "x" * 159 + "…")])
def test_the_first_message_is_told_in_a_hundred_and_sixty_characters(
    vault: Path, size: int, shown: str
) -> None:
    """In which nothing can end the mark of an entry."""
    for text, told in (("x" * size, shown), ("a %% b", "a % % b")):
        note = daily_note.append_session_line(record(text), "/p", f"{vault}/%Y-{len(text)}.md")
        assert note is not None
        with open(note, encoding="utf-8") as file:
            assert f"brimline: p: {told} (2 files" in file.read()


def test_a_note_that_is_empty_or_ends_with_a_line_gets_no_blank_one(vault: Path) -> None:
    """Each session has its own line."""
    for before in ("", "# Today\n"):
        note = vault / time.strftime("%Y-%m-%d.md")
        note.write_text(before, encoding="utf-8")
        for name in ("one", "two"):
            made = record()
            made.session = name
            daily_note.append_session_line(made, "/p", str(vault))
        lines = note.read_text(encoding="utf-8").removeprefix(before).split("\n")
        ends = [line.rpartition("%% brimline ")[2] for line in lines]
        assert ends == ["one %%", "two %%", ""]


@pytest.mark.parametrize(("beyond", "is_written"), [(0, False), (1, True)])
def test_an_entry_is_looked_for_in_sixteen_megabytes_of_a_note(
    vault: Path, beyond: int, is_written: bool
) -> None:
    """Who has a longer one has it twice."""
    note = vault / time.strftime("%Y-%m-%d.md")
    mark = f"%% brimline {record().session} %%".encode()
    with note.open("wb") as file:
        file.seek((16 << 20) - len(mark) + beyond)
        file.write(mark)
    before = note.stat().st_size

    daily_note.append_session_line(record(), "/home/dev/shop", str(vault))

    assert (note.stat().st_size > before) is is_written


@pytest.mark.parametrize(("beyond", "folder"), [(0, "journal"), (1, ".")])
def test_of_the_vaults_settings_256_kilobytes_are_read(
    vault: Path, beyond: int, folder: str
) -> None:
    """Longer ones say nothing."""
    settings(vault, folder="journal")
    file = vault / ".obsidian" / "daily-notes.json"
    file.write_text(file.read_text().rjust((256 << 10) + beyond))

    note = daily_note.append_session_line(record(), "/home/dev/shop", str(vault))

    assert note == str(vault / folder / time.strftime("%Y-%m-%d.md"))


def test_a_note_is_made_for_all_to_read_and_one_that_is_there_keeps_its_mode(vault: Path) -> None:
    """As any file that the user makes."""
    before = os.umask(0o022)
    try:
        made = daily_note.append_session_line(record(), "/p", str(vault))
    finally:
        os.umask(before)

    assert made
    assert os.stat(made).st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("files", "commits", "tasks", "end"),
    [
        (0, 0, 0, "shop: Make the import faster %%"),
        (1, 1, 1, "(1 file changed, 1 commit, 1 open task) %%"),
        (2, 0, 3, "(2 files changed, 3 open tasks) %%"),
        (0, 2, 0, "(2 commits) %%"),
    ],
)
def test_what_came_of_a_session_is_counted_in_one_or_many(
    files: int, commits: int, tasks: int, end: str
) -> None:
    """What there is none of is not told."""
    made = record()
    made.changed = {str(number): 1 for number in range(files)}
    made.commits = [[str(number), "x"] for number in range(commits)]
    made.tasks = {str(number): ["pending", "x"] for number in range(tasks)}

    told = daily_note._session_line_text(made, "/home/dev/shop")

    assert f"{told} %%".endswith(end)
    assert told.startswith("brimline: shop: Make the import faster")
