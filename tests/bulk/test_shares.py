"""Shares and limits by which an output is taken for a kind, described and shown."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.bulk import judge, kinds, preview
from brimline.bulk.preview import _LEAST_CHARACTERS as LEAST
from brimline.bulk.preview import _MOST_CHARACTERS as MOST
from brimline.bulk.preview import _SHARE, Excerpt


def kind(text: str, tool: str = "Bash", *files: str) -> str:
    """The kind of an output."""
    return kinds.kind_of_output(text, text.split("\n"), tool, list(files))


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("CLAUDE.md", True),
        ("/p/docs/Readme.rst", True),
        ("/p/README", True),
        ("/p/.env", True),
        ("/p/.env.local", True),
        ("/p/prod.env.bak", True),
        ("/p/Dockerfile.dev", True),
        ("C:\\p\\a.toml", True),
        ("/p/a.yaml", True),
        ("/p/.claude.md/notes.txt", False),
        ("/p/a.md", False),
        ("/p/a.py", False),
        ("", False),
    ],
)
def test_what_is_read_to_be_obeyed_is_known_by_its_name(path: str, *, is_one: bool) -> None:
    """Settings, instructions, lock files; the folder tells nothing."""
    assert kinds.is_settings_or_instructions(path) is is_one


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', ([{"a": 1}], "")),
        ('  [1]\n{"a": 1}  ', ([[1], {"a": 1}], "")),
        ('{"a": 1} rest', ([{"a": 1}], "rest")),
        ('{"a": 1} 5', ([{"a": 1}], "5")),
        ("[1]" + "x" * 6, None),
        ("[1]" + "x" * 5, ([[1]], "xxxxx")),
        ("{", None),
        ("5", None),
        ("", None),
    ],
)
def test_documents_are_most_of_a_text_or_none(
    text: str, found: tuple[list[Any], str] | None
) -> None:
    """More than a third of it; what follows them is told."""
    assert kinds.parse_json_documents_and_rest(text) == found


def test_four_hundred_documents_are_enough() -> None:
    """The rest is what follows."""
    found = kinds.parse_json_documents_and_rest("[1]\n" * 401)

    assert found is not None
    assert (len(found[0]), found[1]) == (400, "[1]")


def test_a_line_is_shown_once_and_only_where_there_is_room() -> None:
    """With its frame: two numbers and the marks around them."""
    found = Excerpt("abc\ndef")
    assert found.frame == 9
    found.left = 12

    assert found.pick_if_it_fits(0, 10)
    assert found.left == 0
    assert found.pick_if_it_fits(0, 10)
    assert not found.pick_if_it_fits(1, 10)
    assert found.unseen == {1: "def"}
    assert found.shown_text([]) == "1-2: abc …"


@pytest.mark.parametrize(
    ("length", "room"),
    [(length, max(LEAST, min(MOST, int(length * _SHARE)))) for length in (5_000, 20_000, 40_000)],
)
def test_of_content_a_share_is_shown_within_limits(length: int, room: int) -> None:
    """So much at least, so much at most."""
    rows = "\n".join(f"def step_{n:04}(total_{n:04}): return total_{n:04}" for n in range(900))
    text = rows[:length]
    case = judge.Case("Read", {"file_path": "/p/a.py"}, text, length)

    shown = preview.make_preview(case, "/p/a.py").partition('\n("A-B')[0]

    assert 0.88 * room <= len(shown) <= room
