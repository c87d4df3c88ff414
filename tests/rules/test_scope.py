"""`paths:` in front matter: how patterns are written, and which files they mean."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from brimline.rules import scope

PARTS = st.sampled_from(["src", "a", "b.ts", "*.ts", "*", "**", "lib", "s?c", "[ab]", "*b*", "x-y"])
NAMES = st.sampled_from(["src", "a", "b", "b.ts", "lib", "x-y", "sac", "bb.ts"])


@pytest.mark.parametrize(
    ("front", "patterns"),
    [
        (["paths: src/**"], ("src",)),
        (['paths: "src/**/*.ts"'], ("src/**/*.ts",)),
        (["paths: src/*.ts, lib/**"], ("src/*.ts", "lib")),
        (["paths:", '  - "*.ts"', "  - docs/x.md  # why", "other: 1"], ("*.ts", "docs/x.md")),
        (['paths: ["src/{a,b}.ts", c]'], ("src/a.ts", "src/b.ts", "c")),
        (["paths: 'src/a.ts'  # note"], ("src/a.ts",)),
        (["name: x", "paths: y"], ("y",)),
        (["paths:"], ()),
        (["paths: []"], ()),
        (["paths: '**'"], ()),
        (["globs: src/**"], ()),
        (["Paths: src/**"], ()),
        (["  paths: src/**"], ()),
        ([], ()),
    ],
)
def test_patterns_are_read_in_every_spelling_the_client_takes(
    front: list[str], patterns: tuple[str, ...]
) -> None:
    """A text, several with commas, in brackets, as a list; braces are choices."""
    assert scope.patterns(front) == patterns


@pytest.mark.parametrize(
    ("pattern", "hit"),
    [
        ("src", True),
        ("src/**/*.ts", True),
        ("*.ts", True),
        ("a.ts", True),
        ("/src/a.ts", True),
        ("SRC", True),
        ("src/a.[jt]s", True),
        ("**/*.ts", True),
        ("./src/a.ts", False),
        ("!src/a.ts", False),
        ("lib", False),
        ("rc", False),
    ],
)
def test_a_pattern_means_what_it_means_to_the_client(pattern: str, hit: bool) -> None:
    """The cases were tried in the client, on `src/a.ts`."""
    assert scope.matches((pattern,), "src/a.ts") is hit


def test_a_later_exception_takes_back() -> None:
    """As in an ignore file."""
    assert scope.matches(("src", "!src/gen.ts"), "src/a.ts")
    assert not scope.matches(("src", "!src/gen.ts"), "src/gen.ts")


@given(st.lists(PARTS, min_size=1, max_size=3), st.lists(NAMES, min_size=1, max_size=4))
@settings(max_examples=500, deadline=None)
def test_matching_agrees_with_an_ignore_file(parts: list[str], names: list[str]) -> None:
    """A library for such files is the judge."""
    pattern, path = "/".join(parts), "/".join(names)
    judge = GitIgnoreSpec.from_lines([pattern])

    assert scope.matches((pattern,), path) == judge.match_file(path)


@pytest.mark.parametrize(
    "pattern", ["*a" * 100 + "b", "**/" * 50 + "x", "[", "[]", "a" * 1_000, "{" * 500, "\\", "[!]"]
)
def test_a_hostile_pattern_is_harmless(pattern: str) -> None:
    """It matches nothing or something, at once, and raises nothing."""
    found = scope.patterns([f"paths: ['{pattern}']"])

    assert scope.matches(found, "a" * 200) in (True, False)


def test_braces_that_multiply_are_given_up() -> None:
    """Ten choices in each of ten places are not spelled out."""
    assert len(scope.patterns(["paths: " + "{a,b,c,d,e,f,g,h,i,j}" * 10])) <= 200


def test_an_exclude_names_a_whole_path() -> None:
    """Not a folder above it; wildcards may be in it."""
    assert scope.matches_whole("/home/u/x/CLAUDE.md", "home/u/x/CLAUDE.md")
    assert scope.matches_whole("**/vendor/**/CLAUDE.md", "home/u/vendor/a/CLAUDE.md")
    assert not scope.matches_whole("/home/u/x", "home/u/x/CLAUDE.md")
