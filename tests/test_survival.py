"""The survival test: facts of a made-up session are in its card, and nothing ended is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from benchmarks.survival import BUDGET, GRAMMARS, run
from benchmarks.survival_words import Slots

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.row("S2-19", "S4-35")
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", sorted(GRAMMARS))
def test_facts_survive_and_what_has_ended_is_not_open(tmp_path: Path, name: str, seed: int) -> None:
    """At least 39 of 40 facts, none of 20 things that were done or cancelled."""
    expected, score = run(GRAMMARS[name], seed, str(tmp_path))

    assert len(expected.facts) == 40
    assert len(expected.ended) == 20
    assert len(score.missing) <= 1, score.missing
    assert score.wrongly_open == []
    assert len(score.text) <= BUDGET


def test_a_seed_gives_the_same_session(tmp_path: Path) -> None:
    """Byte for byte."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        run(GRAMMARS["published"], 7, str(tmp_path / folder))

    texts = [(tmp_path / folder / "7.jsonl").read_bytes() for folder in ("a", "b")]
    assert texts[0] == texts[1]


def test_slots_are_filled_once_and_the_same_within_a_template() -> None:
    """A word of a pool does not come twice in a session."""
    slots = Slots(3)

    first, second = slots.fill("{person} and {person}").split(" and ")
    drawn = [slots.fill("{table}") for _ in range(10)]
    assert first == second
    assert len(set(drawn)) == 10
