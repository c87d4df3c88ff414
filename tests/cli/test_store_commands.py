"""`brimline store`: how much is listed and found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from brimline.bulk import put
from brimline.recall import hits

if TYPE_CHECKING:
    from .conftest import Refused, Run


def test_a_search_of_outputs_shows_one_at_least(refused: Refused) -> None:
    """Zero is not a number of them."""
    assert "0 is not in the range x>=1" in refused("store", "search", "x", "--limit", "0", code=2)


@pytest.mark.parametrize(
    ("command", "usual"), [("store list", 20), ("store search needle", 10), ("memory search x", 10)]
)
def test_without_a_limit_a_list_has_its_usual_length(
    command: str, usual: int, home_dir: str, project_dir: str, brimline: Run
) -> None:
    """One more is left out."""
    entries: list[dict[str, Any]] = []
    for number in range(21):
        put.put(home_dir, b"needle %d" % number, {"cwd": project_dir})
        entry = {"id": str(number), "text": f"x number {number}", "project": project_dir}
        entries.append(entry | {"group": f"g{number}"})
    hits.open_or_make_memory(home_dir).add(entries)

    document = brimline(*command.split(), "--json").document

    shown = document.get("outputs", document.get("hits"))
    assert len(shown) == usual


def test_a_pin_is_told_by_its_level(home_dir: str, brimline: Run) -> None:
    """Soft unless told otherwise; what is let go of is not pinned any more."""
    key = put.put(home_dir, b"content", {})

    told = [
        brimline("store", *words.split()).out
        for words in (f"pin {key}", f"pin {key} --level hard", f"unpin {key}")
    ]

    assert told == [
        f"{key} is pinned soft.\n",
        f"{key} is pinned hard.\n",
        f"{key} is not pinned any more.\n",
    ]


@pytest.mark.parametrize(
    ("pinned", "question"),
    [(0, "Delete 2 outputs for good?"), (1, "1 of them pinned. Delete 2 outputs for good?")],
)
def test_what_is_pinned_is_said_before_it_is_forgotten(
    pinned: int, question: str, home_dir: str, brimline: Run
) -> None:
    """A no leaves everything."""
    keys = [put.put(home_dir, content, {}) for content in (b"one", b"two")]
    for key in keys[:pinned]:
        brimline("store", "pin", key)

    asked = brimline("store", "forget", *keys, typed="n\n")
    done = brimline("store", "forget", *keys, "--yes")

    assert question in asked.err
    assert asked.code == 1
    assert done.out == "2 outputs forgotten.\n"


@pytest.mark.parametrize(
    ("span", "part"),
    [("0:3", "abc"), ("3:", "def"), (":2", "ab"), ("-2:", "ef"), (":-4", "ab"), ("5:99", "f")],
)
def test_bytes_are_counted_from_zero(span: str, part: str, home_dir: str, brimline: Run) -> None:
    """The end is not included, and one below zero counts from behind."""
    key = put.put(home_dir, b"abcdef", {})

    assert brimline("store", "get", key, "--bytes", span, "--json").document["text"] == part


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--bytes 6:", "'6:' asks for no bytes: there are 6"),
        ("--bytes :", "':' is not a range of bytes: write A:B, A: or :B"),
        ("--bytes 3", "'3' is not a range of bytes: write A:B, A: or :B"),
        ("--bytes 1:2 --lines 1", "--lines and --bytes exclude each other: give one of them"),
        ("--lines 2", "there is no line 2: the last one is 1"),
    ],
)
def test_a_part_that_there_is_not_is_told(
    words: str, told: str, home_dir: str, refused: Refused
) -> None:
    """With what there is."""
    key = put.put(home_dir, b"abcdef", {})

    assert told in refused("store", "get", key, *words.split())
