"""Pins: set, changed, lifted, and in doubt held; the directives by which a user asks for them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.errors import StoreError
from brimline.store import layout, pins
from brimline.store.pins import Directive, Result, Said, resolve

from .shelves import golden, stored, text

GOLDEN = golden("directives.json")
TEXTS = st.text(max_size=40) | st.sampled_from([row["text"] for row in GOLDEN])


@pytest.mark.row("S3-70")
def test_a_pin_has_a_level_and_a_reason_and_can_be_lifted(home_dir: str) -> None:
    """The last one counts, a damaged one holds; on nothing it would promise nothing."""
    key = stored(home_dir, text(1))

    pins.pin(home_dir, key, "soft", "first")
    pins.pin(home_dir, key, "hard", 'the "failing" build\n')
    found = pins.pinned(home_dir)
    pins.pin(home_dir, key, "none")

    assert list(found) == [key[7:]]
    assert found[key[7:]][:2] == ("hard", 'the "failing" build\n')
    assert pins.pinned(home_dir) == {}
    assert pins.level_of(home_dir, key[7:]) == "none"
    for content in (b"", b"{", b"[]", b'{"level":"firm","reason":null,"at":1}'):
        Path(layout.file(home_dir, key[7:], "pin")).write_bytes(content)
        assert pins.level_of(home_dir, key[7:]) == "hard"
    with pytest.raises(StoreError, match="use none, soft or hard"):
        pins.pin(home_dir, key, "firm")
    os.unlink(layout.file(home_dir, key[7:]))
    with pytest.raises(StoreError, match="is not in the store"):
        pins.pin(home_dir, key, "hard")
    assert pins.pinned(home_dir) == {}


@pytest.mark.row("S3-61", "S3-65")
@pytest.mark.parametrize("row", GOLDEN, ids=[row["text"] for row in GOLDEN])
def test_directives_are_known_by_their_exact_form(row: dict[str, Any]) -> None:
    """In any case and order, typed or recorded as a slash command; other words are none."""
    assert [list(one) for one in pins.parse(row["text"])] == row["directives"]


@pytest.mark.row("S3-58", "S3-59", "S3-60")
@pytest.mark.parametrize("row", golden("conversations.json"), ids=lambda row: row["conversation"])
def test_a_conversation_pins_what_its_directives_mean(row: dict[str, Any]) -> None:
    """The last result, the next, a range; half a range pins nothing; the strongest counts."""
    items: list[Said | Directive | Result] = []
    for number, part in enumerate(row["conversation"].split("'")):
        items += [Said(part)] if number % 2 else [Result(name) for name in part.split()]

    found = resolve(items).wanted

    assert {name: f"{one.level} {one.reason}" for name, one in found.items()} == row["wanted"]


@given(st.lists(TEXTS.map(Said) | st.text(max_size=3).map(Result), max_size=20))
def test_no_conversation_is_an_error(conversation: list[Said | Result]) -> None:
    """What users write is free text; only results are pinned."""
    names = {item.name for item in conversation if isinstance(item, Result)}
    found = resolve(conversation)

    assert found.wanted.keys() | found.gathered.keys() <= names
    assert not found.gathered or found.waits
