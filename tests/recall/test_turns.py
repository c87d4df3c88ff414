"""Entries of memory: which are new, which come first, what is kept of each and what is not."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest

from brimline import recall
from brimline.errors import StoreError
from brimline.recall import ranking, turns
from brimline.recall.record import Hit, Record
from brimline.recall.turns import CANDIDATES, Memory
from brimline.transcript.project import Project

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(world: Path) -> Memory:
    """An empty memory."""
    return Memory(str(world / "m"))


def rows(store: Memory, sql: str) -> list[Any]:
    """What the file holds."""
    return store.run_on_database(lambda base: base.execute(sql).fetchall())


def other(
    key: str, text: str, at: float = 0.0, words: float = 1.0, before: str = "", **fields: Any
) -> tuple[Hit, ranking.Found]:
    """An entry from elsewhere."""
    hit = Hit(Record(key, text, "s", at, "user", "p"), 10**11, author="mia", previous=before)
    return hit._replace(**fields), ranking.Found(words, words)


def test_how_many_are_new_is_told_of_all_of_many(store: Memory) -> None:
    """However many batches they take; each entry once, the first of those of one name."""
    entries = [Record(f"{number}", f"otter {number}") for number in range(501)]

    assert store.put_entries(entries) == 501
    assert store.put_entries([*entries, Record("more", "elk")]) == 1
    assert store.put_entries([Record("twice", "first"), Record("twice", "second")]) == 1
    assert rows(store, "SELECT text FROM entries WHERE ref = 'twice'") == [("first",)]
    assert rows(store, "SELECT count(*), count(DISTINCT ref) FROM entries") == [(503, 503)]
    assert store.put_entries([]) == 0


def test_an_entry_that_changed_takes_the_place_of_the_former(store: Memory) -> None:
    """Nothing is left of its words, also in the entry after it; what is alike stays as it was."""
    store.put_entries([Record("a", "otter", "g"), Record("b", "elk", "g")])

    assert store.put_entries([Record("a", "walrus", "g"), Record("b", "elk", "g")]) == 1

    assert rows(store, "SELECT ref, text, before FROM entries ORDER BY id") == [
        ("b", "elk", ""),
        ("a", "walrus", "elk"),
    ]
    assert rows(store, "SELECT count(*) FROM turns WHERE turns MATCH 'otter'") == [(0,)]


def test_the_rows_that_an_entry_is_made_of_come_back_with_it_and_go_with_it(store: Memory) -> None:
    """Where it is one row there are none."""
    store.put_entries([Record("a", "otter", rows="r1 r2"), Record("b", "elk")])

    found = {
        hit.id: hit.record.rows.split() for hit in [*store.search("otter"), *store.search("elk")]
    }
    store.run_on_database(lambda base: turns.remove_where(base, "ref = 'a'", ()))

    assert found == {"a": ["r1", "r2"], "b": []}
    assert rows(store, "SELECT name FROM facts WHERE name LIKE 'rows:%'") == []


def test_of_entries_that_fit_alike_the_first_comes_first(store: Memory) -> None:
    """Each with a number of its own, by which it is asked for."""
    store.put_entries([Record(name, "otter") for name in ("c", "a", "b")])

    hits = store.search("otter")

    assert [(hit.id, hit.number) for hit in hits] == [("c", 1), ("a", 2), ("b", 3)]
    assert [hit.id for hit in store.search("otter", 2)] == ["c", "a"]


@pytest.mark.parametrize(
    ("number", "found"),
    [(CANDIDATES - 1, CANDIDATES - 1), (CANDIDATES, CANDIDATES), (CANDIDATES + 1, CANDIDATES)],
)
def test_a_search_by_words_offers_so_many(store: Memory, number: int, found: int) -> None:
    """That is all there is."""
    store.put_entries([Record(f"{at}", "otter") for at in range(number)])

    assert len(store.search("otter", 999)) == found
    assert store.search("elk") == []
    assert store.search(" ") == []


def test_entries_from_elsewhere_are_among_those_of_here(store: Memory) -> None:
    """With the author and a score; what is here is listed as it is here."""
    store.put_entries([Record("here", "otter one")])
    others = [other("x", "otter two"), other("y", "otter one", words=9.0)]

    hits = store.search("otter", others=lambda: others)

    assert {hit.id: hit.author for hit in hits} == {"here": "", "x": "mia"}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert [hit.id for hit in store.search("otter", 1, others=lambda: others)] == [hits[0].id]


def test_what_several_said_alike_elsewhere_is_listed_as_it_was_said_last(store: Memory) -> None:
    """And what stands before a good one there is better for it."""
    alike = [other("new", "otter", at=5.0), other("old", "otter", at=1.0)]
    assert [hit.id for hit in store.search("otter", others=lambda: alike)] == ["new"]

    chain = [
        other("a", "otter a", words=0.5),
        other("b", "otter b", words=0.5),
        other("c", "otter c", words=9.0, before="b"),
        other("d", "otter d", words=0.0),
    ]
    hits = store.search("otter", others=lambda: chain)

    assert [hit.id for hit in hits] == ["c", "b", "a", "d"]


def test_what_is_taken_out_leaves_no_word_in_the_file(store: Memory, world: Path) -> None:
    """Neither in the file nor in what is yet to be written into it."""
    store.put_entries([Record("a", "walrus zanzibar", rows="r1"), Record("b", "elk")])

    store.run_on_database(lambda base: turns.remove_where(base, "ref = ?", ("a",)))

    left = b"".join(path.read_bytes() for path in (world / "m").iterdir())
    assert b"zanzibar" not in left
    assert b"elk" in left


def test_entries_of_a_project_are_those_in_it_and_below(store: Memory) -> None:
    """And no others."""
    places = {"a": "/p", "b": "/p/in", "c": "/p2", "d": ""}
    store.put_entries([Record(name, "puppy", project=place) for name, place in places.items()])
    search = functools.partial(store.search, within=Project(("/p",)))

    assert [hit.id for hit in search("puppy")] == ["a", "b"]
    assert len(store.search("puppy")) == 4


def test_entries_are_taken_in_together_or_not_at_all(store: Memory) -> None:
    """What fails in the middle leaves what was there."""
    store.put_entries([Record("a", "otter")])

    with pytest.raises(StoreError):
        store.put_entries([Record("a", "walrus"), Record("b", "elk", at=None)])  # type: ignore[arg-type]

    assert rows(store, "SELECT ref, text FROM entries") == [("a", "otter")]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"text": "a"}, "an entry needs an `id` and a `text`"),
        ({"id": "", "text": "a"}, "an entry needs an `id` and a `text`"),
        ({"id": "i", "text": 3}, "an entry needs an `id` and a `text`"),
        ({"id": "i", "text": "a", "group": 3}, "of entry 'i' must be texts"),
        ({"id": "i", "text": "a", "at": "soon"}, "`at` of entry 'i' is not a time"),
        ({"id": "i", "text": "a", "at": []}, ""),
    ],
)
def test_an_entry_that_is_wrong_is_told_by_what_is_wrong(
    world: Path, entry: dict[str, Any], problem: str
) -> None:
    """And none of the others is added; what is empty counts as not given."""
    store = recall.open(str(world / "m"))
    if problem:
        with pytest.raises(StoreError, match=problem):
            store.add([{"id": "sound", "text": "otter"}, entry])
        assert store.search("otter") == []
    else:
        assert store.add([entry]) == 1


def test_an_entry_comes_back_with_all_that_was_given(world: Path) -> None:
    """A moment in ISO form is one in seconds; the same entry again is not a new one."""
    store = recall.open(str(world / "m"))
    entry = {"id": "i", "text": "The otter plan.", "group": "g", "source": "s", "project": "/p"}
    entry |= {"at": "2026-01-01T00:00:00+00:00"}

    added = [store.add([entry]), store.add([entry]), store.add([entry | {"text": "The otter."}])]
    (hit,) = store.search("otter")

    assert added == [1, 0, 1]
    assert hit.record == Record("i", "The otter.", "g", 1_767_225_600.0, "s", "/p")
    assert hit.author == ""


def test_the_end_of_the_entry_before_is_searched_with_one(world: Path) -> None:
    """What stands before it is not."""
    dots = "." * (turns._MOST_BEFORE - len("otter"))
    store = recall.open(str(world / "m"))
    start = "walrus otter"
    store.add([{"id": "a", "text": start + dots, "group": "g"}])
    store.add([{"id": "b", "text": "Next.", "group": "g"}, {"id": "c", "text": "No.", "group": ""}])
    store.add([{"id": "d", "text": "Alone.", "group": ""}])

    rows = store.run_on_database(
        lambda base: base.execute("SELECT ref, before FROM entries").fetchall()
    )

    before = dict(rows)
    assert before["b"] == f"otter{dots}"
    assert (before["a"], before["c"], before["d"]) == ("", "", "")


def test_what_was_said_on_the_way_to_an_answer_is_before_nothing(world: Path) -> None:
    """What follows it belongs to what was said before it."""
    store = recall.open(str(world / "m"))
    said = [("a", "Question.", "user"), ("b", "Looking.", turns.STEP), ("c", "Answer.", "x")]
    store.add([{"id": i, "text": text, "source": s, "group": "g"} for i, text, s in said])

    (answer,) = store.run_on_database(
        lambda base: base.execute("SELECT before FROM entries WHERE ref = 'c'").fetchall()
    )

    assert answer == ("Question.",)


def test_a_search_gives_ten_hits_or_as_many_as_are_wanted(world: Path) -> None:
    """Of one project, where one is named."""
    store = recall.open(str(world / "m"))
    store.add([{"id": f"{n}", "text": "otter", "project": f"/p{n % 2}"} for n in range(24)])

    assert len(store.search("otter")) == 10
    assert len(store.search("otter", 3)) == 3
    assert len(store.search("otter", 99, Project(("/p1",)))) == 12
    assert store.search("") == []
