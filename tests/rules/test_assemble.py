"""The assembled text, and what brimline adds at a start: budgets, marks, each text once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.hooks import entry
from brimline.rules import cascade, marked
from brimline.rules.cascade import CHILD, PROJECT, Source
from brimline.rules.marked import BOUNDARY, TRUNCATED, text_of_all_files
from brimline.testing import event

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

    from .conftest import Tree


def unknown_to_client(project_dir: str, room: int) -> str:
    """What the client does not load by itself."""
    files = cascade.gather_instruction_files(project_dir)
    return marked.text_of_files_only_we_load(files, room)


def source(path: str, text: str, level: str = PROJECT) -> Source:
    """A file that says something."""
    return Source(path, level, "why", "start", "/p", text=text)


@pytest.mark.row("S2-24", "S2-25", "S2-26", "S2-37")
def test_a_file_gives_its_share_and_all_the_budget() -> None:
    """Headings included; the mark is there exactly where something is missing."""
    share, budget = marked.FILE_CHARACTERS, marked.TOTAL_CHARACTERS
    files = [source(f"/p/{number}", f"{number}" * share) for number in range(1, 7)]

    made, whole = text_of_all_files(files), text_of_all_files(files[:2])

    longer = text_of_all_files([source("/p/a", "x" * (share + 1))])
    assert longer == f"From /p/a (project):\n\n{'x' * share}\n{TRUNCATED}\n"
    assert budget - 500 < len(made) <= budget
    assert made.startswith(whole)
    assert made.endswith(f"\n{TRUNCATED}\n")
    assert TRUNCATED not in whole
    assert whole.count("1") == whole.count("2") == share + 1
    # A rest of few characters is not worth it.
    least = marked._LEAST_WORTH_SHOWING + len(f"\n{TRUNCATED}\n")
    assert len(text_of_all_files(files[:1], total=least)) == least
    assert text_of_all_files(files[:1], total=least - 1) == ""
    assert text_of_all_files(files[:2], total=len(whole)) == whole
    assert TRUNCATED in text_of_all_files(files[:2], total=len(whole) - 1)


@pytest.mark.row("S2-08")
def test_the_same_text_is_there_once(tree: Tree) -> None:
    """Three files that say the same cost as much as one; the weakest level keeps it."""
    for name in ("CLAUDE.md", "project/CLAUDE.md", "project/CLAUDE.local.md"):
        tree.put(name, "Run the tests.\r\n" if "local" in name else "Run the tests.")
    sources = [each for each in tree.gather().sources if tree.owns(each.path)]

    made = text_of_all_files(sources)

    assert len(sources) == 3
    assert made == f"From {tree.root}/CLAUDE.md (parent):\n\nRun the tests.\n"


@pytest.mark.row("S2-23", "S2-49")
@pytest.mark.parametrize("size", [50, 3_900, 20_000])
def test_the_part_above_the_boundary_has_the_same_bytes_for_every_file(
    tree: Tree, size: int
) -> None:
    """Whatever the file at hand brings, and however much of it."""
    tree.put("project/CLAUDE.md", "always " * (size // 7))
    tree.put("home/.claude/CLAUDE.md", "mine " * (size // 5))
    tree.put("project/api/CLAUDE.md", "api " * size)
    tree.put("project/web/CLAUDE.md", "web")

    def text(path: str) -> str:
        return text_of_all_files(tree.gather(path).sources, has_file=True)

    api, web, none = text("api/x"), text("web/x"), text("docs/x")

    assert api.partition(BOUNDARY)[0] == web.partition(BOUNDARY)[0]
    assert web.startswith(none)
    assert BOUNDARY not in none
    assert api.count(BOUNDARY) == web.count(BOUNDARY) == 1
    assert "web" in web.partition(BOUNDARY)[2]
    assert text("api/x") == api


@given(
    st.lists(st.tuples(st.integers(0, 6_000), st.booleans()), max_size=12), st.integers(0, 15_000)
)
@settings(max_examples=200)
def test_no_limit_is_ever_exceeded(files: list[tuple[int, bool]], total: int) -> None:
    """And the mark is there only where something is missing."""
    sources = [
        source(f"/p/{at}", f"{at:03}" + "y" * size, CHILD if nested else PROJECT)
        for at, (size, nested) in enumerate(files)
    ]

    made = text_of_all_files(sources, total=total)

    assert len(made) <= total
    assert TRUNCATED not in made or not all(each.text in made for each in sources)


@pytest.mark.row("S2-24", "S2-26", "S2-37")
@pytest.mark.parametrize("size", [marked.FILE_CHARACTERS, marked.FILE_CHARACTERS + 1])
def test_a_long_file_gives_its_beginning(tree: Tree, size: int) -> None:
    """The mark is there exactly where something is missing."""
    tree.put(tree.private(), "x" * size)

    text = unknown_to_client(str(tree.project), 9_000)

    end = f"\n{TRUNCATED}" if size > marked.FILE_CHARACTERS else ""
    assert text.endswith(f" (private):\n\n{'x' * marked.FILE_CHARACTERS}{end}\n")


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
