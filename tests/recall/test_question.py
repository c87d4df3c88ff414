"""The floor of the search: a question about something else has no hits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from brimline import recall
from brimline.recall import vectors
from brimline.recall.question import (
    _text_weight_shares,
    _weight_of_word_in_no_entry,
    _weights_of_words,
    keys_above_floor,
)

if TYPE_CHECKING:
    from pathlib import Path

SAID = (
    "We deploy on Fridays, never on Mondays.",
    "The retry limit of the importer is seven.",
    "Paul asked for a larger font in the report.",
    "CODEOWNERS names the platform group.",
    "We still use the clock on the wall.",
    "Never touch the folder of the auditors.",
)


@pytest.mark.parametrize("has_vectors", [True, False])
@pytest.mark.parametrize(
    ("question", "is_answered"),
    [
        ("what is the retry limit of the importer?", True),
        ("importer retries", True),
        ("who is named in CODEOWNERS?", True),
        ("how do we deploy the Django admin?", False),
        ("which camera lens suits a report about safaris?", False),
        ("the recipe with aubergines", False),
        ("what must I not touch?", True),
        ("which drawer must I never touch?", True),
        ("is there a Lisbon report?", False),
        ("which paint did we use for the bedroom walls?", False),
    ],
)
def test_a_question_about_something_else_has_no_hits(
    question: str,
    is_answered: bool,
    has_vectors: bool,
    world: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One word that happens to be there does not make an answer; with vectors and without."""
    if not has_vectors:
        monkeypatch.setattr(vectors, "load_table", lambda: None)
    store = recall.open(str(world / "m"))
    store.add([{"id": str(number), "text": text} for number, text in enumerate(SAID)])

    assert bool(store.search(question, 5, may_be_none=True)) is is_answered


def test_a_long_text_is_one_hit_by_its_best_part(world: Path) -> None:
    """Five hits are five places; who asks without a floor gets every part."""
    store = recall.open(str(world / "m"))
    parts = {"a": "The importer.", "a#2": "The importer has a retry limit.", "a#3": "An importer."}
    store.add([{"id": ref, "text": text} for ref, text in parts.items()])
    store.add([{"id": "b", "text": "The retry limit of the exporter."}])

    hits = store.search("retry limit of the importer", 5, may_be_none=True)

    assert [hit.id for hit in hits] == ["a#2", "b"]
    assert len(store.search("retry limit of the importer", 5)) == 4


def test_one_of_the_first_five_must_hold_much_of_the_question(world: Path) -> None:
    """What stands further down says nothing about all of them."""
    store = recall.open(str(world / "m"))
    bad = dict.fromkeys(range(1, 5), "something else")
    good = "retry limit of the importer"
    words = ["retry", "limit", "importer"]

    def above(texts: dict[int, str]) -> list[int]:
        return store.run_on_database(
            lambda base: keys_above_floor(base, " ".join(words), words, texts)
        )

    assert above(bad | {5: good}) == [5]
    assert above(bad | {5: "x", 6: good}) == []
    assert above({1: good, 2: "x", 3: "a limit", 4: "one importer"}) == [1, 3, 4]
    assert store.run_on_database(lambda base: keys_above_floor(base, "", [], {1: good})) == []
    assert above({}) == []


def test_words_that_tell_little_count_where_there_are_no_others(world: Path) -> None:
    """Whatever their case."""
    store = recall.open(str(world / "m"))

    def above(*words: str) -> list[int]:
        texts = {1: "use the thing", 2: "otter"}
        return store.run_on_database(lambda base: keys_above_floor(base, "", words, texts))

    assert above("Use", "otter") == [2]
    assert above("Use") == [1]


def test_a_rare_word_counts_more_than_one_that_many_entries_have(world: Path) -> None:
    """Half of its weight is the same for all."""
    store = recall.open(str(world / "m"))
    store.add([{"id": str(number), "text": f"report {number}"} for number in range(1_200)])

    def above(text: str) -> list[int]:
        return store.run_on_database(
            lambda base: keys_above_floor(base, "", ["report", "otter"], {1: text})
        )

    assert above("otter") == [1]
    assert above("report") == []


@pytest.mark.parametrize(
    ("query", "word", "weight"),
    [
        ("which otter", "otter", 1.0),
        ("is it Django", "Django", 2.0),
        ("Django admin", "Django", 1.0),
        ("DJango admin", "DJango", 2.0),
        ("where is Django", "where", 1.0),
    ],
)
def test_a_name_that_no_entry_holds_tells_twice_as_much(
    query: str, word: str, weight: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The capital of a first word makes no name; without a table all words are as rare."""
    monkeypatch.setattr(vectors, "load_table", lambda: None)

    assert _weight_of_word_in_no_entry(query, word) == weight


def test_a_word_that_no_entry_holds_tells_the_more_the_rarer_it_is_in_english() -> None:
    """Up to one and a half."""
    table = vectors.load_table()
    assert table
    weights = [_weight_of_word_in_no_entry("", word) for word in ("the", "otter", "xqzzkw")]

    assert weights == [0.5 + table.rarity_of_word("the"), 0.5 + table.rarity_of_word("otter"), 1.5]
    assert weights == sorted(weights)


@pytest.mark.parametrize(
    ("held", "asked", "above"),
    [(3, 7, [1]), (5, 12, []), (1, 2, [1]), (2, 5, [])],
)
def test_one_of_the_first_holds_forty_two_hundredths_of_the_question(
    world: Path, monkeypatch: pytest.MonkeyPatch, held: int, asked: int, above: list[int]
) -> None:
    """Of words that tell alike."""
    monkeypatch.setattr(vectors, "load_table", lambda: None)
    store = recall.open(str(world / "m"))
    words = [f"word{number:02}x" for number in range(asked)]
    texts = {1: " ".join(words[:held])}

    assert store.run_on_database(lambda base: keys_above_floor(base, "", words, texts)) == above


@pytest.mark.parametrize(("asked", "above"), [(6, [1, 2]), (7, [1])])
def test_every_hit_holds_fifteen_hundredths_of_the_question(
    world: Path, monkeypatch: pytest.MonkeyPatch, asked: int, above: list[int]
) -> None:
    """Where one of the first holds much."""
    monkeypatch.setattr(vectors, "load_table", lambda: None)
    store = recall.open(str(world / "m"))
    words = [f"word{number:02}x" for number in range(asked)]
    texts = {1: " ".join(words), 2: words[0], 3: "nothing"}

    assert store.run_on_database(lambda base: keys_above_floor(base, "", words, texts)) == above


def test_half_of_a_words_weight_is_the_same_for_all_and_half_how_rare_it_is_here(
    world: Path,
) -> None:
    """A memory of a few entries counts as one of a thousand."""
    store = recall.open(str(world / "m"))
    store.add([{"id": "a", "text": "otter elk"}, {"id": "b", "text": "otter"}])

    weights = store.run_on_database(lambda base: _weights_of_words(base, "", ["otter", "elk"]))

    common, rare = math.log(1 + 998.5 / 2.5), math.log(1 + 999.5 / 1.5)
    usual = (common + rare) / 2
    assert weights == pytest.approx({"otter": usual + common, "elk": usual + rare})
    shares = _text_weight_shares({"otter": 1.0, "elk": 3.0}, {7: "Otters", 8: "otter elk", 9: "x"})
    assert shares == {7: 0.25, 8: 1.0, 9: 0.0}
