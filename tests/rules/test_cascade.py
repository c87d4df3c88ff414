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
    holding = [
        *("managed/CLAUDE.md", "managed/.claude/rules/m.md"),
        *("home/.claude/CLAUDE.md", "home/.claude/rules/u.md", tree.private(), "CLAUDE.md"),
        *("project/CLAUDE.md", "project/.claude/CLAUDE.md", "project/.claude/rules/b.md"),
        *("project/.claude/rules/deep/a.md", "project/CLAUDE.local.md", "project/AGENTS.md"),
        *("project/.claude/AGENTS.md", "project/packages/CLAUDE.md"),
        "project/packages/api/CLAUDE.md",
    ]
    for name in reversed([*holding, "project/packages/web/CLAUDE.md"]):
        tree.put(name, f"text of {name}")

    found = tree.gather("packages/api/server.py")

    assert tree.names(found) == holding
    assert found.problems == []


@pytest.mark.parametrize(
    ("path", "holds"),
    [
        *[(path, True) for path in ("{at}/new.py", "{root}/project/{at}/x.py", "./web/../{at}/x")],
        *[(path, False) for path in ("/elsewhere/x.py", "../other/x.py", "web/x.py", "", ".")],
    ],
)
@pytest.mark.parametrize("at", ["src", "mit Leerzeichen/naïve–日本", os.fsdecode(b"caf\xe9")])
@pytest.mark.row("S2-07", "S2-37")
def test_what_holds_depends_on_the_file_given(tree: Tree, at: str, path: str, holds: bool) -> None:
    """It need not exist yet; one elsewhere brings nothing of other folders."""
    for name in (f"project/{at}", "project/web/deep", "other"):
        tree.put(f"{name}/CLAUDE.md")

    found = tree.names(tree.gather(path.format(root=tree.root, at=at)))

    assert found == ([f"project/{at}/CLAUDE.md"] if holds else [])


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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see @a.md and **@b/c.md**", ["a.md", "b/c.md"]),
        ("- item @a.md\n> @b/c.md", ["a.md", "b/c.md"]),
        (r"@with\ space.md @a.md#part @a.md", ["with space.md", "a.md"]),
        ('mail me@a.md (@a.md) "@a.md" @ @#x @/ @@b', []),
        ("`@a.md` ``x @a.md``", []),
        ("```\n@a.md\n```\n~~~\n@a.md\n~~~\n\n    @a.md", []),
        ("<!-- @a.md -->\n<!--\n@a.md\n-->", []),
        ("- ```\n  @a.md\n  ```\n- @b/c.md", ["b/c.md"]),
    ],
)
def test_imports_are_found_outside_code_and_notes(tree: Tree, text: str, found: list[str]) -> None:
    """The same places in which the client finds them."""
    for name in ("a.md", "b/c.md", "with space.md"):
        tree.put(f"project/{name}")
    tree.put("project/CLAUDE.md", text)

    assert tree.names(tree.gather())[1:] == [f"project/{name}" for name in found]


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


def test_a_worktree_inside_its_repository_does_not_load_twice(tree: Tree) -> None:
    """The client leaves the outer project's files to the worktree; private ones still hold."""
    tree.put("project/CLAUDE.md", "outer")
    tree.put("project/CLAUDE.local.md", "private")
    inner = tree.project / "trees" / "w"
    tree.put("project/.git/worktrees/w/gitdir", f"{inner}/.git\n")
    tree.put("project/trees/w/.git", f"gitdir: {tree.project}/.git/worktrees/w\n")
    tree.put("project/trees/w/CLAUDE.md", "inner")
    tree.project = inner

    assert tree.names(tree.gather()) == ["project/CLAUDE.local.md", "project/trees/w/CLAUDE.md"]


def test_the_organisation_is_heard_through_its_settings_too(tree: Tree) -> None:
    """The client loads `claudeMd` of the managed ones."""
    tree.put("managed/managed-settings.json", '{"claudeMd": "from the settings"}')

    found = tree.gather()

    (source,) = [source for source in found.sources if tree.owns(source.path)]
    assert (source.level, source.text, source.client) == (
        "organisation",
        "from the settings",
        "start",
    )


@pytest.mark.parametrize(
    ("front", "hit"),
    [
        ("paths: src/**", True),
        ('paths: "src/**/*.ts"  # why', True),
        ("paths: lib/**, src/{b,a}.ts", True),
        ("paths:\n  - \"lib\"\n  # why\n  - '*.ts'\nother: 1", True),
        ('paths: ["lib/{a,b}.ts", SRC]', True),
        ("paths: '**'", True),
        ("globs: lib/**", True),
        ("paths: []", True),
        ("paths: lib", False),
        ("paths: [src, '!src/a.ts']", False),
        ("paths: ./src/a.ts", False),
        ("paths: rc", False),
        ("paths: " + "*a" * 100 + "/**" * 90, False),
        ("paths: " + "{a,b,c,d,e,f,g,h,i,j}" * 10, False),
    ],
)
@pytest.mark.row("S2-07")
def test_paths_in_a_rule_file_mean_what_the_client_means(tree: Tree, front: str, hit: bool) -> None:
    """In every spelling it takes; the cases were tried in the client, on `src/a.ts`."""
    tree.put("project/.claude/rules/r.md", f"---\n{front}\n---\nrule")

    assert bool(tree.names(tree.gather("src/a.ts"))) is hit
