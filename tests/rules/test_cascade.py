"""Which instruction files hold for a project and for a file at hand, in which order."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from brimline.rules.cascade import Cascade

    from .conftest import Tree


def problems(found: Cascade) -> list[tuple[str, int | None]]:
    """The kinds of problems, with their lines."""
    return [(problem.kind, problem.line) for problem in found.problems]


@pytest.mark.row("S2-06", "S2-04", "S4-02")
def test_files_come_from_every_level_weakest_first(tree: Tree) -> None:
    """Organisation, user, own for the project, above, the project, below on the way."""
    private = str(tree.project).replace("/", "-").replace("_", "-")
    for name in (
        "acme/RULES.md",
        "managed/CLAUDE.md",
        "managed/.claude/rules/m.md",
        "home/.claude/CLAUDE.md",
        "home/.claude/rules/u.md",
        f"home/.claude/projects/{private}/CLAUDE.md",
        "CLAUDE.md",
        "project/CLAUDE.md",
        "project/.claude/CLAUDE.md",
        "project/.claude/rules/b.md",
        "project/.claude/rules/deep/a.md",
        "project/AGENTS.md",
        "project/.claude/AGENTS.md",
        "project/CLAUDE.local.md",
        "project/packages/CLAUDE.md",
        "project/packages/api/CLAUDE.md",
        "project/packages/web/CLAUDE.md",
    ):
        tree.put(name, f"text of {name}")

    found = tree.gather(
        "packages/api/server.py", organisation_file=str(tree.root / "acme" / "RULES.md")
    )

    assert tree.names(found) == [
        "acme/RULES.md",
        "managed/CLAUDE.md",
        "managed/.claude/rules/m.md",
        "home/.claude/CLAUDE.md",
        "home/.claude/rules/u.md",
        f"home/.claude/projects/{private}/CLAUDE.md",
        "CLAUDE.md",
        "project/CLAUDE.md",
        "project/.claude/CLAUDE.md",
        "project/.claude/rules/b.md",
        "project/.claude/rules/deep/a.md",
        "project/AGENTS.md",
        "project/.claude/AGENTS.md",
        "project/CLAUDE.local.md",
        "project/packages/CLAUDE.md",
        "project/packages/api/CLAUDE.md",
    ]
    assert found.problems == []


@pytest.mark.row("S2-07", "S2-37")
def test_what_holds_depends_on_the_file_at_hand(tree: Tree) -> None:
    """Editing the one package brings its rules and not the other's."""
    for part in ("api", "web"):
        tree.put(f"project/packages/{part}/CLAUDE.md", f"for {part}")
        tree.put(f"project/packages/{part}/server.py", "")

    api, web, none = (
        tree.names(tree.gather(*active))
        for active in (["packages/api/server.py"], ["packages/web/server.py"], [])
    )

    assert api == ["project/packages/api/CLAUDE.md"]
    assert web == ["project/packages/web/CLAUDE.md"]
    assert none == []


@pytest.mark.parametrize("path", ["src/new.py", "{root}/project/src/new.py", "./src/../src/x"])
def test_the_file_at_hand_need_not_exist(tree: Tree, path: str) -> None:
    """It may be about to be written; absolute and relative names are the same."""
    tree.put("project/src/CLAUDE.md")

    assert tree.names(tree.gather(path.format(root=tree.root))) == ["project/src/CLAUDE.md"]


@pytest.mark.parametrize("path", ["/elsewhere/x.py", "../other/x.py", "", "."])
def test_a_file_outside_the_project_brings_nothing_of_its_folders(tree: Tree, path: str) -> None:
    """What holds at the start holds for it too."""
    tree.put("project/CLAUDE.md")
    tree.put("other/CLAUDE.md")

    assert tree.names(tree.gather(path)) == ["project/CLAUDE.md"]


@pytest.mark.row("S2-40", "S2-39")
def test_rule_files_hold_where_their_paths_say(tree: Tree) -> None:
    """Without `paths:` for every file; with it for those that match, from the rules' own folder."""
    tree.put("project/.claude/rules/always.md")
    tree.put("project/.claude/rules/docs.md", "---\npaths: docs/**/*.md\n---\nfor docs")
    tree.put("home/.claude/rules/python.md", "---\npaths: '*.py'\n---\nfor python")
    tree.put("project/docs/guide.md")
    tree.put("project/guides/not-rules.md")

    assert tree.names(tree.gather()) == ["project/.claude/rules/always.md"]
    assert tree.names(tree.gather("docs/a/b.md")) == [
        "project/.claude/rules/always.md",
        "project/.claude/rules/docs.md",
    ]
    assert tree.names(tree.gather("src/x.py"))[0] == "home/.claude/rules/python.md"


def test_imports_follow_the_file_that_asks_for_them(tree: Tree) -> None:
    """Each file once, whoever asks first."""
    tree.put("project/CLAUDE.md", "@docs/a.md\n@docs/b.md")
    tree.put("project/docs/a.md", "a, see @b.md")
    tree.put("project/docs/b.md", "b")
    tree.put("project/.claude/CLAUDE.md", "own, see @../docs/a.md")

    found = tree.gather()

    assert tree.names(found) == [
        "project/CLAUDE.md",
        "project/docs/a.md",
        "project/docs/b.md",
        "project/.claude/CLAUDE.md",
    ]
    assert [source.why for source in found.sources if source.imported_by] == [
        "CLAUDE.md imports it, line 1",
        "a.md imports it, line 1",
    ]


def test_imports_go_five_deep_and_no_further(tree: Tree) -> None:
    """The client stops one earlier, which is said of the fifth."""
    tree.put("project/CLAUDE.md", "@1.md")
    for number in range(1, 8):
        tree.put(f"project/{number}.md", f"text {number}\n@{number + 1}.md")

    found = tree.gather()

    assert tree.names(found) == ["project/CLAUDE.md", *[f"project/{n}.md" for n in range(1, 6)]]
    assert [source.client for source in found.sources][-2:] == ["start", "never"]
    assert problems(found) == [("deep", 2)]


@pytest.mark.parametrize(
    ("files", "circle"),
    [
        ({"CLAUDE.md": "@CLAUDE.md"}, "CLAUDE.md → CLAUDE.md"),
        ({"CLAUDE.md": "@a.md", "a.md": "@CLAUDE.md"}, "CLAUDE.md → a.md → CLAUDE.md"),
        ({"CLAUDE.md": "@a.md", "a.md": "@b.md", "b.md": "@a.md"}, "a.md → b.md → a.md"),
    ],
)
def test_a_circle_of_imports_is_reported(tree: Tree, files: dict[str, str], circle: str) -> None:
    """And every file of it is read once."""
    for name, text in files.items():
        tree.put(f"project/{name}", text)

    found = tree.gather()

    assert sorted(tree.names(found)) == sorted(f"project/{name}" for name in files)
    assert [problem.text for problem in found.problems] == [f"imports go in a circle: {circle}"]


def test_a_project_cannot_have_files_from_outside_read(tree: Tree) -> None:
    """Neither by import nor by link; each attempt is told, and the user's own files may."""
    secret = tree.put("home/secret.md", "SECRET")
    tree.put("project/CLAUDE.md", f"@~/secret.md\n@../home/secret.md\n@{secret}\n@link.md")
    os.symlink(secret, tree.project / "link.md")
    os.symlink(secret, tree.project / "CLAUDE.local.md")
    (tree.project / ".claude").mkdir()
    os.symlink(tree.root / "home", tree.project / ".claude" / "rules")

    strangers = tree.gather()
    tree.put("home/.claude/CLAUDE.md", "@~/secret.md")
    own = tree.gather()

    assert tree.names(strangers) == ["project/CLAUDE.md"]
    assert problems(strangers) == [
        ("outside", 1),
        ("outside", 4),
        ("unreadable", None),
    ]
    assert "home/secret.md" in tree.names(own)


def test_a_repository_may_import_from_itself_above_the_session(tree: Tree) -> None:
    """The whole repository is one author's; the home folder never is one repository."""
    tree.put("CLAUDE.md", "@shared.md")
    tree.put("shared.md", "shared")
    (tree.root / ".git").mkdir()
    tree.put("project/CLAUDE.md", "@../shared2.md")
    tree.put("shared2.md", "more")

    inside_home = tree.gather()
    (tree.root / ".git").rmdir()
    tree.put("repo/.git/HEAD", "")
    tree.put("repo/shared.md", "shared")
    tree.put("repo/project/CLAUDE.md", "@../shared.md")
    tree.project = tree.root / "repo" / "project"
    repository = tree.gather()

    assert "shared2.md" not in tree.names(inside_home)
    assert tree.names(repository)[-2:] == ["repo/project/CLAUDE.md", "repo/shared.md"]
    assert "approved" in repository.sources[-1].client_note


def test_missing_imports_are_told_where_they_are_surely_meant(tree: Tree) -> None:
    """A full stop that the client takes for part of the name is pointed out."""
    tree.put("project/CLAUDE.md", "@gone.md\n@alice\n@there.md.")
    tree.put("project/there.md")

    found = tree.gather()

    assert [problem.text for problem in found.problems] == [
        "@gone.md is not there",
        "@there.md. is not found: Claude Code takes the '.' for part of the name",
    ]


@pytest.mark.parametrize("name", ["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"])
def test_odd_things_in_the_place_of_a_file_stop_nothing(tree: Tree, name: str) -> None:
    """Folders, binary data and circles are told; the rest of the cascade stands."""
    (tree.project / name).mkdir()
    tree.put("project/src/CLAUDE.md", b"\x00\x01binary")
    tree.put("project/src/CLAUDE.local.md", b"fine \xff though")
    (tree.project / ".claude" / "rules").mkdir(parents=True)
    os.symlink("loop.md", tree.project / ".claude" / "rules" / "loop.md")
    os.symlink("..", tree.project / ".claude" / "rules" / "up")
    tree.put("project/.claude/CLAUDE.md", "stands")

    found = tree.gather("src/x")

    assert tree.names(found) == ["project/.claude/CLAUDE.md", "project/src/CLAUDE.local.md"]
    assert {kind for kind, _ in problems(found)} == {"unreadable"}
    assert len(found.problems) == 4


def test_a_repository_cannot_crowd_out_the_users_rules(tree: Tree) -> None:
    """Of megabytes of rules some are left out, and that is told; what is the user's stays."""
    tree.put("home/.claude/CLAUDE.md", "mine")
    for number in range(5):
        tree.put(f"project/.claude/rules/{number}.md", "line of text\n" * 60_000)

    found = tree.gather()

    assert tree.names(found)[0] == "home/.claude/CLAUDE.md"
    assert len(tree.names(found)) == 3
    assert "over 2,000,000 characters" in found.problems[0].text


def test_names_of_any_kind_are_found(tree: Tree) -> None:
    """Spaces, other scripts, and bytes that are no text."""
    tree.put("project/mit Leerzeichen/naïve–日本/CLAUDE.md")
    strange = os.fsdecode(b"caf\xe9")
    (tree.project / strange).mkdir()
    (tree.project / strange / "CLAUDE.md").write_text("x")

    assert tree.names(tree.gather("mit Leerzeichen/naïve–日本/x.py")) == [
        "project/mit Leerzeichen/naïve–日本/CLAUDE.md"
    ]
    assert tree.names(tree.gather(f"{strange}/x.py")) == [f"project/{strange}/CLAUDE.md"]


def test_a_worktree_inside_its_repository_does_not_load_twice(tree: Tree) -> None:
    """The client leaves the outer project's files to the worktree; private ones still hold."""
    tree.put("project/CLAUDE.md", "outer")
    tree.put("project/CLAUDE.local.md", "private")
    tree.put("project/.git/worktrees/w/HEAD", "")
    inner = tree.project / "trees" / "w"
    tree.put("project/trees/w/.git", f"gitdir: {tree.project}/.git/worktrees/w\n")
    tree.put("project/trees/w/CLAUDE.md", "inner")
    tree.project = inner

    assert tree.names(tree.gather()) == ["project/CLAUDE.local.md", "project/trees/w/CLAUDE.md"]


def test_the_organisations_file_must_exist(tree: Tree) -> None:
    """A wrong setting is told, once."""
    found = tree.gather(organisation_file=str(tree.root / "gone.md"))

    assert problems(found) == [("missing", None)]


def test_the_organisations_settings_can_hold_instructions(tree: Tree) -> None:
    """The client loads `claudeMd` of the managed settings."""
    tree.put("managed/managed-settings.json", '{"claudeMd": "from the settings"}')

    (found,) = [source for source in tree.gather().sources if tree.owns(source.path)]

    assert (found.level, found.text, found.client) == ("organisation", "from the settings", "start")


def test_the_project_above_which_nothing_lies(tree: Tree) -> None:
    """The root of the file system can be a project."""
    tree.project = tree.root.__class__("/")

    assert tree.gather("nowhere/x").project.parents == ()
