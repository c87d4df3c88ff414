"""The packed graph: the same answers as dictionaries, in a fraction of their memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from brimline.purge.graph import MISSING, ROOT, Graph, Numbers, key_of

_few = st.integers(1, 60)


@given(st.lists(st.integers(1, 2**64 - 1) | _few, max_size=300))
def test_numbers_are_kept_like_a_dictionary_keeps_them(keys: list[int]) -> None:
    """The first number under a key stays."""
    numbers, expected = Numbers(), dict[int, int]()
    for value, key in enumerate(keys):
        assert numbers.add(key, value) == expected.get(key)
        expected.setdefault(key, value)

    assert numbers.count == len(expected)
    assert {key: numbers.get(key) for key in keys} == expected
    assert numbers.get(2**63 + 12_345) == expected.get(2**63 + 12_345)


def test_numbers_grow_without_losing_any() -> None:
    """Far beyond the first size of the table."""
    numbers = Numbers()
    for value in range(20_000):
        numbers.add(key_of(str(value)), value)

    assert all(numbers.get(key_of(str(value))) == value for value in range(20_000))


@given(st.lists(st.tuples(_few, _few | st.none()), max_size=40))
def test_parents_cycles_and_descent_are_as_a_plain_search_finds_them(
    links: list[tuple[int, int | None]],
) -> None:
    """For any links at all, the circular ones included."""
    graph, first = Graph(), dict[int, int]()
    for number, (name, parent) in enumerate(links):
        first.setdefault(name, number)
        graph.add(str(name), None if parent is None else str(parent), "", 0, 0)
        graph.place(number + 1, 0)
    graph.close()
    parents = [ROOT if parent is None else first.get(parent, MISSING) for _, parent in links]

    assert graph.parents.tolist() == parents
    in_cycles = {number for number in range(len(links)) if number in _above(parents, number)}
    assert {number for cycle in graph.cycles() for number in cycle} == in_cycles
    for number in range(min(6, len(links))):
        below = {one for one in range(len(links)) if number in [one, *_above(parents, one)]}
        assert {one for one in range(len(links)) if graph.descends(one, number)} == below


def _above(parents: list[int], number: int) -> list[int]:
    found: list[int] = []
    number = parents[number]
    while number < MISSING and number not in found:
        found.append(number)
        number = parents[number]
    return found
