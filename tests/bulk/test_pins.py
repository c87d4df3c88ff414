"""Pins: set, changed, lifted, and in doubt held; the directives by which a user asks for them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.bulk import layout, pins
from brimline.bulk.pins import Directive, Result, directives_in_text, match_directives_to_results
from brimline.errors import StoreError

from .shelves import golden, stored, text

GOLDEN = golden("directives.json")
TEXTS = st.text(max_size=40) | st.sampled_from([row["text"] for row in GOLDEN])
DIRECTIVES = TEXTS.map(directives_in_text)


@pytest.mark.row("S3-70")
def test_a_pin_has_a_level_and_a_reason_and_can_be_lifted(home_dir: str) -> None:
    """The last one counts, a damaged one holds; on nothing it would promise nothing."""
    key = stored(home_dir, text(1))

    pins.pin(home_dir, key, "soft", "first")
    pins.pin(home_dir, key, "hard", 'the "failing" build\n')
    found = pins.all_pins(home_dir)
    pins.pin(home_dir, key, "none")

    assert list(found) == [key[7:]]
    assert found[key[7:]][:2] == ("hard", 'the "failing" build\n')
    assert pins.all_pins(home_dir) == {}
    assert pins.pin_level_of(home_dir, key[7:]) == "none"
    for content in (b"", b"{", b"[]", b'{"level":"firm","reason":null,"at":1}'):
        Path(layout.stored_path(home_dir, key[7:], "pin")).write_bytes(content)
        assert pins.pin_level_of(home_dir, key[7:]) == "hard"
    with pytest.raises(StoreError, match="use none, soft or hard"):
        pins.pin(home_dir, key, "firm")
    os.unlink(layout.stored_path(home_dir, key[7:]))
    with pytest.raises(StoreError, match="is not in the store"):
        pins.pin(home_dir, key, "hard")
    assert pins.all_pins(home_dir) == {}


@pytest.mark.row("S3-61", "S3-65")
@pytest.mark.parametrize("row", GOLDEN, ids=[row["text"] for row in GOLDEN])
def test_directives_are_known_by_their_exact_form(row: dict[str, Any]) -> None:
    """In any case and order, typed or recorded as a slash command; other words are none."""
    assert [list(one) for one in pins.directives_in_text(row["text"])] == row["directives"]


@pytest.mark.row("S3-58", "S3-59", "S3-60")
@pytest.mark.parametrize("row", golden("conversations.json"), ids=lambda row: row["conversation"])
def test_a_conversation_pins_what_its_directives_mean(row: dict[str, Any]) -> None:
    """The last result, the next, a range; half a range pins nothing; the strongest counts."""
    items: list[Directive | Result] = []
    for number, part in enumerate(row["conversation"].split("'")):
        items += directives_in_text(part) if number % 2 else map(Result, part.split())

    found = match_directives_to_results(items).wanted

    assert {name: f"{one.level} {one.reason}" for name, one in found.items()} == row["wanted"]


@given(st.lists(DIRECTIVES | st.text(max_size=3).map(lambda name: [Result(name)]), max_size=20))
def test_no_conversation_is_an_error(parts: list[list[Directive | Result]]) -> None:
    """What users write is free text; only results are pinned."""
    conversation = [item for part in parts for item in part]
    names = {item.name for item in conversation if isinstance(item, Result)}
    found = match_directives_to_results(conversation)

    assert found.wanted.keys() | found.gathered.keys() <= names
    assert not found.gathered or found.waits


@pytest.mark.parametrize(
    ("arguments", "level", "reason"),
    [
        ("", "soft", None),
        ("hard", "hard", None),
        ("HARD the build", "hard", "the build"),
        ("the hard build", "soft", "the hard build"),
        ("level=hard soft words", "hard", "soft words"),
        ('level=hard reason="why so"', "hard", "why so"),
        ('reason="why so" hard', "hard", "why so"),
        ('"quoted words"', "soft", "quoted words"),
        ("level=firm x", "soft", "x"),
    ],
)
def test_a_slash_command_takes_a_level_and_free_words(
    arguments: str, level: str, reason: str | None
) -> None:
    """Or options, which win."""
    found = pins.directive_from_slash_text("last", arguments)

    assert (found.kind, found.level, found.reason) == ("last", level, reason)


def test_a_conversation_waits_for_what_was_announced() -> None:
    """A result that is to come, or the end of a range; both, or one of them."""
    begin, following = Directive("start", "soft", None), Directive("next", "soft", None)

    assert match_directives_to_results([]).waits is False
    assert match_directives_to_results([begin]).waits is True
    assert match_directives_to_results([following]).waits is True
    assert match_directives_to_results([following, Result("a")]).waits is False
    assert match_directives_to_results([begin, Directive("end", "soft", None)]).waits is False


def test_a_pin_that_cannot_be_read_holds(home_dir: str) -> None:
    """And says why."""
    key = stored(home_dir, text(1))
    path = Path(layout.stored_path(home_dir, key[7:], "pin"))
    path.mkdir(parents=True)

    found = pins.read_pin(home_dir, key[7:])

    assert found is not None
    assert found.level == "hard"
    assert (found.reason or "").startswith("the pin cannot be read: ")
