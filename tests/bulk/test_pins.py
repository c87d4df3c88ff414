"""Pins: set, changed, lifted, and in doubt held."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from brimline.bulk import layout, pins
from brimline.errors import StoreError

from .shelves import stored, text


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


def test_a_pin_that_cannot_be_read_holds(home_dir: str) -> None:
    """And says why."""
    key = stored(home_dir, text(1))
    path = Path(layout.stored_path(home_dir, key[7:], "pin"))
    path.mkdir(parents=True)

    found = pins.read_pin(home_dir, key[7:])

    assert found is not None
    assert found.level == "hard"
    assert (found.reason or "").startswith("the pin cannot be read: ")
