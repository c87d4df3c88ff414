"""Where the limits of a cascade lie, and in which words it tells of them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from brimline.rules import cascade
from brimline.rules.cascade import Problem, Source

if TYPE_CHECKING:
    from pathlib import Path

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
    tree: Tree, files: list[str], most: int, read: int, problems: list[str]
) -> None:
    """To the character; what is beyond it is not read."""
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


@pytest.mark.parametrize(
    ("content", "text", "problem"),
    [
        (b"\xef\xbb\xbfmark\r\nline\rend", "mark\nline\nend", []),
        (b"fine \xff though", "fine \ufffd though", ["None: it is not all UTF-8"]),
        (b"a\0b", None, ["None: it is not a text of at most 400,000 bytes, and is not read"]),
        (b"", "", []),
    ],
)
def test_bytes_become_text_or_are_told(
    tree: Tree, content: bytes, text: str | None, problem: list[str]
) -> None:
    """A byte order mark and other line ends are nothing to tell of."""
    tree.put("project/CLAUDE.md", content)

    assert [s.text for s in tree.gather().sources if tree.owns(s.path)] == (
        [] if text is None else [text]
    )
    assert told(tree) == problem


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


@pytest.mark.parametrize(
    ("kind", "is_broken"),
    [
        *[(kind, True) for kind in ("missing", "import", "cycle", "unreadable", "reference")],
        *[(kind, False) for kind in ("outside", "deep", "unread", "large", "stale", "duplicate")],
    ],
)
def test_what_leads_nowhere_is_broken_and_the_rest_is_to_be_thought_about(
    kind: str, is_broken: bool
) -> None:
    """By the kind of a problem."""
    assert Problem(kind, "/p", None, "").is_to_be_mended is is_broken


@pytest.mark.parametrize(
    ("path", "project", "wanted"),
    [
        ("/p/a/CLAUDE.md", "/p", "a/CLAUDE.md"),
        ("/p/a/CLAUDE.md", "/p/", "a/CLAUDE.md"),
        ("/a/CLAUDE.md", "/", "a/CLAUDE.md"),
        ("/p", "/p", "/p"),
        ("/pa/x", "/p", "/pa/x"),
        ("/p/x", "", "/p/x"),
        ("HOME/x", "", "~/x"),
        ("HOME/x", "/p", "~/x"),
        ("HOME/x", "HOME", "x"),
        ("HOME", "", "HOME"),
        ("HOMEx", "", "HOMEx"),
        ("/p/a\x1b[2Jb", "", "/p/a[2Jb"),
    ],
)
def test_a_path_is_shown_from_the_project_or_the_home_folder(
    world: Path, path: str, project: str, wanted: str
) -> None:
    """Whole where it lies in neither, and as one line that nothing obeys."""
    home = str((world / "home").resolve())
    got = cascade.short_path(path.replace("HOME", home), project.replace("HOME", home))

    assert got.replace(home, "HOME") == wanted


@pytest.mark.parametrize(
    ("path", "folder", "is_in"),
    [
        *[("/a", "/a", True), ("/a/b", "/a", True), ("/a/b", "/a/", True), ("/a", "/", True)],
        *[("/ab", "/a", False), ("/", "/a", False), ("/b/a", "/a", False)],
    ],
)
def test_a_folder_holds_itself_and_what_lies_below_it(path: str, folder: str, is_in: bool) -> None:
    """A name that begins alike is another."""
    assert cascade.is_within(path, folder) is is_in


def test_a_named_path_is_meant_from_the_project_and_its_own_link_is_kept(tree: Tree) -> None:
    """Its folders are resolved; `~` is the user's home."""
    (tree.project / "real").mkdir()
    os.symlink("real", tree.project / "link")
    os.symlink("nothing", tree.project / "real" / "x")
    project = str(tree.project)

    assert cascade.path_in_resolved_folder(project, "link/x") == f"{project}/real/x"
    assert cascade.path_in_resolved_folder(project, "a/../b") == f"{project}/b"
    assert cascade.path_in_resolved_folder(project, "/elsewhere/b") == "/elsewhere/b"
    assert cascade.path_in_resolved_folder(project, "~/b") == f"{tree.root}/home/b"


@pytest.mark.parametrize(("folders", "is_read"), [(198, True), (199, False)])
def test_rules_are_looked_for_in_200_folders(tree: Tree, folders: int, is_read: bool) -> None:
    """The folder of rules itself is one of them."""
    rules = tree.project / ".claude" / "rules"
    for number in range(folders):
        (rules / f"{number:03}").mkdir(parents=True)
    tree.put("project/.claude/rules/zzz/r.md")

    assert tree.names(tree.gather()) == ["project/.claude/rules/zzz/r.md"] * is_read


@pytest.mark.parametrize(("entries", "is_read"), [(1_999, True), (2_000, False)])
def test_rules_are_looked_for_among_2000_entries_of_a_folder(
    tree: Tree, entries: int, is_read: bool
) -> None:
    """By their names' order."""
    rules = tree.project / ".claude" / "rules"
    rules.mkdir(parents=True)
    for number in range(entries):
        (rules / f"{number:04}.txt").touch()
    tree.put("project/.claude/rules/r.md")

    assert tree.names(tree.gather()) == ["project/.claude/rules/r.md"] * is_read


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
    assert source.is_for_some_files is bool(patterns)


@pytest.mark.parametrize(("before", "is_meant"), [(99, True), (100, False)])
def test_of_the_patterns_of_a_rule_file_100_count(tree: Tree, before: int, is_meant: bool) -> None:
    """In their order."""
    names = [f"n{number}" for number in range(before)]
    tree.put("project/.claude/rules/r.md", f"---\npaths: {', '.join([*names, 'src'])}\n---\nrule")

    assert bool(tree.names(tree.gather("src/a"))) is is_meant


@pytest.mark.parametrize(("length", "is_meant"), [(2_000, True), (2_001, False)])
def test_of_an_item_in_a_list_of_patterns_2000_characters_count(
    tree: Tree, length: int, is_meant: bool
) -> None:
    """What is cut off there is another pattern."""
    item = "," * (length - 4) + " src"
    tree.put("project/.claude/rules/r.md", f"---\npaths: [x{item[1:]}]\n---\nrule")

    assert bool(tree.names(tree.gather("src/a"))) is is_meant


@pytest.mark.parametrize(
    ("active", "is_meant"),
    [
        *[("src/a.ts", True), ("SRC/A.TS", True)],
        *[(path, False) for path in ("lib/a.ts", "../src/a.ts", "")],
    ],
)
def test_a_rule_file_is_meant_for_files_below_its_own_project(
    tree: Tree, active: str, is_meant: bool
) -> None:
    """In whatever case; a file of the same name elsewhere is another."""
    tree.put("project/.claude/rules/r.md", "---\npaths: src/a.ts\n---\nrule")

    assert bool(tree.names(tree.gather(active))) is is_meant


@pytest.mark.parametrize(
    ("excludes", "is_excluded"),
    [
        (["**/CLAUDE.md"], True),
        (["{root}/project/*.md"], True),
        (["CLAUDE.md"], False),
        (["*"], False),
        (["**/other.md"], False),
        ([*["/x"] * 99, "**/CLAUDE.md"], True),
        ([*[f"/x{n}" for n in range(99)], "**/CLAUDE.md"], True),
        ([*[f"/x{n}" for n in range(100)], "**/CLAUDE.md"], False),
    ],
)
def test_a_hundred_patterns_with_a_slash_leave_files_out(
    tree: Tree, excludes: list[str], is_excluded: bool
) -> None:
    """One without a slash is none to the client either."""
    tree.put("project/CLAUDE.md", "text")
    listed = [text.format(root=tree.root) for text in excludes]
    tree.put("home/.claude/settings.json", json.dumps({"claudeMdExcludes": listed}))

    (source,) = [s for s in tree.gather().sources if tree.owns(s.path)]

    assert source.is_excluded is is_excluded
    told = "`claudeMdExcludes` in the client's settings leaves it out" if is_excluded else ""
    assert source.client_note == told


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
    ("beside", "client"),
    [
        # One that is imported, or lies in the user's own folder, speaks for no other.
        ({"project/src/CLAUDE.md": "text"}, "start"),
        ({"project/src/CLAUDE.md": "text", "project/CLAUDE.md": "text"}, "never"),
        ({"project/.claude/rules/r.md": "@../../d/CLAUDE.md", "project/d/CLAUDE.md": "x"}, "start"),
        ({"home/.claude/CLAUDE.md": "text"}, "start"),
        ({"managed/CLAUDE.md": "text"}, "start"),
    ],
)
def test_a_file_beside_or_above_speaks_for_agents_md(
    tree: Tree, beside: dict[str, str], client: str
) -> None:
    """Nested ones speak for their own folder only."""
    tree.put("project/AGENTS.md", "agents")
    for name, text in beside.items():
        tree.put(name, text)

    found = {tree.name(s.path): s.client for s in tree.gather("src/x").sources if tree.owns(s.path)}

    assert found["project/AGENTS.md"] == client


def test_a_nested_claude_md_speaks_for_the_agents_md_beside_it(tree: Tree) -> None:
    """The one of the project stands."""
    for name in ("project/AGENTS.md", "project/src/AGENTS.md", "project/src/CLAUDE.md"):
        tree.put(name, f"text of {name}")

    found = {tree.name(s.path): s.client for s in tree.gather("src/x").sources if tree.owns(s.path)}

    assert found == {
        "project/AGENTS.md": "start",
        "project/src/CLAUDE.md": "read",
        "project/src/AGENTS.md": "never",
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


def test_the_organisations_file_may_be_named_from_home_and_its_loss_is_told(tree: Tree) -> None:
    """With the words that lead to the setting; a setting of blanks only says nothing."""
    tree.put("home/acme.md", "says")
    tree.put("managed/managed-settings.json", '{"claudeMd": " \\n"}')

    found = tree.gather(organisation_file="~/acme.md")
    (lost,) = tree.gather(organisation_file="~/gone.md").problems

    assert tree.names(found) == ["home/acme.md"]
    assert [s.why for s in found.sources if tree.owns(s.path)] == [
        "`rules.organisation_file` names it"
    ]
    assert lost == Problem(
        "missing", f"{tree.root}/home/gone.md", None, "`rules.organisation_file` names no file"
    )


def test_files_are_said_to_hold_for_a_reason(tree: Tree) -> None:
    """In the words of `rules explain`, level by level."""
    tree.put("managed/managed-settings.json", '{"claudeMd": "of the settings"}')
    names = ("managed/CLAUDE.md", "home/.claude/CLAUDE.md", tree.private(), "CLAUDE.md")
    for name in (*names, "project/CLAUDE.md", "project/src/CLAUDE.md"):
        tree.put(name, f"text of {name}")

    found = tree.gather("src/x").sources

    assert [(s.level, s.why) for s in found if tree.owns(s.path)] == [
        ("organisation", "your organisation put it on this machine"),
        ("organisation", "`claudeMd` in your organisation's settings"),
        ("user", "your instructions for every project"),
        ("private", "your own instructions for this project"),
        ("parent", "it lies above the project"),
        ("project", "it is the project's own"),
        ("child", "it lies on the way to the file"),
    ]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [("a", " a\n", True), ("a", "b", False), ("a\nb", "a b", False), ("\ud800", "\ud800", True)],
)
def test_texts_that_differ_at_their_ends_only_say_the_same(
    one: str, other: str, is_same: bool
) -> None:
    """Whatever they consist of."""
    first, second = (Source("/p", "project", "", "start", text=text) for text in (one, other))

    assert (first.digest == second.digest) is is_same


@pytest.mark.parametrize(
    ("length", "problem"),
    [
        (400_000, []),
        (400_001, ["None: it is not a text of at most 400,000 bytes, and is not read"]),
    ],
)
def test_a_file_of_400000_bytes_is_read(tree: Tree, length: int, problem: list[str]) -> None:
    """If it is the only one; a larger one is not."""
    tree.put("project/CLAUDE.md", "x" * length)

    assert tree.names(tree.gather()) == ["project/CLAUDE.md"] * (not problem)
    assert told(tree) == problem


def test_a_folder_of_rules_that_a_link_fetches_from_outside_is_passed_over(tree: Tree) -> None:
    """Without a word for each file in it; one that is linked from inside is read."""
    tree.put("home/others/r.md")
    tree.put("project/shared/s.md")
    (tree.project / ".claude" / "rules").mkdir(parents=True)
    os.symlink(tree.root / "home" / "others", tree.project / ".claude" / "rules" / "out")
    os.symlink(tree.project / "shared", tree.project / ".claude" / "rules" / "in")

    assert tree.names(tree.gather()) == ["project/.claude/rules/in/s.md"]
    assert told(tree) == []


def test_what_a_nested_file_imports_is_loaded_when_that_is(tree: Tree) -> None:
    """What the project's own imports is loaded at the start; neither says why it is not."""
    for folder in ("project", "project/src"):
        tree.put(f"{folder}/CLAUDE.md", "@a.md")
        tree.put(f"{folder}/a.md", f"of {folder}")

    found = {tree.name(s.path): s for s in tree.gather("src/x").sources if tree.owns(s.path)}

    assert {name: (s.client, s.client_note) for name, s in found.items()} == {
        "project/CLAUDE.md": ("start", ""),
        "project/a.md": ("start", ""),
        "project/src/CLAUDE.md": ("read", ""),
        "project/src/a.md": ("read", ""),
    }
    assert found["project/src/a.md"].why == "CLAUDE.md imports it, line 1"


@pytest.mark.parametrize(("name", "problems"), [("acme.md", 0), ("gone.md", 1)])
def test_where_nothing_more_is_read_a_file_that_is_there_is_not_missed(
    tree: Tree, name: str, problems: int
) -> None:
    """Only one that is named and is not there."""
    tree.put("home/acme.md", "says")

    found = tree.gather(organisation_file=f"~/{name}", most_characters=1_999)

    assert tree.names(found) == []
    assert len(found.problems) == problems
