"""Which lines of a Markdown file are text, code or comment, compared with a full parser."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from brimline.rules import markdown

LINES = (
    *("text here", "plain `code` x", "  text", "    four", "        eight", "  continued", "", ""),
    *("- item", "* star", "1. one", "2. two", "1) other", "  - nested", "    - deeper", "-"),
    *("```", "```py", "~~~", "````", "   ```", "  ```", "- ```", "```` x", "`` ` ``"),
    *("# Head", "## Head two", "===", "---", "***", "> quote", "> - item", "> ```", ">"),
    *("<!-- note -->", "<!-- open", "close -->", "\tcode by tab", "####### no heading"),
)


def kinds(text: str) -> dict[int, str]:
    """The kind of each line that is not blank."""
    return {line.number: line.kind for line in markdown.parse(text).lines if line.text.strip()}


def plain(text: str) -> str:
    """The text that counts."""
    return "\n".join(line.plain for line in markdown.parse(text).lines)


def expected_code(text: str) -> set[int]:
    """The lines that a full parser takes for code."""
    tokens = MarkdownIt("commonmark").parse(text)
    blocks = [token.map for token in tokens if token.type in ("fence", "code_block") and token.map]
    return {number + 1 for first, last in blocks for number in range(first, last)}


def expected_items(text: str) -> set[int]:
    """The lines with which a full parser sees list items begin."""
    tokens = MarkdownIt("commonmark").parse(text)
    return {token.map[0] + 1 for token in tokens if token.type == "list_item_open" and token.map}


@given(st.integers(0, 2**32))
@settings(max_examples=1_500, deadline=None)
def test_code_and_items_are_where_a_full_parser_sees_them(seed: int) -> None:
    """Any mixture of fences, lists, quotes, headings and comments."""
    chosen = random.Random(seed)
    rows = [chosen.choice(LINES) for _ in range(chosen.randint(1, 8))]
    text = "\n".join(["intro", "", *rows])
    spoken = {number for number, row in enumerate(text.split("\n"), 1) if row.strip(" >\t")}

    lines = markdown.parse(text).lines
    code = {line.number for line in lines if line.kind == markdown.CODE}
    items = {first for line in lines for first in line.items}

    assert code & spoken == expected_code(text) & spoken
    assert items == expected_items(text)


def test_a_fence_ends_with_one_as_long() -> None:
    """Shorter ones and those of the other kind are code."""
    text = "````\n```\n~~~\n````\ntext"

    assert list(kinds(text).values()) == ["code"] * 4 + ["text"]


def test_an_open_fence_runs_to_the_end_of_its_item() -> None:
    """What follows the list is text again."""
    text = "- item\n  ```\n  code\n\nafter"

    assert kinds(text) == {1: "text", 2: "code", 3: "code", 5: "text"}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("see `@a.md` and @b.md", "see         and @b.md"),
        ("``a ` @x`` @y", "           @y"),
        ("an open ` stays @z", "an open ` stays @z"),
        (r"\`@a\` @b", r"\`@a\` @b"),
        ("a `span\nover @lines` @c", "a      \n             @c"),
        ("x <!-- @d --> y", "x             y"),
    ],
)
def test_code_spans_and_comments_in_a_line_do_not_count(text: str, left: str) -> None:
    """They leave blanks of the same length."""
    assert plain(text) == left


def test_front_matter_and_comments_are_not_shown() -> None:
    """As in the client; a comment inside a code block is code."""
    shown = "```\n<!-- code -->\n```\nend <!-- x --> here"
    document = markdown.parse(f"---\npaths: x\n---\nfirst\n\n<!--\nnote\n-->\n{shown}\n")

    assert document.front == ("paths: x",)
    assert document.body == f"first\n\n{shown}"
    assert document.lines[0].number == 4


@pytest.mark.parametrize("text", ["", "---", "---\nno end", "--- \n---", "\n---\n---\n"])
def test_torn_front_matter_is_text(text: str) -> None:
    """Nothing raises, and nothing is lost that stands after it."""
    assert markdown.parse(text + "\nlast").body.endswith("last")


def test_a_heading_may_be_underlined() -> None:
    """Both spellings, all lines of it."""
    lines = markdown.parse("One\ntwo\n===\n\nThree\n---\n## Four").lines

    assert [line.heading for line in lines] == [1, 1, 0, 0, 2, 0, 2]


@pytest.mark.parametrize("piece", ["`", "<!--", "> ", "- ", "```\n", "` `` ", "* * *\n", "#"])
def test_a_hostile_file_takes_no_more_than_its_length(piece: str) -> None:
    """A hundred thousand repetitions end; nothing in the parser is quadratic."""
    assert markdown.parse(piece * 100_000).lines


@given(st.text(alphabet="`~-*+#>|<! \t\n@1.)=_xX\u2028\x0c", max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_line_by_line(text: str) -> None:
    """No line is lost or made up, and what counts is never longer than the line."""
    document = markdown.parse("x\n" + text)

    assert len(document.lines) == text.count("\n") + 2
    assert all(len(line.plain) <= len(line.text) for line in document.lines)
