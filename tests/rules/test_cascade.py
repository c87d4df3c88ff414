"""Which instruction files hold for a project and for a file at hand, in which order."""

from __future__ import annotations

import json
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
        *("managed/CLAUDE.md", "managed/.claude/rules/m.md", "acme/RULES.md"),
        *("home/.claude/CLAUDE.md", "home/.claude/rules/u.md", tree.private(), "CLAUDE.md"),
        *("project/CLAUDE.md", "project/.claude/CLAUDE.md", "project/.claude/rules/b.md"),
        *("project/.claude/rules/deep/a.md", "project/CLAUDE.local.md", "project/AGENTS.md"),
        *("project/.claude/AGENTS.md", "project/packages/CLAUDE.md"),
        "project/packages/api/CLAUDE.md",
    ]
    for name in reversed([*holding, "project/packages/web/CLAUDE.md"]):
        tree.put(name, f"text of {name}")

    found = tree.gather(
        "packages/api/server.py", organisation_file=str(tree.root / "acme" / "RULES.md")
    )

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
def test_what_holds_depends_on_the_file_at_hand(
    tree: Tree, at: str, path: str, holds: bool
) -> None:
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


def test_imports_go_four_deep_and_no_further(tree: Tree) -> None:
    """As in the client; what asks for more is told."""
    tree.put("project/CLAUDE.md", "@1.md")
    for number in range(1, 8):
        tree.put(f"project/{number}.md", f"text {number}\n@{number + 1}.md")

    found = tree.gather()

    assert tree.names(found) == ["project/CLAUDE.md", *[f"project/{n}.md" for n in range(1, 5)]]
    assert {source.client for source in found.sources if tree.owns(source.path)} == {"start"}
    assert problems(found) == [("deep", 2)]


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
def test_imports_are_found_outside_code_and_comments(
    tree: Tree, text: str, found: list[str]
) -> None:
    """The same places in which the client finds them."""
    for name in ("a.md", "b/c.md", "with space.md"):
        tree.put(f"project/{name}")
    tree.put("project/CLAUDE.md", text)

    assert tree.names(tree.gather())[1:] == [f"project/{name}" for name in found]


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
    """`@name` may as well be a person or an annotation."""
    tree.put("project/CLAUDE.md", "@gone.md\n@alice @types/node @example.com\n@./gone")

    assert [problem.text for problem in tree.gather().problems] == [
        "@gone.md is not there",
        "@./gone is not there",
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
    """The client loads `claudeMd` of the managed ones; a file of ours that is gone is told."""
    tree.put("managed/managed-settings.json", '{"claudeMd": "from the settings"}')

    found = tree.gather(organisation_file=str(tree.root / "gone.md"))

    (source,) = [source for source in found.sources if tree.owns(source.path)]
    assert (source.level, source.text, source.client) == (
        "organisation",
        "from the settings",
        "start",
    )
    assert problems(found) == [("missing", None)]


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
def test_paths_in_a_rule_file_mean_what_they_mean_to_the_client(
    tree: Tree, front: str, hit: bool
) -> None:
    """In every spelling it takes; the cases were tried in the client, on `src/a.ts`."""
    tree.put("project/.claude/rules/r.md", f"---\n{front}\n---\nrule")

    assert bool(tree.names(tree.gather("src/a.ts"))) is hit


def said(tree: Tree, *active: str) -> dict[str, str]:
    """When the client loads each file."""
    found = tree.gather(*active)
    return {tree.name(s.path): s.client for s in found.sources if tree.owns(s.path)}


def test_files_above_the_work_load_at_the_start_and_below_it_on_reading(tree: Tree) -> None:
    """A scoped rule waits for a file that matches; what it imports does not wait."""
    tree.put("CLAUDE.md", "above")
    tree.put("project/.claude/rules/r.md", "---\npaths: src/**\n---\nscoped\n@../../b.md")
    tree.put("project/b.md", "also imported")
    tree.put("project/src/CLAUDE.md", "nested\n@c.md")
    tree.put("project/src/c.md", "nested import")
    tree.put(tree.private(), "@more.md")
    tree.put(tree.private().replace("CLAUDE", "more"), "unknown to it, too")

    assert said(tree, "src/x.py") == {
        tree.private(): "never",
        tree.private().replace("CLAUDE", "more"): "never",
        "CLAUDE.md": "start",
        "project/.claude/rules/r.md": "match",
        "project/b.md": "start",
        "project/src/CLAUDE.md": "read",
        "project/src/c.md": "read",
    }


@pytest.mark.parametrize(
    ("beside", "loads"),
    [
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
    tree: Tree, beside: str, loads: str
) -> None:
    """As it was observed, place by place; nothing but a comment does not speak."""
    tree.put("project/AGENTS.md", "agents")
    tree.put(beside, "\n<!-- later -->\n")
    assert said(tree, "src/x.py")["project/AGENTS.md"] == "start"

    tree.put(beside, "something else")
    assert said(tree, "src/x.py")["project/AGENTS.md"] == loads


@pytest.mark.parametrize("scope", ["home/.claude/settings.json", "project/.claude/settings.json"])
def test_excluded_files_are_left_out_by_both(tree: Tree, scope: str) -> None:
    """The client's own setting; what only we load it cannot hide."""
    tree.put("home/.claude/CLAUDE.md", "the user's (ENFORCED)")
    tree.put("project/CLAUDE.md", "the project's (ENFORCED)")
    tree.put(tree.private(), "private (ENFORCED)")
    tree.put(scope, json.dumps({"claudeMdExcludes": ["**/CLAUDE.md", 5, "*" * 50]}))

    found = {tree.name(s.path): s for s in tree.gather().sources if tree.owns(s.path)}

    assert {source.client for source in found.values()} == {"never"}
    assert [name for name, source in found.items() if not source.is_excluded] == [tree.private()]
    assert [text for _, text in tree.marked()] == ["private (ENFORCED)"]


@pytest.mark.parametrize(("size", "is_read"), [(400_000, True), (400_001, False)])
def test_a_file_is_read_up_to_400000_bytes(tree: Tree, size: int, *, is_read: bool) -> None:
    """A longer one is named as a problem."""
    tree.put("project/CLAUDE.md", "x" * size)

    found = tree.gather()

    assert tree.names(found) == ["project/CLAUDE.md"] * is_read
    told = [problem.text for problem in found.problems if tree.owns(problem.path)]
    named = "it is not a text of at most 400,000 bytes, and is not read"
    assert (named in told) is not is_read
