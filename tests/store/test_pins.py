"""Pins: set, changed, lifted, and in doubt held."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from brimline.errors import StoreError
from brimline.store import layout, pins

from .shelves import stored, text


@pytest.mark.row("S3-70")
def test_a_pin_has_a_level_and_a_reason_and_can_be_lifted(home_dir: str) -> None:
    """One pin per blob: the last one counts."""
    key = stored(home_dir, text(1))

    pins.pin(home_dir, key, "soft", "first")
    pins.pin(home_dir, key, "hard", 'the "failing" build\n')
    found = pins.pinned(home_dir)
    pins.pin(home_dir, key, "none")

    assert list(found) == [key[7:]]
    assert found[key[7:]][:2] == ("hard", 'the "failing" build\n')
    assert pins.pinned(home_dir) == {}
    assert pins.level_of(home_dir, key[7:]) == "none"


def test_only_what_is_there_can_be_pinned(home_dir: str) -> None:
    """A pin on nothing would promise nothing."""
    key = stored(home_dir, text(1))
    os.unlink(layout.file(home_dir, key[7:]))

    with pytest.raises(StoreError, match="is not in the store"):
        pins.pin(home_dir, key, "hard")
    assert pins.pinned(home_dir) == {}


def test_an_unknown_level_is_refused(home_dir: str) -> None:
    """The sentence names the known ones."""
    with pytest.raises(StoreError, match="use none, soft or hard"):
        pins.pin(home_dir, stored(home_dir, text(1)), "firm")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"level":"firm","reason":null,"at":1}'])
def test_a_pin_that_cannot_be_understood_holds(home_dir: str, content: bytes) -> None:
    """In doubt a blob stays."""
    key = stored(home_dir, text(1))
    Path(layout.file(home_dir, key[7:], "pin")).write_bytes(content)

    assert pins.level_of(home_dir, key[7:]) == "hard"
