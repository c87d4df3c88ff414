"""Entries of memory: which are new, which come first, what is kept of each and what is not."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest

from brimline import recall
from brimline.errors import StoreError
from brimline.recall import question, ranking, turns, vectors
from brimline.recall.record import Hit, Record
from brimline.recall.turns import Memory
from brimline.transcript.project import Project

if TYPE_CHECKING:
    import sqlite3
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
    return hit._replace(**fields), ranking.Found(words, words, words)


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


@pytest.mark.parametrize(("number", "found"), [(199, 199), (200, 200), (201, 200)])
def test_a_search_by_words_offers_200(
    store: Memory, number: int, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are no vectors, that is all there is."""
    monkeypatch.setattr(vectors, "load_table", lambda: None)
    store.put_entries([Record(f"{at}", "otter") for at in range(number)])

    assert len(store.search("otter", 999)) == found
    assert store.search("elk") == []
    assert store.search(" ") == []


def test_what_means_nearly_the_same_is_found_wherever_its_vector_lies(store: Memory) -> None:
    """At the end of a block, at the beginning of the next; what another process added too."""
    store.put_entries([Record(f"{at}", f"number {at}") for at in range(1, 255)])
    store.put_entries([Record("255", "The puppy barks.")])
    before = store.search("a small dog", 1)
    Memory(store.folder).put_entries([Record("256", "A kitten sleeps.")])
    after = [store.search(asked, 1)[0].id for asked in ("a small dog", "a young cat")]

    assert [hit.id for hit in before] == ["255"]
    assert after == ["255", "256"]
    assert rows(store, "SELECT block FROM vectors") == [(0,), (1,)]


def test_nothing_is_left_of_the_vector_of_what_is_taken_out(store: Memory) -> None:
    """Its neighbours in the block keep theirs."""
    store.put_entries([Record(name, f"the {name}") for name in ("otter", "elk", "yak")])
    store.run_on_database(lambda base: turns.remove_where(base, "ref = 'elk'", ()))

    ((records,),) = rows(store, "SELECT records FROM vectors")
    size = len(records) // 256
    used = [any(records[at * size : (at + 1) * size]) for at in range(5)]

    assert used == [False, True, False, True, False]
    assert len(records) == 256 * size
    assert [hit.id for hit in store.search("elk")] == ["otter", "yak"]


def test_entries_that_came_without_vectors_get_them_once(
    store: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand at a time; all of them anew where they are of another table."""
    table = vectors.load_table()
    assert table
    with monkeypatch.context() as without:
        without.setattr(vectors, "load_table", lambda: None)
        store.put_entries([Record(f"{at}", f"otter {at}") for at in range(1_001)])

    def make(connection: sqlite3.Connection) -> int:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            return turns.make_batch_of_missing_vectors(connection, table)

    assert [store.run_on_database(make) for _ in range(3)] == [1_000, 1, 0]
    store.run_on_database(
        lambda base: base.execute("UPDATE facts SET value = 'x' WHERE name = 'table'")
    )
    assert [store.run_on_database(make) for _ in range(3)] == [1_000, 1, 0]
    assert rows(store, "SELECT value FROM facts WHERE name = 'table'") == [
        (turns.table_digest(table),)
    ]


def test_vectors_of_another_table_are_not_searched(store: Memory) -> None:
    """Only words count until they are made anew."""
    store.put_entries([Record("dog", "The puppy barks."), Record("cat", "The kitten sleeps.")])
    store.run_on_database(
        lambda base: base.execute("UPDATE facts SET value = 'x' WHERE name = 'table'")
    )

    assert store.search("quarrelsome") == []
    assert [hit.id for hit in store.search("kitten")] == ["cat"]


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


def test_three_times_as_many_as_are_wanted_are_held_against_the_floor(store: Memory) -> None:
    """What comes after those is not looked at, however well it fits."""
    poor = [other(f"{at}", f"nothing {at}", words=9.0 - at) for at in range(3)]
    good = other("good", "retry limit importer", words=5.5)

    def ids(limit: int, *found: tuple[Hit, ranking.Found]) -> list[str]:
        hits = store.search("retry limit importer", limit, others=lambda: found, may_be_none=True)
        return [hit.id for hit in hits]

    assert ids(1, *poor[:2], good) == ["good"]
    assert ids(1, *poor, good) == []
    assert ids(2, *poor, good) == ["good"]


def test_what_is_taken_out_leaves_no_word_in_the_file(store: Memory, world: Path) -> None:
    """Neither in the file nor in what is yet to be written into it."""
    store.put_entries([Record("a", "walrus zanzibar", rows="r1"), Record("b", "elk")])

    store.run_on_database(lambda base: turns.remove_where(base, "ref = ?", ("a",)))

    left = b"".join(path.read_bytes() for path in (world / "m").iterdir())
    assert b"zanzibar" not in left
    assert b"elk" in left


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("Otter otter OTTER", ["Otter", "otter", "OTTER"]),
        ("otter plan otter", ["otter", "plan"]),
        ("check_one", ["check", "one"]),
        ("e\u0301t\u00e9", ["\u00e9t\u00e9"]),
        ("The", ["The"]),
        ("", []),
    ],
)
def test_words_are_told_apart_as_they_are_written(query: str, words: list[str]) -> None:
    """Each once, in their order; a name falls into its parts."""
    assert question.words_but_stop_words(query) == words


def test_entries_of_a_project_are_those_in_it_and_below(store: Memory) -> None:
    """By words and by meaning."""
    places = {"a": "/p", "b": "/p/in", "c": "/p2", "d": ""}
    store.put_entries([Record(name, "puppy", project=place) for name, place in places.items()])
    search = functools.partial(store.search, within=Project(("/p",)))

    assert [hit.id for hit in search("puppy")] == ["a", "b"]
    assert sorted(hit.id for hit in search("dog")) == ["a", "b"]
    assert len(store.search("puppy")) == 4


def test_entries_are_taken_in_together_or_not_at_all(store: Memory) -> None:
    """What fails in the middle leaves what was there."""
    store.put_entries([Record("a", "otter")])

    with pytest.raises(StoreError):
        store.put_entries([Record("a", "walrus"), Record("b", "elk", at=None)])  # type: ignore[arg-type]

    assert rows(store, "SELECT ref, text FROM entries") == [("a", "otter")]


def test_an_entry_gets_a_share_of_what_its_neighbours_score(
    store: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifteen hundredths of each; the same where they are from elsewhere."""
    monkeypatch.setattr(vectors, "load_table", lambda: None)
    texts = {"a": "otter", "b": "an otter and an elk", "c": "yaks by a river, one otter, no elk"}
    store.put_entries(
        [Record(name, text, "alone" if name == "c" else "g") for name, text in texts.items()]
    )

    def scores(*others: tuple[Hit, ranking.Found]) -> dict[str, float]:
        return {hit.id: hit.score for hit in store.search("otter", others=lambda: others)}

    linked = scores()
    store.run_on_database(lambda base: base.execute("UPDATE entries SET before_id = NULL"))
    alone = scores()

    assert linked == pytest.approx(
        {
            "a": alone["a"] + 0.15 * alone["b"],
            "b": alone["b"] + 0.15 * alone["a"],
            "c": alone["c"],
        }
    )
    far = [other("x", "far otter", words=9.0), other("y", "farther", words=8.0)]
    apart, together = scores(*far), scores(far[0], (far[1][0]._replace(previous="x"), far[1][1]))
    assert together["x"] == pytest.approx(apart["x"] + 0.15 * apart["y"])
    assert together["y"] == pytest.approx(apart["y"] + 0.15 * apart["x"])


def test_a_damaged_memory_is_told_unless_it_can_be_had_again(world: Path) -> None:
    """It is begun anew either way."""
    for place, settings in (("own", {}), ("copy", {"derived": True})):
        store = Memory(str(world / place), **settings)
        store.put_entries([Record("a", "otter")])
        (file,) = (world / place).glob("*.sqlite3")
        file.write_bytes(b"no database" * 999)
        if settings:
            assert store.search("otter") == []
        else:
            with pytest.raises(StoreError, match="was damaged and is begun anew: add all of it"):
                store.search("otter")
        assert store.put_entries([Record("a", "otter")]) == 1


def test_the_words_of_a_question_that_tell_nothing_are_left_out() -> None:
    """Unless it has no others; sixty are enough of any question."""
    assert question.words_but_stop_words("What is the otter plan?") == ["otter", "plan"]
    assert question.words_but_stop_words("what is the") == ["what", "is", "the"]
    many = " ".join(f"word{number}" for number in range(61))
    assert len(question.words_but_stop_words(many)) == 60
    assert question.fts_expression_of_any_word("otter plan") == '"otter" OR "plan"'


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"text": "a"}, "an entry needs an `id` and a `text`"),
        ({"id": "", "text": "a"}, "an entry needs an `id` and a `text`"),
        ({"id": "i", "text": 3}, "an entry needs an `id` and a `text`"),
        ({"id": "i", "text": "a", "group": 3}, "of entry 'i' must be texts"),
        ({"id": "i", "text": "a", "at": "soon"}, "`at` of entry 'i' is no time"),
        ({"id": "i", "text": "a", "at": []}, ""),
    ],
)
def test_an_entry_that_is_wrong_is_told_by_what_is_wrong(
    world: Path, entry: dict[str, Any], problem: str
) -> None:
    """What is empty counts as not given."""
    store = recall.open(str(world / "m"))
    if problem:
        with pytest.raises(StoreError, match=problem):
            store.add([entry])
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


def test_the_last_1500_characters_of_the_entry_before_are_searched_with_one(world: Path) -> None:
    """What stands before them is not."""
    store = recall.open(str(world / "m"))
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
    store = recall.open(str(world / "m"))
    said = [("a", "Question.", "user"), ("b", "Looking.", turns.STEP), ("c", "Answer.", "x")]
    store.add([{"id": i, "text": text, "source": s, "group": "g"} for i, text, s in said])

    (answer,) = store.run_on_database(
        lambda base: base.execute("SELECT before FROM entries WHERE ref = 'c'").fetchall()
    )

    assert answer == ("Question.",)


def test_what_is_taken_out_leaves_no_word_in_what_follows(world: Path) -> None:
    """How many were taken out is told; the neighbours of an entry are those that are left."""
    store = recall.open(str(world / "m"))
    store.add([{"id": name, "text": f"The {name}.", "group": "g"} for name in ("otter", "elk")])
    store.add([{"id": "yak", "text": "The yak.", "group": "g"}])

    def around(number: int) -> list[str]:
        found = store.run_on_database(lambda base: turns.entry_and_neighbours(base, number))
        assert all(hit.score == 0.0 for hit in found)
        return [hit.id for hit in found]

    def take_out(connection: sqlite3.Connection) -> int:
        return turns.remove_where(connection, "ref = ?", ("otter",))

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
    store = recall.open(str(world / "m"))
    store.add([{"id": f"{n}", "text": "otter", "project": f"/p{n % 2}"} for n in range(24)])

    assert len(store.search("otter")) == 10
    assert len(store.search("otter", 3)) == 3
    assert len(store.search("otter", 99, Project(("/p1",)))) == 12
    assert store.search("") == []


def test_vectors_are_read_once_and_again_where_they_have_changed(store: Memory) -> None:
    """By whomever: another process may have added some."""
    store.put_entries([Record("a", "The puppy barks.")])
    scanned = []
    for change in (None, None, "b", None):
        if change:
            Memory(store.folder).put_entries([Record(change, "A kitten sleeps.")])
        store.search("a small dog")
        scanned.append(store._scanned[1])

    first, again, changed, last = scanned
    assert first is not None
    assert (again is first, changed is first, last is changed) == (True, False, True)
