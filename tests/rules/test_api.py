"""What the other rooms get: marked rules, and the files that the client does not load."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline import paths
from brimline.rules import api

if TYPE_CHECKING:
    from .conftest import Tree


def private_file(tree: Tree) -> str:
    """The user's own file for the project, from the root of the world."""
    folder = Path(paths.project_transcripts(str(tree.project)))
    return str(folder.relative_to(Path(paths.client_config_dir()).parent.parent) / "CLAUDE.md")


@pytest.fixture
def start(tree: Tree, values: dict[str, Any]) -> Any:
    """The text for the start of a session."""

    def make(budget: int = 9_000, organisation: str | None = None) -> str:
        chosen = {**values, "rules.organisation_file": organisation}
        return api.for_session_start(str(tree.project), budget, chosen)

    return make


def test_only_what_the_client_does_not_know_is_given_at_the_start(tree: Tree, start: Any) -> None:
    """The organisation's file and the private one, with their imports; nothing else."""
    organisation = tree.put("acme/RULES.md", "org says\n@extra.md")
    tree.put("acme/extra.md", "org says more")
    tree.put(private_file(tree), "just for me here")
    tree.put("home/.claude/CLAUDE.md", "user says")
    tree.put("project/CLAUDE.md", "project says")
    tree.put("project/AGENTS.md", "agents say")
    tree.put("managed/CLAUDE.md", "managed says")

    text = start(organisation=str(organisation))

    assert text.startswith("[brimline] Instructions that Claude Code does not load by itself:\n\n")
    assert text.count("says") == 2
    assert "org says" in text
    assert "org says more" in text
    assert "just for me here" in text


def test_the_managed_file_is_not_repeated(tree: Tree, start: Any) -> None:
    """Where the setting names the very file that the client loads, or one that says the same."""
    managed = tree.put("managed/CLAUDE.md", "managed says")
    copy = tree.put("acme/RULES.md", "managed says\n")
    tree.put("home/.claude/CLAUDE.md", "mine")
    tree.put(private_file(tree), "mine")

    assert start(organisation=str(managed)) == ""
    assert start(organisation=str(copy)) == ""


def test_nothing_to_add_is_an_empty_text(tree: Tree, start: Any) -> None:
    """No heading without a rule."""
    tree.put(private_file(tree), " \n<!-- later -->\n")

    assert start() == ""


@pytest.mark.row("S2-23", "S2-49")
def test_the_same_files_give_the_same_bytes(tree: Tree, start: Any) -> None:
    """Two consecutive texts are identical: nothing in them counts or dates."""
    tree.put(private_file(tree), "rule\n" * 50)

    assert start() == start() != ""


@pytest.mark.row("S2-24", "S2-26", "S2-40")
@pytest.mark.parametrize("budget", [9_000, 5_000, 500, 150, 0])
def test_the_text_keeps_within_what_a_hook_may_say(tree: Tree, start: Any, budget: int) -> None:
    """Cut with a mark, or nothing at all."""
    organisation = tree.put("acme/RULES.md", "org " * 3_000)
    tree.put(private_file(tree), "own " * 3_000)

    text = start(budget, str(organisation))

    assert len(text) <= budget
    assert not text or "[truncated]" in text


def test_a_project_cannot_name_the_organisations_file(tree: Tree) -> None:
    """Its settings may come from a stranger; the user's may name one."""
    secret = tree.put("home/secret.md", "SECRET (ENFORCED)")
    setting = f'[rules]\norganisation_file = "{secret}"\n'
    tree.put("project/.claude/brimline.toml", setting)

    assert api.marked(str(tree.project)) == []
    assert api.for_session_start(str(tree.project), 9_000) == ""

    tree.put("brimline/config.toml", setting)

    assert [rule.text for rule in api.marked(str(tree.project))] == ["SECRET (ENFORCED)"]


def test_limits_come_from_the_settings(tree: Tree) -> None:
    """Unless they are handed in."""
    tree.put("project/.claude/brimline.toml", "[rules]\nfile_characters = 10\n")

    assert api.limits(str(tree.project)) == (10, 12_000)
