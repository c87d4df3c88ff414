"""What is said of the client: when it loads a file, and why not. The client suite agrees."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Tree


def said(tree: Tree, *active: str) -> dict[str, str]:
    """What is said of each file."""
    found = tree.gather(*active)
    return {tree.name(s.path): s.client for s in found.sources if tree.owns(s.path)}


def test_files_above_the_work_load_at_the_start_and_below_it_on_reading(tree: Tree) -> None:
    """A scoped rule waits for a file that matches; what it imports does not wait."""
    tree.put("CLAUDE.md", "above")
    tree.put("project/CLAUDE.md", "@a.md")
    tree.put("project/a.md", "imported")
    tree.put("project/.claude/rules/r.md", "---\npaths: src/**\n---\nscoped\n@../../b.md")
    tree.put("project/b.md", "also imported")
    tree.put("project/src/CLAUDE.md", "nested\n@c.md")
    tree.put("project/src/c.md", "nested import")

    assert said(tree, "src/x.py") == {
        "CLAUDE.md": "start",
        "project/CLAUDE.md": "start",
        "project/a.md": "start",
        "project/.claude/rules/r.md": "match",
        "project/b.md": "start",
        "project/src/CLAUDE.md": "read",
        "project/src/c.md": "read",
    }


@pytest.mark.parametrize(
    ("beside", "loads"),
    [
        (None, "start"),
        ("home/.claude/CLAUDE.md", "start"),
        ("project/.claude/rules/r.md", "start"),
        ("project/src/CLAUDE.md", "start"),
        ("project/CLAUDE.md", "never"),
        ("project/.claude/CLAUDE.md", "never"),
        ("project/CLAUDE.local.md", "never"),
        ("CLAUDE.md", "never"),
    ],
)
def test_agents_md_loads_only_where_no_claude_md_speaks(
    tree: Tree, beside: str | None, loads: str
) -> None:
    """As it was observed, place by place."""
    tree.put("project/AGENTS.md", "agents")
    if beside:
        tree.put(beside, "something else")

    assert said(tree, "src/x.py")["project/AGENTS.md"] == loads


def test_an_empty_claude_md_is_none(tree: Tree) -> None:
    """Blank or nothing but comments."""
    tree.put("project/AGENTS.md", "agents")
    tree.put("project/CLAUDE.md", "\n<!-- later -->\n")

    assert said(tree)["project/AGENTS.md"] == "start"


def test_agents_md_that_is_imported_loads_with_its_importer(tree: Tree) -> None:
    """The usual way to have both."""
    tree.put("project/AGENTS.md", "agents")
    tree.put("project/CLAUDE.md", "@AGENTS.md")

    assert said(tree) == {"project/CLAUDE.md": "start", "project/AGENTS.md": "start"}


def test_the_private_file_and_the_configured_one_are_unknown_to_it(tree: Tree) -> None:
    """Nor does it load what they import."""
    private = str(tree.project).replace("/", "-").replace("_", "-")
    tree.put(f"home/.claude/projects/{private}/CLAUDE.md", "@more.md")
    tree.put(f"home/.claude/projects/{private}/more.md", "more")

    assert set(said(tree).values()) == {"never"}


@pytest.mark.parametrize("scope", ["home/.claude/settings.json", "project/.claude/settings.json"])
def test_excluded_files_are_left_out_by_both(tree: Tree, scope: str) -> None:
    """The client's own setting; a project's cannot hide the user's rules from us."""
    tree.put("home/.claude/CLAUDE.md", "the user's")
    tree.put("project/CLAUDE.md", "the project's")
    tree.put(scope, json.dumps({"claudeMdExcludes": ["**/CLAUDE.md", 5, "*" * 50]}))

    found = {tree.name(s.path): s for s in tree.gather().sources if tree.owns(s.path)}

    assert {source.client for source in found.values()} == {"never"}
    assert found["project/CLAUDE.md"].excluded
    assert found["home/.claude/CLAUDE.md"].excluded is scope.startswith("home")
