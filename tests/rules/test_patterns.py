"""Patterns as in `.gitignore`; a library for such files is the judge."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from brimline.rules import patterns
from brimline.rules.patterns import _MOST_ALTERNATIVES

PARTS = st.sampled_from(
    ["src", "a", "b.ts", "*.ts", "*", "**", "lib", "s?c", "[ab]", "[!b]", "*b*", r"\*"]
)
NAMES = st.sampled_from(["src", "a", "b", "b.ts", "lib", "x-y", "sac", "bb.ts", "*"])


@given(
    st.lists(PARTS, min_size=1, max_size=3),
    st.lists(NAMES, min_size=1, max_size=4),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=200)
def test_matching_agrees_with_an_ignore_file(
    parts: list[str], names: list[str], rooted: bool, folders_only: bool
) -> None:
    """Anchors, wildcards and folders."""
    ends_in_stars = parts[-1] == "**"  # of which the judge makes more than git does
    folders_only = folders_only and not ends_in_stars
    line = "/" * rooted + "/".join(parts) + "/" * folders_only
    judge = GitIgnoreSpec.from_lines([line])

    for folder in (False,) if ends_in_stars else (False, True):
        expected = judge.match_file("/".join(names) + "/" * folder)
        assert patterns.parse_pattern(line).matches(names, folder=folder) == expected, line


@pytest.mark.parametrize(
    ("line", "path", "expected"),
    [
        ("/home/u/x/CLAUDE.md", "home/u/x/CLAUDE.md", True),
        ("**/vendor/**/CLAUDE.md", "home/u/vendor/a/CLAUDE.md", True),
        ("/home/u/**", "home/u/vendor/a/CLAUDE.md", True),
        ("/home/u/x", "home/u/x/CLAUDE.md", False),
    ],
)
def test_a_whole_path_can_be_asked_for(line: str, path: str, expected: bool) -> None:
    """Not a folder above it."""
    assert patterns.parse_pattern(line).matches_whole_path(path.split("/")) is expected


@pytest.mark.parametrize(
    ("text", "choices"),
    [
        ("a", ["a"]),
        ("{a,b}.c", ["a.c", "b.c"]),
        ("{a, b}{c,d}", ["ac", "ad", "bc", "bd"]),
        ("{a}", ["{a}"]),
        ("{" + ",".join("a" * _MOST_ALTERNATIVES) + "}", ["a"] * _MOST_ALTERNATIVES),
        ("{" + ",".join("a" * (_MOST_ALTERNATIVES + 1)) + "}", []),
    ],
)
def test_each_choice_in_braces_is_a_text_of_its_own(text: str, choices: list[str]) -> None:
    """In any order; where there are more than 200 there are none."""
    assert sorted(patterns.expand_braces(text)) == choices


def test_a_mark_before_a_line_makes_an_exception() -> None:
    """It means the same paths; an escaped one is a letter."""
    exception = patterns.parse_pattern("!build/")
    assert exception.is_negated
    assert exception.matches(["build", "x"])
    assert not exception.matches(["build"])
    assert exception.matches(["build"], folder=True)
    assert not patterns.parse_pattern("build").is_negated
    assert patterns.parse_pattern(r"a\*b").matches(["a*b"])
    assert not patterns.parse_pattern(r"a\*b").matches(["axb"])
    assert not patterns.parse_pattern("src/**").matches_whole_path(["src"])
    assert patterns.parse_pattern("src/**").matches_whole_path(["src", "a"])
