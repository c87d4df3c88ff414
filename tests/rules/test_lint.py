"""The findings: broken or doubtful, at their place, and silence about sound files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.rules import lint, survey
from brimline.rules.assemble import Limits

from .test_age import NOW, commit, git

if TYPE_CHECKING:
    from .conftest import Tree

THRESHOLDS = lint.Thresholds(stale_days=90, stale_commits=3)


def check(tree: Tree, thresholds: lint.Thresholds = THRESHOLDS) -> lint.Report:
    """All findings of a project, those of this world only."""
    walked = survey.survey(str(tree.project))
    cascade = tree.gather(folders=walked.folders, all_scopes=True)
    report = lint.lint(cascade, Limits(), thresholds, walked, NOW)
    return report._replace(findings=[each for each in report.findings if tree.owns(each.path)])


def kinds(tree: Tree) -> set[tuple[str, str]]:
    """Severity and kind of each finding."""
    return {(each.severity, each.kind) for each in check(tree).findings}


def test_sound_files_are_not_complained_about(tree: Tree) -> None:
    """Imports, scopes, nested files and marks as they should be."""
    tree.put("project/CLAUDE.md", "# Rules\n\n- Run `make check` (ENFORCED)\n@AGENTS.md\n")
    tree.put("project/AGENTS.md", "- Keep functions short")
    tree.put("project/.claude/rules/r.md", "---\npaths: src/**\n---\nUse types")
    tree.put("project/src/CLAUDE.md", "Pure code only, see `src/main.py`")
    tree.put("project/src/main.py")

    assert check(tree).findings == []


@pytest.mark.parametrize(
    ("files", "severity", "kind"),
    [
        ({"CLAUDE.md": "@gone.md"}, "broken", "import"),
        ({"CLAUDE.md": "@CLAUDE.md"}, "broken", "cycle"),
        ({"CLAUDE.md": "`docs/gone.md`"}, "broken", "reference"),
        ({"CLAUDE.md": "@~/x.md"}, "doubtful", "outside"),
        ({"CLAUDE.md": "same", "CLAUDE.local.md": "same"}, "doubtful", "duplicate"),
        ({"CLAUDE.md": "Use tabs", "src/CLAUDE.md": "Never use tabs"}, "doubtful", "conflict"),
        (
            {"CLAUDE.md": "One. Run the tests first.", "a/CLAUDE.md": "Two. Run the tests first."},
            "doubtful",
            "repeated",
        ),
        ({"CLAUDE.md": "x", "AGENTS.md": "y"}, "doubtful", "unread"),
        ({"CLAUDE.md": "word " * 1_000}, "doubtful", "large"),
        ({"CLAUDE.md": "# All (ENFORCED)\n" + "word\n" * 2_000}, "doubtful", "marked"),
    ],
)
def test_each_fault_is_found(tree: Tree, files: dict[str, str], severity: str, kind: str) -> None:
    """One at a time."""
    for name, text in files.items():
        tree.put(f"project/{name}", text)

    assert (severity, kind) in kinds(tree)


def test_an_unreadable_file_is_broken(tree: Tree) -> None:
    """Here a folder of that name."""
    (tree.project / "CLAUDE.md").mkdir()

    assert kinds(tree) == {("broken", "unreadable")}


@pytest.mark.row("S2-05")
def test_rules_left_alone_while_the_code_moved_are_stale(tree: Tree) -> None:
    """By both days and commits; with either one missing, or switched off, they are not."""
    git(tree, "init", "-q")
    commit(tree, "CLAUDE.md", "old rule", 100)
    commit(tree, "web/CLAUDE.md", "old rule for the web, quiet since", 100)
    for number in range(3):
        commit(tree, f"src/{number}.py", "code", 1)

    (found,) = check(tree).findings
    assert (found.kind, tree.name(found.path)) == ("stale", "project/CLAUDE.md")
    assert "100 days ago, and 4 commits" in found.text
    for lenient in (lint.Thresholds(101, 3), lint.Thresholds(90, 5), lint.Thresholds(0, 0)):
        assert check(tree, lenient).findings == []


def test_what_could_not_be_checked_is_said(tree: Tree) -> None:
    """No git, no ages; nothing is said where nobody asked for them."""
    assert "ages are not checked" in check(tree).notes[0]
    assert check(tree, lint.Thresholds(0, 0)).notes == []


def test_folders_with_instructions_are_found_below_a_project(tree: Tree) -> None:
    """Not in other people's code, nor through links that lead in circles."""
    for name in ("a/CLAUDE.md", "b/c/AGENTS.md", "d/.claude/rules/x.md", "e/.claude/settings.json"):
        tree.put(f"project/{name}")
    tree.put("project/node_modules/x/CLAUDE.md")
    tree.put("project/CLAUDE.md")
    (tree.project / "loop").symlink_to(tree.project)

    found = survey.survey(str(tree.project))

    assert [tree.name(one) for one in found.folders] == ["project/a", "project/b/c", "project/d"]
    assert found.is_complete
    assert found.has("c/AGENTS.md")
    assert not found.has("x/AGENTS.md")
