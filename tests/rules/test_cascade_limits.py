"""Where the limits of a cascade lie, and in which words it tells of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from brimline.rules import cascade

if TYPE_CHECKING:
    from .conftest import Tree


def told(tree: Tree, most: int = cascade.MOST_CHARACTERS) -> list[str]:
    """The problems of the project, with their lines, in words."""
    found = tree.gather(most_characters=most).problems
    return [f"{each.line}: {each.text}" for each in found if tree.owns(each.path)]


OUTSIDE = "outside the project; Claude Code reads it only once you have approved it"
TOO_MUCH = "None: it is not read: it would be too much"


@pytest.mark.parametrize(
    ("files", "most", "read", "problems"),
    [
        # A file costs 2,000 characters at least; without that much left none is looked for.
        (["x"], 2_000, 1, []),
        (["x"], 1_999, 0, []),
        (["x", "y"], 4_000, 2, []),
        (["x", "y"], 3_999, 1, []),
        # A long one costs its length, one of short lines 20 characters for each of them.
        (["x" * 3_000], 3_000, 1, []),
        (["x" * 3_000], 2_999, 0, [TOO_MUCH]),
        (["\n" * 149 + "x\n"], 3_000, 1, []),
        (["\n" * 149 + "x\n"], 2_999, 0, [TOO_MUCH]),
        # What is too long takes nothing from what comes after it.
        (["x" * 3_000, "y"], 2_999, 1, [TOO_MUCH]),
        # An import costs 400 more.
        (["@a.md"], 4_400, 2, []),
        (["@a.md"], 4_399, 1, []),
        (["@a.md"], 2_400, 1, []),
        (["@a.md"], 2_399, 1, ["1: there are too many imports"]),
        (["x\n@a.md\n@b.md\n@c.md"], 2_000, 1, ["2: there are too many imports"]),
        (["@gone.md"], 2_400, 1, ["1: @gone.md is not there"]),
        (
            ["@gone.md\n@lost.md"],
            2_799,
            1,
            ["1: @gone.md is not there", "2: there are too many imports"],
        ),
    ],
)
def test_files_lines_and_imports_use_up_what_a_project_may_cost(
    tree: Tree,
    files: list[str],
    most: int,
    read: int,
    problems: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To the character; what is beyond it is not read."""
    for name, costs in (("LINE", 20), ("IMPORT", 400), ("FILE", 2_000)):
        monkeypatch.setattr(cascade, f"_{name}_CHARACTERS", costs)
    tree.put("project/a.md", "imported")
    for name, text in zip(("CLAUDE.md", "CLAUDE.local.md"), files, strict=False):
        tree.put(f"project/{name}", text)

    assert len(tree.names(tree.gather(most_characters=most))) == read
    assert told(tree, most) == problems


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        *[(code, "ab") for code in (1, 7, 8, 11, 12, 14, 27, 31, 127, 128, 155, 159)],
        *[(code, f"a{chr(code)}b") for code in (9, 10, 32, 33, 126, 160, 161, 0x2028)],
        (13, "a\nb"),
    ],
)
def test_what_a_terminal_would_obey_is_taken_out(tree: Tree, code: int, shown: str) -> None:
    """Tabs, line ends and all that can be read stay."""
    tree.put("project/CLAUDE.md", f"a{chr(code)}b")

    (source,) = [each for each in tree.gather().sources if tree.owns(each.path)]

    assert source.text == shown


def test_links_that_lead_nowhere_out_or_to_a_folder_are_told_in_words(tree: Tree) -> None:
    """In the order in which the files are looked for."""
    tree.put("home/secret.md", "SECRET")
    os.symlink(tree.root / "home" / "secret.md", tree.project / "CLAUDE.md")
    os.symlink("nothing", tree.project / "CLAUDE.local.md")
    (tree.project / "AGENTS.md").mkdir()

    assert told(tree) == [
        "None: it is a link that leads out of the project, and is not read",
        "None: it is a link to nothing",
        "None: it cannot be read: Is a directory",
    ]
    assert all(each.is_to_be_mended for each in tree.gather().problems)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("@~/x.md", f"1: @~/x.md is {OUTSIDE}"),
        ("\n@1.md", "2: @5.md is deeper than the four imports in a row that Claude Code follows"),
        ("@./gone", "1: @./gone is not there"),
        ("@../project/gone", "1: @../project/gone is not there"),
        ("@gone.txt @gone", ""),
        ("@3.md @4.md", ""),
    ],
)
def test_imports_that_lead_nowhere_out_or_too_deep_are_told_in_words(
    tree: Tree, text: str, problem: str
) -> None:
    """With the line that asks for them."""
    for number in range(1, 5):
        tree.put(f"project/{number}.md", f"text {number}\n@{number + 1}.md")
    tree.put("project/4.md", "text 4\n@5.md")
    tree.put("project/5.md", "text 5")
    tree.put("project/CLAUDE.md", text)

    assert told(tree) == ([problem] if problem else [])


FOLDERS = cascade._MOST_FOLDERS


@pytest.mark.parametrize(("folders", "is_read"), [(FOLDERS - 2, True), (FOLDERS - 1, False)])
def test_rules_are_looked_for_in_so_many_folders(tree: Tree, folders: int, is_read: bool) -> None:
    """The folder of rules itself is one of them."""
    rules = tree.project / ".claude" / "rules"
    for number in range(folders):
        (rules / f"{number:03}").mkdir(parents=True)
    tree.put("project/.claude/rules/zzz/r.md")

    assert tree.names(tree.gather()) == ["project/.claude/rules/zzz/r.md"] * is_read


@pytest.mark.parametrize(
    ("front", "patterns", "why"),
    [
        ("paths: a/**", ("a",), "its `paths:` name a"),
        ("paths: a, b, c, d", ("a", "b", "c", "d"), "its `paths:` name a, b, c"),
        ("paths: a, a, 'b'", ("a", "b"), "its `paths:` name a, b"),
        ('x: 1\npaths: [a, "b"]', ("a", "b"), "its `paths:` name a, b"),
        ("paths:\n- a # why\n# note\n  - b\nc: d", ("a", "b"), "its `paths:` name a, b"),
        ("paths: a # b", ("a",), "its `paths:` name a"),
        ("paths: {a,b}/c", ("a/c", "b/c"), "its `paths:` name a/c, b/c"),
        ("paths: '**', b", ("**", "b"), "its `paths:` name **, b"),
        ("paths: '**'", (), "it is the project's own"),
        ("paths:", (), "it is the project's own"),
        ("path: a", (), "it is the project's own"),
    ],
)
def test_a_rule_file_says_what_it_is_meant_for(
    tree: Tree, front: str, patterns: tuple[str, ...], why: str
) -> None:
    """Each pattern once, the first three in words."""
    tree.put("project/.claude/rules/r.md", f"---\n{front}\n---\nrule")

    (source,) = [s for s in tree.gather(folders=[]).sources if tree.owns(s.path)]

    assert (source.patterns, source.why) == (patterns, why)
    assert source.client == ("match" if patterns else "start")


def test_what_a_file_imports_that_is_not_read_is_not_read_either(tree: Tree) -> None:
    """The note says which of the two it is; a chain of imports is told throughout."""
    tree.put("project/CLAUDE.md", "speaks")
    tree.put("project/AGENTS.md", "@a.md")
    tree.put("project/a.md", "a @b.md")
    tree.put("project/b.md", "b")

    found = {tree.name(s.path): s for s in tree.gather().sources if tree.owns(s.path)}

    told = {name: (s.client, s.client_note.partition(" where")[0]) for name, s in found.items()}
    assert told == {
        "project/CLAUDE.md": ("start", ""),
        "project/AGENTS.md": ("never", "AGENTS.md is read only"),
        "project/a.md": ("never", "what imports it is not read"),
        "project/b.md": ("never", "what imports it is not read"),
    }


@pytest.mark.parametrize(
    ("importer", "client"),
    [("repo/project/CLAUDE.md", "never"), ("home/.claude/CLAUDE.md", "start")],
)
def test_an_import_from_above_the_project_needs_leave_unless_the_user_asks(
    tree: Tree, importer: str, client: str
) -> None:
    """What the user's own file imports may lie anywhere."""
    tree.put("repo/.git/HEAD", "")
    shared = tree.put("repo/shared.md", "shared")
    tree.project = tree.root / "repo" / "project"
    tree.project.mkdir()
    tree.put(importer, f"@{shared}")

    (source,) = [s for s in tree.gather().sources if s.path == str(shared)]

    assert source.client == client
    assert source.client_note.startswith("outside the project; ") is (client == "never")


def test_a_folder_of_rules_that_a_link_fetches_from_outside_is_passed_over(tree: Tree) -> None:
    """Without a word for each file in it; one that is linked from inside is read."""
    tree.put("home/others/r.md")
    tree.put("project/shared/s.md")
    (tree.project / ".claude" / "rules").mkdir(parents=True)
    os.symlink(tree.root / "home" / "others", tree.project / ".claude" / "rules" / "out")
    os.symlink(tree.project / "shared", tree.project / ".claude" / "rules" / "in")

    assert tree.names(tree.gather()) == ["project/.claude/rules/in/s.md"]
    assert told(tree) == []
