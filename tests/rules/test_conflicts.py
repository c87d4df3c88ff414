"""Statements that clash or repeat: a guess by words, with few false alarms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.rules import conflicts, markdown
from brimline.rules.model import CHILD, PROJECT, Source
from brimline.rules.statements import statements

if TYPE_CHECKING:
    from brimline.rules.statements import Statement


def source(path: str, text: str, level: str = PROJECT) -> Source:
    """A file of a folder."""
    document = markdown.parse(text)
    folder = path.rpartition("/")[0]
    return Source(path, level, "", folder, document, document.body, "start")


def said(*texts: str) -> list[Statement]:
    """What files say, one text each."""
    return list(statements([source(f"/p/{at}.md", text) for at, text in enumerate(texts)]))


@pytest.mark.row("S2-09", "S2-36")
@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("Use tabs for indentation.", "Never use tabs for indentation", "opposite"),
        ("- Always commit lock files", "- Don't commit lock files", "opposite"),
        ("You must squash commits", "You must not squash commits.", "opposite"),
        ("Mocks are forbidden", "**Use mocks**", "opposite"),
        ("Lines are at most 80 characters", "Lines are at most 100 characters", "number"),
        ("Use tabs for indentation", "Use spaces for indentation", "choice"),
        ("Install with npm", "Install with pnpm", "choice"),
        ("Use single quotes", "Prefer double quotes", "choice"),
    ],
)
def test_a_contradiction_is_seen(one: str, other: str, kind: str) -> None:
    """In either order; the later file is the nearer one."""
    (clash,) = conflicts.contradictions(said(one, other))

    assert (clash.kind, clash.first.path, clash.second.path) == (kind, "/p/0.md", "/p/1.md")
    assert len(conflicts.contradictions(said(other, one))) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use tabs", "Use tabs"),
        ("Never commit without tests", "Always commit with tests"),
        ("Use tabs in Makefiles", "Never use tabs in Python"),
        ("Run the tests", "Run the linter"),
        ("Version 3 is the newest", "Python 3 is used"),
        ("```\nUse tabs\n```", "Never use tabs"),
        ("# Use tabs", "Never use tabs"),
        ("| Use tabs |", "Never use tabs"),
        ("", "Never use tabs"),
        ("- Python 3.11", "- Python 3.12"),
        ("- Up to 80 characters in code\n- Up to 100 characters in code", ""),
        ("- Install with npm\n- Install with yarn", ""),
    ],
)
def test_different_matters_do_not_clash(one: str, other: str) -> None:
    """Nor do code, headings and tables."""
    assert conflicts.contradictions(said(one, other)) == []


def test_files_that_never_meet_do_not_clash() -> None:
    """Two packages may disagree; a folder and one inside it may not."""
    web = source("/p/web/CLAUDE.md", "Use tabs", CHILD)
    api = source("/p/api/CLAUDE.md", "Never use tabs", CHILD)
    inner = source("/p/web/x/CLAUDE.md", "Never use tabs", CHILD)
    root = source("/p/CLAUDE.md", "Use tabs")

    assert conflicts.contradictions(statements([web, api])) == []
    assert len(conflicts.contradictions(statements([web, inner]))) == 1
    assert len(conflicts.contradictions(statements([root, api]))) == 1


def test_a_sentence_in_two_files_is_a_repetition() -> None:
    """Whatever its case and decoration; two words are no sentence."""
    found = conflicts.repetitions(
        said(
            "- Run **make check** before a commit.\n- Be brief",
            "run make check before a commit",
            "Be brief",
        )
    )

    assert [(clash.first.path, clash.second.path) for clash in found] == [("/p/0.md", "/p/1.md")]


@pytest.mark.row("S2-36")
def test_a_statement_has_a_place_and_an_identity() -> None:
    """The same rule has the same identity in every file."""
    one, two, three = said("# Head\n\n1. Use `tabs`.\n   Always.\n\nOther.\nMore here.")[:3]
    (other,) = said("use tabs. always")

    assert (one.text, one.line) == ("Use `tabs`. Always.", 3)
    assert (two.text, three.text) == ("Other.", "More here.")
    assert (two.line, three.line) == (6, 7)
    assert one.identity == other.identity != two.identity


def test_many_statements_are_compared_in_reasonable_time() -> None:
    """Twenty thousand end; pairs are found by subject, not by trying all."""
    text = "\n".join(f"- Use tool{number} for task{number}" for number in range(20_000))

    assert conflicts.contradictions(said(text)) == []
