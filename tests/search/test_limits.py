"""How much of a text is searched, how much of the one before it, and what a removal leaves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from brimline import memory
from brimline.search import stored, turns
from brimline.search.documents import Within
from brimline.store import contents, put

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path


@pytest.mark.parametrize(("extra", "state"), [(0, stored.WHOLE), (1, stored.HEAD)])
def test_the_first_200_kilobytes_of_an_output_are_searched(
    home_dir: str, extra: int, state: str
) -> None:
    """A word that ends with them is found, and what follows them is not."""
    put.put(home_dir, b"." * 199_994 + b" otter" + b"z" * extra, {})

    def found(word: str) -> stored.Found:
        return stored.find_outputs(
            home_dir, word, None, lambda count: contents.Span(1, count), until=math.inf
        )

    assert found("otter").total == 1
    assert found("otterz").total == 0
    assert found("otter").states == [state]


def test_the_last_1500_characters_of_the_entry_before_are_searched_with_one(world: Path) -> None:
    """What stands before them is not."""
    store = memory.open(str(world / "m"))
    start = "walrus otter"
    store.add([{"id": "a", "text": start + "." * (1_500 - len("otter")), "group": "g"}])
    store.add([{"id": "b", "text": "Next.", "group": "g"}, {"id": "c", "text": "No.", "group": ""}])
    store.add([{"id": "d", "text": "Alone.", "group": ""}])

    rows = store.run_on_database(
        lambda base: base.execute("SELECT ref, before FROM entries").fetchall()
    )

    before = dict(rows)
    assert before["b"] == "otter" + "." * (1_500 - len("otter"))
    assert (before["a"], before["c"], before["d"]) == ("", "", "")


def test_what_was_said_on_the_way_to_an_answer_is_before_nothing(world: Path) -> None:
    """What follows it belongs to what was said before it."""
    store = memory.open(str(world / "m"))
    said = [("a", "Question.", "user"), ("b", "Looking.", turns.STEP), ("c", "Answer.", "x")]
    store.add([{"id": i, "text": text, "source": s, "group": "g"} for i, text, s in said])

    (answer,) = store.run_on_database(
        lambda base: base.execute("SELECT before FROM entries WHERE ref = 'c'").fetchall()
    )

    assert answer == ("Question.",)


def test_what_is_taken_out_leaves_no_word_in_what_follows(world: Path) -> None:
    """How many were taken out is told; the neighbours of an entry are those that are left."""
    store = memory.open(str(world / "m"))
    store.add([{"id": name, "text": f"The {name}.", "group": "g"} for name in ("otter", "elk")])
    store.add([{"id": "yak", "text": "The yak.", "group": "g"}])

    def around(number: int) -> list[str]:
        found = store.run_on_database(lambda base: turns.entries_around(base, number))
        assert all(hit.score == 0.0 for hit in found)
        return [hit.id for hit in found]

    def take_out(connection: sqlite3.Connection) -> int:
        return turns.remove_entries(connection, "ref = ?", ("otter",))

    assert [around(number) for number in (1, 2, 3)] == [
        ["otter", "elk"],
        ["otter", "elk", "yak"],
        ["elk", "yak"],
    ]
    assert [store.run_on_database(take_out), store.run_on_database(take_out)] == [1, 0]
    assert around(2) == ["elk", "yak"]
    assert [hit.id for hit in store.search("otter", may_be_none=True)] == []


def test_a_search_gives_ten_hits_or_as_many_as_are_wanted(world: Path) -> None:
    """Of one project, where one is named."""
    store = memory.open(str(world / "m"))
    store.add([{"id": f"{n}", "text": "otter", "project": f"/p{n % 2}"} for n in range(24)])

    assert len(store.search("otter")) == 10
    assert len(store.search("otter", 3)) == 3
    assert len(store.search("otter", 99, Within("/p1"))) == 12
    assert store.search("") == []
