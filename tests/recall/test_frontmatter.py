"""The head of a topic file: what the client and people write there is read as YAML reads it."""

from __future__ import annotations

import pytest

from brimline.recall import frontmatter


@pytest.mark.parametrize(
    ("lines", "fields"),
    [
        (["name: a b", "type: user"], {"name": "a b", "type": "user"}),
        (["name: 'it''s: a'  "], {"name": "it's: a"}),
        (['name: "a: \\"b\\" \\u00e9"'], {"name": 'a: "b" é'}),
        (['name: "unclosed'], {"name": "unclosed"}),
        (["name: a # a comment", "# another", "url: a#b"], {"name": "a", "url": "a#b"}),
        (["name: x: y"], {"name": "x: y"}),
        (
            ["name:", "description: >-", "  One", "", "  two."],
            {"name": "", "description": "One two."},
        ),
        (["description: |", "  One", "  two."], {"description": "One two."}),
        (["description: a long", "  text"], {"description": "a long text"}),
        (["metadata:", "  type: user", "  x: 1"], {"metadata": "", "type": "user"}),
        (["metadata: {node-type: x, type: 'user'}"], {"metadata": "", "type": "user"}),
        (["metadata:", "  x: 1"], {"metadata": "", "type": ""}),
        (["type: project", "metadata:", "  type: user"], {"type": "project", "metadata": ""}),
        (["tags: [a, b]", "more:", "  a: b"], {"tags": "", "more": ""}),
        (["- a", "", "\t"], {}),
    ],
)
def test_the_texts_of_a_head_are_read(lines: list[str], fields: dict[str, str]) -> None:
    """Quoted, with comments, on more than one line, nested; lists and maps are no texts."""
    assert frontmatter.read_fields(lines) == fields


def test_a_line_that_is_none_is_named() -> None:
    """By its place."""
    with pytest.raises(frontmatter.BadLineError) as refused:
        frontmatter.read_fields(["name: a", "", "no key"])
    assert refused.value.number == 2
