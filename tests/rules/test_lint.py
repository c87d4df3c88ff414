"""The findings: broken or doubtful, at their place, and silence about sound files."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from brimline import programs
from brimline.rules import lint

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
                "CLAUDE.md": "- Run the tests first.",
                "a/CLAUDE.md": "- x\n- **Run** the tests first",
            },
            "doubtful",
            "repeated",
        ),
        ({"CLAUDE.md": "x", "AGENTS.md": "y"}, "doubtful", "unread"),
        ({"CLAUDE.md": "word " * 1_000}, "doubtful", "large"),
        ({"CLAUDE.md": "# All (ENFORCED)\n" + "word\n" * 2_000}, "doubtful", "marked"),
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


@pytest.mark.parametrize(
    "text",
    [
        *("`npm test`", "`application/json`", "`origin/main`", "`@types/node`", "`src/**/*.ts`"),
        *("`<name>/file.md`", "`$HOME/x.md`", "`config.toml`", "`/etc/passwd.md` `~/x/y.md`"),
        "[site](https://example.com/x.md) [mail](mailto:a@b.c) [top](#top)",
        *("```\ndocs/gone.md `docs/gone.md`\n```", "docs/gone.md in plain words"),
    ],
)
def test_what_is_not_clearly_a_file_of_the_project_is_left_alone(tree: Tree, text: str) -> None:
    """A false alarm costs more than a missed one."""
    assert gone(tree, text) == []


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
    assert gone(tree, "`./cli/main.py` [x](cli/main.py) `li/main.py`") == [
        "./cli/main.py",
        "cli/main.py",
        "li/main.py",
    ]


@pytest.mark.row("S2-05")
def test_rules_left_alone_while_the_code_moved_are_stale(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    tree.put(f"project/{first}/CLAUDE.md", "- Run the tests first.\n- x")
    tree.put(f"project/{second}/CLAUDE.md", "- Run the tests first.\n- y")

    assert [each.kind for each in check(tree)] == kinds


FOUR = "Run all tests first"


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (f"- {FOUR}", f"x\n\n- {FOUR}.", f"“{FOUR}.” is said already (PROJECT/CLAUDE.md:1)"),
        (
            f"- {FOUR}",
            "x\n\n- `RUN`   **all** tests first!",
            "“`RUN` **all** tests first!” is said already (PROJECT/CLAUDE.md:1)",
        ),
        ("- Run the tests", "x\n\n- Run the tests", ""),
        (f"- {FOUR}\n- {FOUR}", "x", ""),
        ("@a @b", "x\n\n@a @b", ""),
        ("# " + FOUR, "x\n\n# " + FOUR, ""),
        ("w " * 40, "x\n\n" + "w " * 40, f"“{'w ' * 34}w…” is said already (PROJECT/CLAUDE.md:1)"),
    ],
)
def test_a_rule_of_four_words_is_told_where_another_file_has_it(
    tree: Tree, first: str, second: str, found: str
) -> None:
    """Whatever its case and decoration; a long one is shortened to seventy characters."""
    tree.put("project/CLAUDE.md", first)
    tree.put("project/CLAUDE.local.md", second)

    said = [each for each in check(tree) if each.kind == "repeated"]

    texts = [each.text.replace(f"{tree.project}", "PROJECT") for each in said]
    assert texts == ([found] if found else [])
    assert [each.line for each in said] == ([3] if found else [])


@pytest.mark.parametrize(
    ("size", "found"),
    [
        (4_000, []),
        (4_001, ["has 4,001 characters, over 4,000, in every request"]),
    ],
)
def test_a_file_is_large_beyond_4000_characters(tree: Tree, size: int, found: list[str]) -> None:
    """Without the blanks around it."""
    tree.put("project/CLAUDE.md", "\n\n" + "x" * size + "\n \n")

    assert [each.text for each in check(tree) if each.kind == "large"] == found


@pytest.mark.parametrize(("last", "is_told"), [(4_000, False), (4_001, True)])
def test_what_loads_at_the_start_is_large_beyond_12000_characters(
    tree: Tree, last: int, is_told: bool
) -> None:
    """All of it together, each text once; it is told at the last file."""
    for name, letter in (("CLAUDE", "a"), (".claude/CLAUDE", "b"), (".claude/rules/r", "c")):
        tree.put(f"project/{name}.md", letter * (last if letter == "c" else 4_000))
    tree.put("project/CLAUDE.local.md", "a" * 4_000)
    tree.put("project/sub/CLAUDE.md", "d" * 4_000)

    found = [each for each in check(tree) if each.text.startswith("what loads")]

    text = f"what loads at the start has {8_000 + last:,} characters, over 12,000"
    assert [each.text for each in found] == [text] * is_told
    assert [tree.name(each.path) for each in found] == ["project/CLAUDE.local.md"] * is_told


def test_marked_rules_without_room_are_told_each_at_its_line(tree: Tree) -> None:
    """Those that have room are not."""
    tree.put("project/CLAUDE.md", f"- a (ENFORCED)\n- (ENFORCED) {'x' * 4_500}\n- b (CRITICAL)\n")

    (found,) = [each for each in check(tree) if each.kind == "marked"]

    assert (found.line, found.is_to_be_mended) == (2, False)
    assert found.text == "no room for it after a compaction: 4,500 characters for all"


@pytest.mark.parametrize(
    ("days", "commits", "is_told"), [(89, 50, False), (90, 49, False), (90, 50, True)]
)
def test_a_file_is_stale_after_ninety_days_and_fifty_commits(
    tree: Tree, days: int, commits: int, is_told: bool
) -> None:
    """Unless told otherwise."""
    git(tree, "init", "-q", "-b", "main")
    commit(tree, "CLAUDE.md", "rule", days)
    head = f"commit refs/heads/main\ncommitter a <a@example.com> {NOW} +0000\ndata 1\nx\n"
    first = "from refs/heads/main^0\n"
    made = [
        f"{head}{'' if at else first}M 644 inline src/{at}\ndata 1\nx\n" for at in range(commits)
    ]
    stream = "".join(made).encode()
    subprocess.run(["git", "fast-import", "--quiet"], cwd=tree.project, input=stream, check=True)
    walked = lint.survey_project_files(str(tree.project))
    found, notes = lint.lint(tree.gather(), walked, NOW)

    text = f"last changed {days} days ago, {commits} commits around it since: is it still true?"
    assert [each.text for each in found if tree.owns(each.path)] == [text] * is_told
    assert notes == []


@pytest.mark.parametrize(
    "name",
    [
        *(".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", "dist", "build"),
        *("target", "vendor", "coverage", ".next", ".nuxt", ".tox", ".mypy_cache", "worktrees"),
        ".claude",
    ],
)
def test_other_peoples_code_and_what_builds_leave_is_not_walked(tree: Tree, name: str) -> None:
    """The name itself is known."""
    tree.put(f"project/{name}/sub/CLAUDE.md")
    tree.put("project/own/CLAUDE.md")

    found = lint.survey_project_files(str(tree.project))

    assert [tree.name(one) for one in found.folders] == ["project/own"]
    assert found.names == {name: ["/"], "own": ["/"], "CLAUDE.md": ["/own/"]}


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


def test_a_rule_is_a_paragraph_or_an_item_with_its_line(tree: Tree) -> None:
    """Up to 500 characters; imports by themselves are none."""
    text = f"---\na: b\n---\n# Head\n\n- one\n  more\n\n@a.md\n@b.md\n\nsee @a.md\n\n{'x' * 501}\n"
    tree.put("project/CLAUDE.md", text)

    (source,) = [each for each in tree.gather().sources if tree.owns(each.path)]

    assert [(rule.line, rule.text) for rule in lint.all_rules_in_file(source)] == [
        (6, "one more"),
        (12, "see @a.md"),
        (14, "x" * 500),
    ]


def test_files_that_say_the_same_are_told_once_and_their_rules_not_again(tree: Tree) -> None:
    """The stronger one names the weaker; an empty one says nothing."""
    for name in ("CLAUDE.md", "CLAUDE.local.md"):
        tree.put(f"project/{name}", f"- {FOUR}")
    tree.put("project/a/CLAUDE.md", "\n")
    tree.put("project/b/CLAUDE.md", " ")

    (found,) = check(tree)

    assert (found.kind, tree.name(found.path)) == ("duplicate", "project/CLAUDE.local.md")
    assert found.text == f"says the same as {tree.project}/CLAUDE.md"


def test_a_file_that_git_does_not_know_is_never_stale(tree: Tree) -> None:
    """It has no age yet."""
    git(tree, "init", "-q")
    commit(tree, "src/a.py", "code", 100)
    tree.put("project/CLAUDE.md", "new rule")

    assert check(tree, (0, 0)) == []


@pytest.mark.parametrize(
    ("last", "quoted"),
    [
        ("abcde", "abcd " * 13 + "abcde"),
        ("abcdef", "abcd " * 12 + "abcd…"),
    ],
)
def test_of_a_rule_that_is_said_twice_70_characters_are_quoted(
    tree: Tree, last: str, quoted: str
) -> None:
    """Whole words, with a mark where there are more."""
    rule = "abcd " * 13 + last
    tree.put("project/CLAUDE.md", f"- {rule}\n- of its own")
    tree.put("project/CLAUDE.local.md", f"- {rule}\n- other words")

    (found,) = [each for each in check(tree) if each.kind == "repeated"]

    assert found.text.startswith(f"“{quoted}” is said already (")
    assert tree.name(found.path) == "project/CLAUDE.local.md"
