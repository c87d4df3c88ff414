"""Lines of an instruction file: what is text, what is code or comment, where things begin."""

from __future__ import annotations

import pytest

from brimline.rules import lines
from brimline.rules.lines import _LONGEST_LINE as LINE
from brimline.rules.lines import BLANK, CODE, COMMENT, TEXT


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("one\ntwo", [TEXT, TEXT]),
        ("   three spaces", [TEXT]),
        ("    four spaces", [CODE]),
        ("\ta tab", [CODE]),
        ("one\n    goes on", [TEXT, TEXT]),
        ("one\n\n    code", [TEXT, BLANK, CODE]),
        ("# Title\n    code", [TEXT, CODE]),
        ("- item\n\n    of the item", [TEXT, BLANK, TEXT]),
        ("- item\n\nafter\n\n    code", [TEXT, BLANK, TEXT, BLANK, CODE]),
        ("```\n\ncode\n```\ntext", [CODE, CODE, CODE, CODE, TEXT]),
        ("````\n```\n````\ntext", [CODE, CODE, CODE, TEXT]),
        ("```\n~~~\n```\ntext", [CODE, CODE, CODE, TEXT]),
        ("```\n```` \ntext", [CODE, CODE, TEXT]),
        ("~~~ `a`\ncode\n~~~\ntext", [CODE, CODE, CODE, TEXT]),
        ("``` `a`\ntext", [TEXT, TEXT]),
        ("```\n<!-- code -->\n```", [CODE, CODE, CODE]),
        ("> ```\n> code\n> ```\n> text", [CODE, CODE, CODE, TEXT]),
        ("<!-- note -->\ntext", [COMMENT, TEXT]),
        ("<!--\nnote\n\n-->\ntext", [COMMENT, COMMENT, COMMENT, COMMENT, TEXT]),
        ("<!-- note --> text\nmore", [TEXT, TEXT]),
        ("<!--> text\n-->", [COMMENT, COMMENT]),
        ("text <!-- note -->", [TEXT]),
        ("<!---->text", [TEXT]),
        ("<!--->\n-->", [COMMENT, COMMENT]),
        ("<!--\n--> text\nmore", [COMMENT, TEXT, TEXT]),
        ("<!--\n->\n-->text", [COMMENT, COMMENT, TEXT]),
        ("> <!-- note -->", [COMMENT]),
        ("- item\nlazy\n\n    of the item", [TEXT, TEXT, BLANK, TEXT]),
        ("- item\n\nafter\n    goes on", [TEXT, BLANK, TEXT, TEXT]),
        ("> > quoted\n>     code", [TEXT, TEXT]),
        (">     code", [CODE]),
        ("```\n``\n```", [CODE, CODE, CODE]),
        ("```\n  ```\ntext", [CODE, CODE, TEXT]),
    ],
)
def test_a_line_is_text_code_comment_or_blank(text: str, kinds: list[str]) -> None:
    """As Markdown has it, as far as it decides whether a line counts."""
    _, read = lines.parse_front_and_lines(text)

    assert [line.kind for line in read] == kinds
    assert [line.number for line in read] == list(range(1, len(kinds) + 1))


@pytest.mark.parametrize(
    ("text", "front", "first"),
    [
        ("---\npaths: a\n---\nbody", ["paths: a"], 4),
        ("---\n---\nbody", [], 3),
        ("---\nno end", [], 1),
        ("text\n---\nmore\n---\nend", [], 1),
        ("body", [], 1),
    ],
)
def test_front_matter_stands_at_the_beginning_between_two_rules(
    text: str, front: list[str], first: int
) -> None:
    """The other lines keep their numbers."""
    matter, read = lines.parse_front_and_lines(text)

    assert (matter, read[0].number) == (front, first)
    assert len(read) == text.count("\n") + 2 - first


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("see @notes.md here", ["/p/notes.md"]),
        ("@a.md and @b/c.md and @a.md", ["/p/a.md", "/p/b/c.md"]),
        ("@~/mine.md @/etc/all.md @../up.md", ["/home/u/mine.md", "/etc/all.md", "/up.md"]),
        ("**@a.md** _@b.md_", ["/p/a.md", "/p/b.md"]),
        ("@with\\ space.md @a.md#part", ["/p/with space.md", "/p/a.md"]),
        ("me@host.org `@code.md` @~other/x @// @@x", []),
        ("    @code.md", []),
        ("x" * (LINE - 10) + " @a.md", ["/p/a.md"]),
        ("x" * (LINE - 6) + " @a.md", ["/p/a.md"]),
        ("x" * (LINE - 5) + " @a.md", ["/p/a.m"]),
        ("x" * LINE + " @a.md", []),
    ],
)
def test_imports_are_those_in_text_each_once(text: str, targets: list[str]) -> None:
    """Not in code, not of other people's homes, not beyond what is looked at of a line."""
    _, read = lines.parse_front_and_lines(text)

    assert [
        each.path for each in lines.imports_in_lines(read, "/p/CLAUDE.md", "/home/u")
    ] == targets


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("<!-- note --> text", [" text"]),
        ("<!-- a\nb -->c", ["<!-- a", "c"]),
        ("text <!-- note -->", ["text <!-- note -->"]),
    ],
)
def test_what_follows_a_comment_is_all_that_counts_of_its_line(text: str, rows: list[str]) -> None:
    """Also where the comment began on an earlier line; one inside a text is left in it."""
    _, read = lines.parse_front_and_lines(text)

    assert [line.text for line in read] == rows
    assert "note" not in "".join(line.plain for line in read)
