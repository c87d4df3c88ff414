"""The ignore file: which one, which rules, within which bounds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.errors import ConfigError
from brimline.guard import ignorefile
from brimline.guard.ignorefile import DEFAULT_FOLDERS, DEFAULT_RULES, Matcher

RULE_LINES = st.text(st.sampled_from("ab*?[]!/\\#-. \t{}^"), max_size=12)


def write(project_dir: str, name: str, text: str) -> None:
    """Put an ignore file into the project."""
    Path(project_dir, name).write_text(text, encoding="utf-8")


def kept_out(project_dir: str, path: str) -> bool:
    """Whether the project's rules keep a path out, its last name taken as a file."""
    return ignorefile.load(project_dir).matcher.rule_for(path, directory=False) is not None


@pytest.mark.row("S2-46")
def test_there_are_twelve_default_folders() -> None:
    """Installed, generated and recorded files of the common tools."""
    assert len(set(DEFAULT_FOLDERS)) == 12


@pytest.mark.row("S2-46")
@pytest.mark.parametrize("folder", DEFAULT_FOLDERS)
@pytest.mark.parametrize("text", [None, "", "\n\n", "# only a comment\n", "\ufeff\r\n"])
def test_without_rules_of_its_own_a_project_has_the_defaults(
    project_dir: str, folder: str, text: str | None
) -> None:
    """A missing, an empty and a commented-out file all leave them in force."""
    if text is not None:
        write(project_dir, ".brimlineignore", text)

    assert kept_out(project_dir, f"{folder}/a")
    assert kept_out(project_dir, f"packages/web/{folder}/a")
    assert not kept_out(project_dir, f"{folder}x/a")


@pytest.mark.row("S2-46")
@pytest.mark.parametrize("name", [".brimlineignore", ".ckignore"])
def test_rules_of_ones_own_replace_the_defaults(project_dir: str, name: str) -> None:
    """Who lists folders lists all of them."""
    write(project_dir, name, "generated\n")

    assert kept_out(project_dir, "generated/a")
    assert not kept_out(project_dir, "node_modules/a")
    assert ignorefile.load(project_dir).origin("generated") == f"from {name}"


def test_brimlines_own_file_wins_over_the_other(project_dir: str) -> None:
    """An existing `.ckignore` counts only while there is no `.brimlineignore`."""
    write(project_dir, ".ckignore", "one/\n")
    write(project_dir, ".brimlineignore", "two/\n")

    assert ignorefile.load(project_dir).rules == ("two/",)


@pytest.mark.row("S2-46")
def test_exceptions_alone_are_taken_from_the_defaults(project_dir: str) -> None:
    """One `!` line lets one folder through; it does not let all of them through."""
    write(project_dir, ".brimlineignore", "!dist\n!vendor/ours/\n")

    assert not kept_out(project_dir, "dist/a.js")
    assert not kept_out(project_dir, "vendor/ours/deep/a.go")
    assert kept_out(project_dir, "vendor/theirs/a.go")
    assert kept_out(project_dir, "build/a.js")
    assert ignorefile.load(project_dir).origin("build/") == "a default"


@pytest.mark.row("S2-46")
@pytest.mark.parametrize(
    ("rules", "path", "directory", "expected"),
    [
        (["build"], "build", True, "build"),
        (["build"], "build", False, "build"),
        (["build/"], "build", True, "build/"),
        (["build/"], "build", False, None),
        (["build/"], "build.py", False, None),
        (["build"], "build.py", False, None),
        (["build"], "a/build/b", False, "build"),
        (["/build"], "a/build/b", False, None),
        (["/build"], "build/b", False, "/build"),
        (["*.log"], "a/b.log", False, "*.log"),
        (["docs/**/*.html"], "docs/a/b/c.html", False, "docs/**/*.html"),
        (["a?c"], "abc/x", False, "a?c"),
        (["[ab]x/"], "ax/y", False, "[ab]x/"),
        (["logs/", "!logs/keep.txt"], "logs/keep.txt", False, None),
        (["logs/", "!logs/keep/"], "logs/keep/a", False, None),
        (["logs/", "!logs/keep/"], "logs/other/a", False, "logs/"),
        (["!logs/", "logs/"], "logs/a", False, "logs/"),
        ([r"\!odd"], "!odd", False, r"\!odd"),
        ([r"\#odd"], "#odd", False, r"\#odd"),
    ],
)
def test_rules_mean_what_they_mean_in_a_gitignore(
    rules: list[str], path: str, directory: bool, expected: str | None
) -> None:
    """Anchors, wildcards, folders, negation; the last rule that matches decides."""
    assert Matcher(rules).rule_for(path, directory=directory) == expected


def test_unusable_lines_are_named_and_the_others_count() -> None:
    """A typing error in one line does not cost the rest of the file."""
    rules, problems = ignorefile.parse("good/\r\n!\n[z-a]\nends\\\n# comment\n   \nalso good\n")

    assert rules == ["good/", "also good"]
    assert len(problems) == 3
    assert "[z-a]" in problems[1]


@pytest.mark.parametrize(
    "line", ["*a" * 20, "a/" + "**/" * 20 + "b", "x" * 300], ids=["stars", "folders", "length"]
)
def test_rules_that_are_costly_to_match_are_left_out(line: str) -> None:
    """A stranger's repository cannot make every tool call slow."""
    assert ignorefile.parse(f"{line}\ngood/")[0] == ["good/"]


def test_the_number_of_rules_is_bounded() -> None:
    """The rest is left out, and that is said."""
    rules, problems = ignorefile.parse("\n".join(f"f{number}/" for number in range(2_000)))

    assert len(rules) == 500
    assert "500" in problems[0]


@pytest.mark.row("S2-46")
@pytest.mark.parametrize("kind", ["folder", "link", "pipe", "huge", "binary"])
def test_a_file_that_cannot_be_used_leaves_the_defaults(
    project_dir: str, world: Path, kind: str
) -> None:
    """Whatever lies there under that name, the answer comes at once."""
    path = Path(project_dir, ".brimlineignore")
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        (world / "elsewhere").write_text("secret/\n", encoding="utf-8")
        path.symlink_to(world / "elsewhere")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "huge":
        path.write_text("# long\n" * 20_000, encoding="utf-8")
    else:
        path.write_bytes(b"\xff\xfe\x00\n" * 10)

    loaded = ignorefile.load(project_dir)

    assert loaded.rules == DEFAULT_RULES
    assert len(loaded.problems) == 1


@pytest.mark.parametrize("project", ["/nowhere/at/all", "", "\0", "/p\0q"])
def test_a_project_that_is_not_there_has_the_defaults(project: str) -> None:
    """The hook may be asked about any folder."""
    assert ignorefile.load(project).rules == DEFAULT_RULES


@settings(deadline=None)
@given(st.lists(RULE_LINES, max_size=6), st.text(max_size=20), st.booleans())
def test_no_file_and_no_path_makes_matching_fail(
    lines: list[str], path: str, directory: bool
) -> None:
    """Whatever is written in it, a path is kept out by one of its rules or not at all."""
    rules, _ = ignorefile.parse("\n".join(lines))
    rule = Matcher(rules).rule_for(path, directory=directory)

    assert rule is None or rule in rules


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["node_modules", "a", "[slug]", "b c ", "x.js", "**", "*", "dist"]))
    .filter(bool)
    .map("/".join),
    st.booleans(),
    st.sampled_from([DEFAULT_RULES, ("node_modules/**", "*.js"), ("dist", "/a/*", "b*/")]),
)
def test_the_line_offered_lets_the_path_through(
    path: str, directory: bool, rules: tuple[str, ...]
) -> None:
    """Who adds it to the file as it stands gets what was promised."""
    matcher = Matcher(rules)
    if matcher.rule_for(path, directory=directory) is None:
        return
    line = matcher.allowing(path, directory=directory)

    if line is None:
        assert path.count("**") > 3  # no rule with so many wildcards would be read
        return
    added, problems = ignorefile.parse("\n".join([*rules, line]))
    assert problems == []
    assert Matcher(added).rule_for(path, directory=directory) is None


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("node_modules", "!node_modules"),
        ("node_modules/react/lib/a.js", "!node_modules/react"),
        ("packages/web/node_modules/react/a.js", "!packages/web/node_modules/react"),
        ("app/[slug]/dist/a.js", r"!app/\[slug\]/dist/a.js"),
    ],
)
def test_the_line_offered_opens_no_more_than_one_folder(path: str, line: str) -> None:
    """It reaches one step below what is kept out."""
    assert Matcher(DEFAULT_RULES).allowing(path, directory=True) == line


@pytest.mark.row("S2-46")
def test_init_writes_the_defaults(project_dir: str) -> None:
    """What it writes is in force and can be read as a gitignore."""
    path = ignorefile.init(project_dir)

    loaded = ignorefile.load(project_dir)
    assert path == loaded.path
    assert loaded.rules == DEFAULT_RULES
    assert not loaded.defaults_in_force
    assert Path(path).read_text(encoding="utf-8") == ignorefile.init_text()


def test_init_takes_over_the_rules_of_a_ckignore(project_dir: str) -> None:
    """The other file stops counting, so its rules move along."""
    write(project_dir, ".ckignore", "# theirs\none/\n!one/two\n")

    ignorefile.init(project_dir)

    assert ignorefile.load(project_dir).rules == ("one/", "!one/two")


def test_init_replaces_a_file_only_when_asked(project_dir: str) -> None:
    """Somebody's rules are not lost by accident, and nothing else is left behind."""
    write(project_dir, ".brimlineignore", "mine/\n")

    with pytest.raises(ConfigError, match="--force"):
        ignorefile.init(project_dir)
    assert ignorefile.load(project_dir).rules == ("mine/",)
    ignorefile.init(project_dir, force=True)
    assert ignorefile.load(project_dir).rules == DEFAULT_RULES
    assert os.listdir(project_dir) == [".brimlineignore"]


def test_init_says_where_it_could_not_write() -> None:
    """One sentence with the path."""
    with pytest.raises(ConfigError, match=r"/nowhere/\.brimlineignore"):
        ignorefile.init("/nowhere")


def test_source_folders_are_those_that_exist_the_well_known_first(project_dir: str) -> None:
    """Hidden and ignored folders and files are no suggestion."""
    for name in ("zeta", "alpha", "tests", "src", "lib", "dist", ".hidden"):
        Path(project_dir, name).mkdir()
    Path(project_dir, "app").write_text("a file", encoding="utf-8")

    found = ignorefile.source_folders(project_dir, Matcher(DEFAULT_RULES))

    assert found == ["src", "lib", "tests", "alpha"]
    assert ignorefile.source_folders("/nowhere", Matcher(DEFAULT_RULES)) == []


NAMES = st.sampled_from(["dist", "build", "a", "dist.js", ".git", "...", "**", "[x]", "b c "])


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["dist/", "dist", "build/", ".git", "a/", "...", "@x"]), max_size=4),
    st.lists(NAMES, min_size=1, max_size=5).map("/".join),
    st.booleans(),
)
def test_plain_names_are_matched_as_the_library_would(
    rules: list[str], path: str, directory: bool
) -> None:
    """A wildcard rule that matches nothing here brings the library in; the verdict stays."""
    alone = Matcher(rules).rule_for(path, directory=directory)
    through_library = Matcher([*rules, "nothing-*-here"]).rule_for(path, directory=directory)

    assert (alone is None) is (through_library is None)


def test_the_defaults_need_no_library() -> None:
    """A hook that runs without site-packages still knows them."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); sys.modules['pathspec'] = None\n"
        "from brimline.guard import scout\n"
        "found = scout.decide('Bash', {'command': 'ls dist'}, cwd='/p', project_dir='/p', "
        "mode='block')\n"
        "print(found.reason)"
    )
    root = str(Path(ignorefile.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, root], capture_output=True, text=True, check=True
    )

    assert "add the line `!dist` to .brimlineignore" in done.stdout
