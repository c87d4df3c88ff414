"""The floor of the search: a question about something else has no hits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline import memory
from brimline.search import vectors

if TYPE_CHECKING:
    from pathlib import Path

SAID = (
    "We deploy on Fridays, never on Mondays.",
    "The retry limit of the importer is seven.",
    "Paul asked for a larger font in the report.",
    "CODEOWNERS names the platform group.",
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
        monkeypatch.setattr(vectors, "load", lambda: None)
    store = memory.open(str(world / "m"))
    store.add([{"id": str(number), "text": text} for number, text in enumerate(SAID)])

    assert bool(store.search(question, 5, may_be_none=True)) is is_answered
