"""`@path` in an instruction file: what is an import, and to which file it leads."""

from __future__ import annotations

import pytest

from brimline.rules import imports, markdown


def written(text: str) -> list[str]:
    """The imports of a text, as written."""
    found = imports.imports(markdown.parse(text), "/p/CLAUDE.md", "/home/u")
    return [one.written for one in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@a.md", ["a.md"]),
        ("see @a.md and @b/c.md", ["a.md", "b/c.md"]),
        ("- item @a.md", ["a.md"]),
        ("> @a.md", ["a.md"]),
        ("# heading @a.md", ["a.md"]),
        ("**@a.md** bold", ["a.md"]),
        (r"@with\ space.md", ["with space.md"]),
        ("@a.md#part", ["a.md"]),
        ("@~/x.md @/abs.md @./r.md @../up.md", ["~/x.md", "/abs.md", "./r.md", "../up.md"]),
        ("@a.md @a.md", ["a.md"]),
        ("mail me@a.md", []),
        ("(@a.md)", []),
        ('"@a.md"', []),
        ("@", []),
        ("@#x", []),
        ("@/ @@b", []),
        ("`@a.md`", []),
        ("``x @a.md``", []),
        ("```\n@a.md\n```", []),
        ("~~~\n@a.md\n~~~", []),
        ("text\n\n    @a.md", []),
        ("<!-- @a.md -->", []),
        ("<!--\n@a.md\n-->", []),
        ("- ```\n  @a.md\n  ```\n- @b.md", ["b.md"]),
    ],
)
def test_imports_are_found_outside_code_and_comments(text: str, found: list[str]) -> None:
    """The same places in which the client finds them."""
    assert written(text) == found


def test_a_target_is_taken_from_the_file_that_names_it() -> None:
    """Or from the home folder, or as it is."""
    document = markdown.parse("@a.md\n@../b.md\n@~/c.md\n@/d.md")
    found = imports.imports(document, "/p/q/CLAUDE.md", "/home/u")

    assert [(one.line, one.path) for one in found] == [
        (1, "/p/q/a.md"),
        (2, "/p/b.md"),
        (3, "/home/u/c.md"),
        (4, "/d.md"),
    ]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("@docs/guide.md", True),
        ("@./guide", True),
        ("@guide.md.", True),
        ("@alice", False),
        ("@types/node", False),
        ("@example.com", False),
        ("@param", False),
    ],
)
def test_a_name_after_an_at_sign_may_be_something_else(text: str, meant: bool) -> None:
    """Only what is clearly a path is worth a complaint when it is missing."""
    (found,) = imports.imports(markdown.parse(text), "/p/CLAUDE.md", "/home/u")

    assert imports.is_meant(found) is meant
