"""What records of sessions begin with, and that nothing else can be written into them."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.session import recovery
from brimline.session.faults import Findings, Place, _Row
from brimline.session.faults import Note as Harmless
from brimline.session.inspect import Inspection
from brimline.session.purge import Options, Plan, Saving
from brimline.session.restore import Piece, Restoration
from brimline.session.survey import Conversation, Item, Mark, Survey


def make_item() -> Item:
    """Something that could go, of which only what must be known is."""
    return Item("text", Mark(0, 10, 0), 1, None, 10)


@pytest.mark.parametrize(
    "record",
    [
        make_item(),
        Conversation(),
        Survey(),
        Saving(),
        Plan(Survey(), Options()),
        Harmless(),
        Findings(),
        Inspection(),
        Restoration("/s", "/h"),
    ],
    ids=lambda record: type(record).__name__,
)
def test_a_field_that_a_record_does_not_have_is_a_mistake(record: Any) -> None:
    """A slip of the pen does not get lost in a new attribute."""
    with pytest.raises(AttributeError):
        record.lenght = 5
    assert not hasattr(record, "__dict__")


def test_records_begin_with_nothing_counted() -> None:
    """And with nothing found, nothing lost and nothing undone."""
    saving, item, found = Saving(), make_item(), Inspection()

    assert (saving.items, saving.disk_bytes) == (0, 0)
    assert (saving.context_items, saving.context_characters) == (0, 0)
    assert (item.segment, item.size_bytes, item.characters) == (0, 0, 0)
    assert (item.is_main, item.is_again, item.strategy) == (True, False, "")
    assert (found.size_bytes, found.lines, found.turns, found.is_undone) == (0, 0, 0, False)
    assert (Harmless().count, Findings().rows, Conversation().segment) == (0, 0, 0)
    assert Plan(Survey(), Options()).saved_disk_bytes == 0
    assert recovery.Recovered("/s") == ("/s", 0, None)
    assert Piece("/s", 0, 1).begins_line is False
    survey = Survey()
    assert (survey.length, survey.lines, survey.unparsed_lines, survey.requests) == (0, 0, 0, 0)
    assert Place(7) == (7, 0)


def test_two_things_that_could_go_are_two_however_alike_they_are() -> None:
    """So are rows that say the same."""
    place = Place(1, 0)
    rows = [_Row("user", "a", place, 0, 0) for _ in range(2)]

    assert make_item() != make_item()
    assert len({*rows}) == 2
