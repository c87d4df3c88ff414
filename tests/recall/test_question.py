"""A question: its words, the forms in which a text holds them, and what is about something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline import recall

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


@pytest.mark.parametrize(
    ("asked", "is_answered"),
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
def test_a_question_about_other_things_has_none(asked: str, is_answered: bool, world: Path) -> None:
    """One word that happens to be there does not make an answer."""
    store = recall.open(str(world / "m"))
    store.add([{"id": str(number), "text": text} for number, text in enumerate(SAID)])

    assert bool(store.search(asked, 5, may_be_none=True)) is is_answered


def test_a_question_whose_words_all_stand_in_one_entry_is_never_refused(world: Path) -> None:
    """However long that is, and however many hold most of them more often."""
    store = recall.open(str(world / "m"))
    better = [{"id": f"{n}", "text": f"importer limit limit {n}"} for n in range(80)]
    long = " ".join(f"filler{number}" for number in range(400))
    store.add([*better, {"id": "all", "text": f"{long} importer {long} limit {long} otter"}])

    assert store.search("importer limit otter", 5, may_be_none=True)[0].id == "all"
