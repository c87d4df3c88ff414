"""Which candidate comes first: what words, pairs, meaning and neighbours count."""

from __future__ import annotations

import numpy as np
import pytest

from brimline.recall import ranking
from brimline.recall.ranking import Found

PLACES = 3
NOWHERE = np.zeros(PLACES)


def vectors(
    entries: list[tuple[int, int, int]], own: list[list[float]], before: list[list[float]]
) -> ranking.Vectors:
    """Those of some entries, each at the place of its number."""
    rows = ranking.pack_entry_records(entries, np.array(own), np.array(before))
    count = max(entry for entry, _, _ in entries) + 1
    placed = {entry: row for (entry, _, _), row in zip(entries, rows, strict=True)}
    empty = bytes(len(rows[0]))
    block = b"".join(placed.get(number, empty) for number in range(count))
    return ranking.Vectors([(0, block)], 0, count, len(rows[0]))


def test_what_fits_best_in_every_way_has_one_and_what_fits_worst_nothing() -> None:
    """However large the figures of each way are."""
    scores = ranking.fuse_scores(
        {1: Found(9, 400, 0.9), 2: Found(2, 30, 0.1), 3: Found(2, 30, 0.5)}, {}
    )

    assert scores[1] == pytest.approx(1)
    assert scores[2] == 0
    assert scores[3] == pytest.approx(0.2)


def test_meaning_counts_most_but_less_than_words_and_pairs_together() -> None:
    """Where all candidates are alike in one way, that way tells nothing."""
    found = {1: Found(1, 0, 0), 2: Found(0, 1, 0), 3: Found(0, 0, 1), 4: Found(1, 1, 0)}

    scores = ranking.fuse_scores(found, {})

    assert sorted(scores, key=lambda key: scores[key]) == [2, 1, 3, 4]
    assert ranking.fuse_scores({1: Found(5, 5, 5), 2: Found(5, 5, 5)}, {}) == {1: 0, 2: 0}


def test_an_entry_between_good_ones_comes_before_its_equal_elsewhere() -> None:
    """Both neighbours give it a share; one that is no candidate gives none."""
    found = {1: Found(words=4), 2: Found(words=2), 3: Found(words=4), 5: Found(words=2), 7: Found()}

    alone, between = (
        ranking.fuse_scores(found, before) for before in ({5: 4, 1: None}, {2: 1, 3: 2})
    )

    assert alone == ranking.fuse_scores(found, {})
    assert between[5] == alone[5]
    assert alone[2] < between[2] < alone[1] < between[1]
    assert between[1] == pytest.approx(between[3])


def test_the_nearest_by_meaning_are_those_that_point_the_same_way() -> None:
    """What was said right before counts with an entry, and no more than itself."""
    east, north = [1.0, 0, 0], [0, 1.0, 0]
    nowhere = [0.0, 0, 0]
    entries = [(1, 0, 1), (2, 0, 1), (3, 1, 1), (4, 2, 1)]
    known = vectors(entries, [east, north, north, east], [nowhere, nowhere, east, north])

    near = known.nearest_scores(np.array(east), None, 4, ())

    assert sorted(near, key=lambda key: -near[key]) == [1, 4, 3, 2]
    assert near[1] == pytest.approx(2, abs=0.02)
    assert near[2] == pytest.approx(0, abs=0.02)


def test_a_search_by_meaning_keeps_to_its_projects_its_limit_and_what_is_asked_for_besides() -> (
    None
):
    """And what no entry is stored under is never a hit."""
    east, north = [1.0, 0, 0], [0, 1.0, 0]
    entries = [(2, 0, 1), (3, 0, 2), (5, 0, 1)]
    known = vectors(entries, [north, east, [0.9, 0.1, 0]], [[0.0, 0, 0]] * 3)

    assert set(known.nearest_scores(np.array(east), None, 2, ())) == {3, 5}
    assert set(known.nearest_scores(np.array(east), None, 99, ())) == {2, 3, 5}
    assert set(known.nearest_scores(np.array(east), [1], 1, ())) == {5}
    assert set(known.nearest_scores(np.array(east), [1], 1, (2, 3, 4, 5, 6, 99))) == {2, 5}
    assert ranking.Vectors([], None, 8, 23).nearest_scores(np.array(east), None, 2, (1,)) == {}


def test_a_blended_vector_gives_what_the_search_here_gives() -> None:
    """So that a server ranks the same entries alike."""
    rng = np.random.default_rng(7)
    own = rng.normal(size=(4, PLACES))
    own /= np.linalg.norm(own, axis=1)[:, None]
    before = np.vstack([NOWHERE, own[:3]])
    entries = [(number, number - 1, 1) for number in (1, 2, 3, 4)]
    known = vectors(entries, own.tolist(), before.tolist())
    query = own[2]

    near = known.nearest_scores(query, None, 4, ())

    assert list(ranking.blend_vectors_with_previous(own, before) @ query) == pytest.approx(
        [near[number] for number in (1, 2, 3, 4)], abs=0.03
    )


def test_what_was_not_found_in_a_way_has_nothing_in_it() -> None:
    """So that the only candidate found that way has all of it."""
    assert Found() == (0.0, 0.0, 0.0)
    assert ranking.fuse_scores({1: Found(words=1.0), 2: Found()}, {}) == pytest.approx(
        {1: 0.36, 2: 0}
    )
    assert ranking.fuse_scores({1: Found(pair=1.0), 2: Found()}, {}) == pytest.approx(
        {1: 0.24, 2: 0}
    )
    assert ranking.fuse_scores({1: Found(meaning=1.0), 2: Found()}, {}) == pytest.approx(
        {1: 0.4, 2: 0}
    )
    assert ranking.fuse_scores({}, {}) == {}


def test_a_neighbour_gives_fifteen_hundredths_of_its_score() -> None:
    """In both directions, once."""
    scores = ranking.fuse_scores({1: Found(words=1.0), 2: Found()}, {2: 1})

    assert scores == pytest.approx({1: 0.36, 2: 0.054})


def test_what_is_kept_of_a_vector_is_near_what_it_was() -> None:
    """To a hundredth of its largest part, however small."""
    own = [[0.6, -0.8, 0.0], [0.001, 0.0005, -0.001]]
    known = vectors([(1, 0, 1), (2, 0, 1)], own, [[0.0] * 3] * 2)

    for place in range(PLACES):
        query = np.eye(PLACES)[place]
        scanned = known.cosines_of_all(query)
        assert scanned[1] == pytest.approx(own[0][place], abs=0.003)
        assert scanned[2] == pytest.approx(own[1][place], abs=0.000_004)


def test_the_entry_before_lends_six_tenths_of_its_vector() -> None:
    """One that points the other way leaves what is left, at full length."""
    east, west = np.array([[1.0, 0, 0]]), np.array([[-1.0, 0, 0]])

    assert ranking.blend_vectors_with_previous(east, west)[0] == pytest.approx([2.0, 0, 0])
    north = np.array([[0, 1.0, 0]])
    long = (1 + 0.36) ** 0.5
    assert ranking.blend_vectors_with_previous(east, north)[0] == pytest.approx(
        [1 + 1 / long, 0.6 / long, 0]
    )
    known = vectors([(1, 2, 1), (2, 0, 1)], [[1.0, 0, 0], [-1.0, 0, 0]], [[-1.0, 0, 0], [0.0] * 3])
    assert known.nearest_scores(east[0], None, 2, ())[1] == pytest.approx(2.0, abs=0.02)


def test_more_blocks_than_fit_into_one_scan_are_all_scanned() -> None:
    """Each block at its place; a block that is missing is empty."""
    rows = ranking.pack_entry_records([(5_000, 0, 1)], np.array([[1.0, 0, 0]]), np.zeros((1, 3)))
    size = len(rows[0])
    last = 5_000 // 256
    block = bytearray(256 * size)
    start = 5_000 % 256 * size
    block[start : start + size] = rows[0]

    known = ranking.Vectors([(last, bytes(block))], last, 256, size)

    assert set(known.nearest_scores(np.array([1.0, 0, 0]), None, 3, ())) == {5_000}
