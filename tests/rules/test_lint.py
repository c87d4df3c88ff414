"""The findings: broken or doubtful, at their place, and silence about sound files."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from brimline import programs
from brimline.rules import lint, marked

if TYPE_CHECKING:
    from brimline.rules.cascade import Problem

    from .conftest import Tree

DAY_S = 86_400
NOW = 1_800_000_000
DAYS_AND_COMMITS = (90, 3)


def check(tree: Tree, stale: tuple[int, int] = DAYS_AND_COMMITS) -> list[Problem]:
    """All findings of a project, those of this world only."""
    walked = lint.survey_project_files(str(tree.project))
    cascade = tree.gather(folders=walked.folders)
    findings, _ = lint.lint(cascade, walked, NOW, stale=stale)
    return [each for each in findings if tree.owns(each.path)]


def gone(tree: Tree, text: str, name: str = "project/CLAUDE.md") -> list[str]:
    """The references of a file that lead nowhere."""
    tree.put(name, text)
    return [f.text.partition(" is ")[0] for f in check(tree) if f.kind == "reference"]


def git(tree: Tree, *arguments: str, days_ago: int = 0) -> None:
    """Run git in the project, at a time of choice."""
    moment = f"{NOW - days_ago * DAY_S} +0000"
    identity = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com"}
    identity |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"}
    dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
    env = {**os.environ, **identity, **dates, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=tree.project, env=env, check=True, capture_output=True)


def commit(tree: Tree, name: str, text: str, days_ago: int) -> None:
    """Change a file and commit it."""
    tree.put(f"project/{name}", text)
    git(tree, "add", name)
    git(tree, "commit", "-q", "-m", name, days_ago=days_ago)


@pytest.mark.row("S2-09")
def test_sound_files_are_not_complained_about(tree: Tree) -> None:
    """Imports, scopes, nested files and marks; no contradiction is guessed from words."""
    tree.put("project/CLAUDE.md", "# Use tabs\n\n- Run `make check` (ENFORCED)\n@AGENTS.md\n")
    tree.put("project/AGENTS.md", "- Keep functions short")
    tree.put("project/.claude/rules/r.md", "---\npaths: src/**\n---\nUse types")
    tree.put("project/src/CLAUDE.md", "Never use tabs. Pure code only, see `src/main.py`")
    tree.put("project/src/main.py")

    assert check(tree) == []


@pytest.mark.row("S2-05", "S2-09")
@pytest.mark.parametrize(
    ("files", "severity", "kind"),
    [
        ({"CLAUDE.md": "@gone.md"}, "broken", "import"),
        ({"CLAUDE.md": "@CLAUDE.md"}, "broken", "cycle"),
        ({"CLAUDE.md": "`docs/gone.md`"}, "broken", "reference"),
        ({"CLAUDE.md": "@~/x.md"}, "doubtful", "outside"),
        ({"CLAUDE.md": "same", "CLAUDE.local.md": "same"}, "doubtful", "duplicate"),
        (
            {
                "CLAUDE.md": "- Run all the tests before each push.",
                "a/CLAUDE.md": "- x\n- **Run** all the tests before each push",
            },
            "doubtful",
            "repeated",
        ),
        ({"CLAUDE.md": "x", "AGENTS.md": "y"}, "doubtful", "unread"),
        ({"CLAUDE.md": "word " * 1_000}, "doubtful", "large"),
        ({"a/CLAUDE.md": "# All (ENFORCED)\n" + "word\n" * 2_000}, "doubtful", "marked"),
        ({"rules/style.md": "- Use tabs."}, "doubtful", "unread"),
        ({"CLAUDE.md": b"\0"}, "broken", "unreadable"),
    ],
)
def test_each_fault_is_found(
    tree: Tree, files: dict[str, str | bytes], severity: str, kind: str
) -> None:
    """One at a time."""
    for name, text in files.items():
        tree.put(f"project/{name}", text)

    assert (severity == "broken", kind) in {
        (each.is_to_be_mended, each.kind) for each in check(tree)
    }


@pytest.mark.row("S2-05")
def test_names_are_looked_up_where_people_mean_them(tree: Tree) -> None:
    """From the file, from the project, or short for a path in it; a link or a dot is exact."""
    near = (
        "`src/pkg/cli/main.py:12` `cli/main.py:12-20` `./pkg/cli/main.py` `../src/pkg/cli/main.py` "
        "- [x](pkg/cli/main.py#part 'title')"
    )
    assert len(gone(tree, near, "project/src/CLAUDE.md")) == 5
    tree.put("project/src/pkg/cli/main.py")

    assert gone(tree, near, "project/src/CLAUDE.md") == []
    assert gone(tree, "`./cli/main.py` [x](cli/main.py) `cli/mai.py`") == [
        "./cli/main.py",
        "cli/main.py",
        "cli/mai.py",
    ]


@pytest.mark.row("S2-05")
def test_rules_are_stale_where_the_code_moved(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """By both days and commits; with either one missing they are not. Without git it is said."""
    git(tree, "init", "-q")
    commit(tree, "CLAUDE.md", "old rule", 100)
    commit(tree, "web/CLAUDE.md", "old rule for the web, quiet since", 100)
    commit(tree, ".claude/rules/r.md", "about what lies around its folder", 89)
    for number in range(3):
        commit(tree, f"src/{number}.py", "code", 1)

    (found,) = check(tree)
    assert (found.kind, tree.name(found.path)) == ("stale", "project/CLAUDE.md")
    assert "100 days ago, 5 commits" in found.text
    for lenient in ((101, 3), (90, 6)):
        assert check(tree, lenient) == []
    assert len(check(tree, (80, 3))) == 2
    monkeypatch.setattr(programs, "PLACES", ("/nowhere",))
    walked = lint.survey_project_files(str(tree.project))
    assert "ages are not checked" in lint.lint(tree.gather(), walked, NOW)[1][0]


def test_folders_with_instructions_are_found_below_a_project(tree: Tree) -> None:
    """Not in other people's code, nor through links that lead in circles."""
    for name in ("a/CLAUDE.md", "b/c/AGENTS.md", "d/.claude/rules/x.md", "e/f/notes.md"):
        tree.put(f"project/{name}")
    tree.put("project/node_modules/x/CLAUDE.md")
    tree.put("project/CLAUDE.md")
    (tree.project / "loop").symlink_to(tree.project)

    found = lint.survey_project_files(str(tree.project))

    assert [tree.name(one) for one in found.folders] == ["project/a", "project/b/c", "project/d"]
    assert found.is_complete


@pytest.mark.parametrize(
    ("first", "second", "kinds"),
    [
        ("a", "a/b", ["repeated"]),
        ("a/b", "a", ["repeated"]),
        ("a", "b", []),
        ("a", "ab", []),
    ],
)
def test_nested_files_repeat_each_other_where_one_lies_in_the_others_folder(
    tree: Tree, first: str, second: str, kinds: list[str]
) -> None:
    """Elsewhere the model never sees both."""
    tree.put(f"project/{first}/CLAUDE.md", "- Run all the tests before each push.\n- x")
    tree.put(f"project/{second}/CLAUDE.md", "- Run all the tests before each push.\n- y")

    assert [each.kind for each in check(tree)] == kinds


# What the budget leaves for the third file.
LAST = marked.TOTAL_CHARACTERS - 8_000


@pytest.mark.row("S2-25")
@pytest.mark.parametrize(("last", "is_told"), [(LAST, False), (LAST + 1, True)])
def test_what_loads_at_the_start_is_large_beyond_its_budget(
    tree: Tree, last: int, is_told: bool
) -> None:
    """All of it together, each text once; it is told at the last file."""
    for name, letter in (("CLAUDE", "a"), (".claude/CLAUDE", "b"), (".claude/rules/r", "c")):
        tree.put(f"project/{name}.md", letter * (last if letter == "c" else 4_000))
    tree.put("project/CLAUDE.local.md", "a" * 4_000)
    tree.put("project/sub/CLAUDE.md", "d" * 4_000)

    found = [each for each in check(tree) if each.text.startswith("what loads")]

    text = f"what loads at the start has {8_000 + last:,} characters, over {8_000 + LAST:,}"
    assert [each.text for each in found] == [text] * is_told
    assert [tree.name(each.path) for each in found] == ["project/CLAUDE.local.md"] * is_told


@pytest.mark.parametrize(
    ("text", "found"),
    [
        *[(f"`a/b.py{place}`", ["a/b.py"]) for place in ("", ":12", ":12:3", ":12-20", "#L3")],
        ("`./b.py` `../b.py` `a/b/`", ["./b.py"]),
        ("`a/b` `b.py` `a/b.longerthan8`", []),
        ("`a/b.12345678` `a/b.x1234567`", ["a/b.x1234567"]),
        ("[x](a%20b.md) [y](c.md#d) [z](<e f>)", ["a b.md", "c.md", "e f"]),
        ("[x](http://a/b.md) [y](/a.md) [z](~/a.md) [w](#a)", []),
        ("# `a/b.py`\n\n| `a/c.py` |\n|---|\n", []),
    ],
)
def test_what_surely_is_a_path_is_looked_for(tree: Tree, text: str, found: list[str]) -> None:
    """A code span with a slash and an ending, or a link into the project; not in headings."""
    assert gone(tree, text) == [name for name in found if not name.startswith("../")]


def test_a_file_that_git_does_not_know_is_never_stale(tree: Tree) -> None:
    """It has no age yet."""
    git(tree, "init", "-q")
    commit(tree, "src/a.py", "code", 100)
    tree.put("project/CLAUDE.md", "new rule")

    assert check(tree, (0, 0)) == []


@pytest.mark.row("S2-23", "S2-49")
@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Frozen since 2026-11-19.", "2026-11-19"),
        ("Today we work on the importer.", "Today"),
        ("The current branch is feature/x.", "current branch"),
        ("We are at v2.14.1.", "v2.14.1"),
        ("All 9,198 tests pass.", "9,198 tests"),
        ("Run 2 tests at a time, with Python 3.11, on port 5433.", None),
        ("<!-- 2026-11-19 -->", None),
        ("`pytest --since 2026-11-19`", None),
    ],
)
def test_what_changes_from_day_to_day_is_named_with_its_cost(
    tree: Tree, said: str, found: str | None
) -> None:
    """In what loads at the start; a folder's own file comes with the file at hand, at the end."""
    tree.put("project/CLAUDE.md", f"# Rules\n\n{said}\n")
    tree.put("project/sub/CLAUDE.md", f"{said}\n")

    problems = [each for each in check(tree) if each.kind == "changing"]

    assert [each.line for each in problems] == ([3] if found else [])
    assert all(f"“{found}”" in each.text and "cache" in each.text for each in problems)
