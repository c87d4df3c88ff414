"""Which candidate comes first: what words, pairs, neighbours and shares count; what is no hit."""

from __future__ import annotations

import pytest

from brimline.recall import ranking
from brimline.recall.ranking import Found
from brimline.recall.record import Hit, Record


def scores(found: dict[object, Found], before: dict[object, object] | None = None) -> list[object]:
    """The candidates, the best first, with what each has."""
    fits = {key: (fit, (before or {}).get(key)) for key, fit in found.items()}
    return list(ranking.fuse_scores(fits).items())


def hit(name: str, text: str = "", score: float = 0.0) -> Hit:
    """Something that was found."""
    return Hit(Record(name, text or name), 1, score)


def test_each_way_of_finding_counts_from_nothing_for_the_worst_to_all_for_the_best() -> None:
    """However large its figures are; where all are alike it tells nothing."""
    found: dict[object, Found] = {1: Found(9, 400), 2: Found(2, 30), 3: Found(2, 400)}

    assert scores(found) == [
        (1, pytest.approx(ranking._WORDS + ranking._PAIR)),
        (3, ranking._PAIR),
        (2, 0),
    ]
    assert scores({1: Found(5, 5), 2: Found(5, 5)}) == [(1, 0), (2, 0)]
    assert scores({}) == []
    assert Found(1, 2).with_forms(Found(10, 20)) == (1 + 10 * ranking._FORM, 2 + 20 * ranking._FORM)


def test_neighbours_give_each_other_a_share_of_their_scores() -> None:
    """In both directions, also where they are named as a server does; who is no candidate none."""
    found: dict[object, Found] = {"a": Found(1), "b": Found(), "c": Found()}
    own, share = ranking._WORDS, ranking._WORDS * ranking._NEIGHBOUR

    assert scores(found, {"b": "a", "c": "x"}) == [("a", own), ("b", share), ("c", 0)]
    assert scores(found, {"a": "c"}) == [("a", own), ("c", share), ("b", 0)]


def test_what_holds_more_of_the_question_moves_up() -> None:
    """By a fixed part of the share."""
    ranked = ranking.best_first([hit("a", score=0.5), hit("b", score=0.4)], [0.1, 0.9])

    assert [(one.id, share) for one, share in ranked] == [("b", 0.9), ("a", 0.1)]
    assert ranked[0][0].score == pytest.approx(0.4 + 0.9 * ranking._HELD)


@pytest.mark.parametrize(
    ("shares", "hits"),
    [
        ([ranking._ONE_OF_FIRST, ranking._EVERY, ranking._EVERY - 0.01], [0, 1]),
        ([ranking._ONE_OF_FIRST - 0.01, ranking._EVERY], []),
        (
            [*[ranking._EVERY] * (ranking._FIRST - 1), ranking._ONE_OF_FIRST],
            [*range(ranking._FIRST)],
        ),
        ([0.2] * ranking._FIRST + [0.9], []),
        ([0.0] * ranking._FIRST + [1.0], [ranking._FIRST]),
        ([], []),
    ],
)
def test_one_of_the_first_holds_much_of_a_question_that_is_answered(
    shares: list[float], hits: list[int]
) -> None:
    """Or one holds all of it, wherever it stands; each hit holds a little at least."""
    found = [(hit(str(at)), share) for at, share in enumerate(shares)]

    assert [one.id for one in ranking.above_floor(found)] == list(map(str, hits))


def test_parts_of_a_text_and_copies_share_the_place_of_the_best() -> None:
    """A copy may differ in a word or two; short texts that differ are no copies."""
    text = "We dropped the session store as every start was slow and nobody read it again"
    hits = [
        *(hit("a#2", text), hit("a", "the first part of it"), hit("a#3", "and the third")),
        *(hit("b", f"{text}!"), hit("c", f"So {text.upper()}"), hit("d", "commit this")),
        *(hit("e", "commit that"), hit("f", text[: len(text) // 2]), hit("g", "commit this")),
    ]

    assert [one.id for one in ranking.one_of_each(hits)] == ["a#2", "d", "e", "f"]
