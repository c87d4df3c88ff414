"""What brimline adds at a start: budgets, marks where something was cut, each text once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from brimline.hooks import entry
from brimline.rules import cascade, marked
from brimline.rules.marked import TRUNCATED
from brimline.testing import event

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

    from .conftest import Tree


def unknown_to_client(project_dir: str, room: int) -> str:
    """What the client does not load by itself."""
    files = cascade.gather_instruction_files(project_dir)
    return marked.text_of_files_only_we_load(files, room)


@pytest.mark.row("S2-24", "S2-26", "S2-37")
@pytest.mark.parametrize("size", [4_000, 4_001])
def test_a_file_gives_at_most_4000_characters(tree: Tree, size: int) -> None:
    """The mark is there exactly where something is missing."""
    tree.put(tree.private(), "x" * size)

    text = unknown_to_client(str(tree.project), 9_000)

    end = f"\n{TRUNCATED}" if size > marked.FILE_CHARACTERS else ""
    assert text.endswith(f" (private):\n\n{'x' * 4_000}{end}\n")


@pytest.mark.row("S2-04", "S4-02")
def test_only_what_the_client_does_not_know_is_given_at_the_start(tree: Tree) -> None:
    """The private one, with its imports; nothing that it loads."""
    tree.put(tree.private(), "just for me here\n@extra.md")
    tree.put(tree.private().replace("CLAUDE", "extra"), "more for me")
    for name in ("home/.claude/CLAUDE.md", "project/CLAUDE.md", "project/AGENTS.md"):
        tree.put(name, f"{name} says")
    tree.put("managed/CLAUDE.md", "managed says\n@more.md")
    tree.put("managed/more.md", "managed says more")

    text = unknown_to_client(str(tree.project), 9_000)

    assert text.startswith("[brimline] Instructions that Claude Code does not load by itself:\n\n")
    assert f"From ~{tree.private().removeprefix('home')} (private):\n\njust for me here" in text
    assert "more for me" in text
    assert "says" not in text


@pytest.mark.row("S2-08")
def test_what_the_client_loads_from_elsewhere_is_not_repeated(tree: Tree) -> None:
    """One that says the same, and nothing at all."""
    tree.put("home/.claude/CLAUDE.md", "mine")
    tree.put(tree.private(), "mine\n")

    assert unknown_to_client(str(tree.project), 9_000) == ""
    tree.put(tree.private(), " \n<!-- later -->\n")
    assert unknown_to_client(str(tree.project), 9_000) == ""


@pytest.mark.row("S2-23", "S2-24", "S2-26", "S2-40", "S2-49")
@pytest.mark.parametrize("budget", [9_000, 5_000, 500, 150, 0])
def test_the_text_at_the_start_keeps_within_its_room(tree: Tree, budget: int) -> None:
    """Cut with a mark, or nothing at all; the same files give the same bytes."""
    tree.put(tree.private(), "own " * 900 + "\n@extra.md")
    tree.put(tree.private().replace("CLAUDE", "extra"), "more " * 3_000)

    first, second = (unknown_to_client(str(tree.project), budget) for _ in range(2))

    assert first == second
    assert len(first) <= budget
    assert not first or TRUNCATED in first


@pytest.mark.row("S2-04", "S4-02")
@pytest.mark.parametrize(("source", "is_given"), [("startup", True), ("resume", False)])
def test_the_hook_gives_it_once_per_context(
    tree: Tree, session: SessionBuilder, home_dir: str, source: str, is_given: bool
) -> None:
    """A resumed session has it in its transcript; a file that the client loads is not given."""
    tree.put(tree.private(), "just for me here")
    tree.put("project/CLAUDE.md", "for everybody")
    session.reply(40_000)
    raw = json.dumps(event("SessionStart", session, source=source)).encode()

    answer = entry.respond("SessionStart", raw, home_dir).decode()

    assert ("just for me here" in answer) is is_given
    assert "for everybody" not in answer
